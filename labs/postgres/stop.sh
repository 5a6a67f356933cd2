#!/usr/bin/env bash
# stop.sh [SIGNAL]: ends the server; INT is a fast shutdown, KILL a crash of everything.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_need
reap postgres "${1:-INT}"

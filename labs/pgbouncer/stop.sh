#!/usr/bin/env bash
# stop.sh [SIGNAL]: ends the pooler; KILL is a crash of it.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_need
reap pgbouncer "${1:-INT}"

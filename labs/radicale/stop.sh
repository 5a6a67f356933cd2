#!/usr/bin/env bash
# Ends the server of LAB_DIR; the data stay. 'stop.sh KILL' ends it with SIGKILL.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_need
reap radicale "${1:-TERM}"

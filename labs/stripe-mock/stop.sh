#!/usr/bin/env bash
# Ends the server of LAB_DIR; its state is gone. 'stop.sh KILL' ends it with SIGKILL.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_need
reap stripe "${1:-TERM}"

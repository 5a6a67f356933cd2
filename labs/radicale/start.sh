#!/usr/bin/env bash
# Radicale (PyPI), a calendar server that speaks CalDAV, on loopback; it keeps each event as a file.
# Prints LAB_DIR, URL, LOGIN, PASSWORD, CALENDAR (PUT URL/LOGIN/CALENDAR/NAME.ics makes an event).
# A second start.sh with the same LAB_DIR restarts it on the same data and port.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_venv radicale radicale==3.9.0
lab_new radicale
if [ ! -f "$LAB_DIR/env" ]; then
  PORT=${PORT:-$(free_port)}
  printf 'agent:lab-agent\n' >"$LAB_DIR/users"
  cat >"$LAB_DIR/config" <<C
[server]
hosts = 127.0.0.1:$PORT
[auth]
type = htpasswd
htpasswd_filename = $LAB_DIR/users
htpasswd_encryption = plain
[storage]
filesystem_folder = $LAB_DIR/collections
C
  printf 'URL=http://127.0.0.1:%s\nLOGIN=agent\nPASSWORD=lab-agent\nCALENDAR=team\n' "$PORT" >"$LAB_DIR/env"
fi
. "$LAB_DIR/env"
spawn radicale "$LAB_CACHE/radicale/bin/python" -m radicale --config "$LAB_DIR/config"
wait_http "$URL/" 30
curl -s -o /dev/null -u "$LOGIN:$PASSWORD" -X MKCALENDAR "$URL/$LOGIN/$CALENDAR/"
lab_done

#!/usr/bin/env bash
# A PostgreSQL of its own on loopback, durable as by default, with two-phase commit allowed so that an in-doubt row can be made.
# Prints LAB_DIR, URL (without a database), PORT, DATA. A second start.sh with the same LAB_DIR restarts it on the same data and port.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
bin=${PGBIN:-/usr/lib/postgresql/15/bin}
lab_apt "$bin/postgres" postgresql-15
lab_new postgres
data=$LAB_DIR/data
as=()
if [ "$(id -u)" = 0 ]; then
  # The server refuses to run as root.
  as=(setpriv --reuid postgres --regid postgres --init-groups)
  install -d -o postgres -g postgres -m 700 "$data"
fi
cd "$LAB_DIR"
if [ ! -f "$LAB_DIR/env" ]; then
  "${as[@]}" "$bin/initdb" -D "$data" -U factum -A trust -E UTF8 --data-checksums >"$LAB_DIR/initdb.log" 2>&1
  PORT=${PORT:-$(free_port)}
  cat >>"$data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $PORT
unix_socket_directories = ''
max_connections = 300
max_prepared_transactions = 20
CONF
  printf 'URL=postgresql://factum@127.0.0.1:%s\nPORT=%s\nDATA=%s\n' "$PORT" "$PORT" "$data" >"$LAB_DIR/env"
else
  . "$LAB_DIR/env"
fi
spawn postgres "${as[@]}" "$bin/postgres" -D "$data"
for _ in $(seq 300); do
  "$bin/pg_isready" -q -h 127.0.0.1 -p "$PORT" && { lab_done; exit 0; }
  sleep 0.2
done
tail -n 20 "$LAB_DIR/postgres.log" >&2
exit 1

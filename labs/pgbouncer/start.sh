#!/usr/bin/env bash
# A PgBouncer on loopback in transaction mode, before a PostgreSQL that runs already: SERVER=postgresql://USER@HOST:PORT, as
# labs/postgres/start.sh prints it. It keeps few sessions, so that the statements of one client meet several of them, and hands
# on nothing of what a client asks for at the beginning of its session. IGNORE=options lets clients ask in vain.
# Prints LAB_DIR, URL (without a database), PORT.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
if [ -z "${SERVER:-}" ]; then echo "set SERVER to the address of a PostgreSQL" >&2; exit 2; fi
lab_apt pgbouncer pgbouncer
# The package starts one of its own, which is not this one.
if [ "$(id -u)" = 0 ] && [ -x /etc/init.d/pgbouncer ]; then /etc/init.d/pgbouncer stop >/dev/null 2>&1 || true; fi
lab_new pgbouncer
as=()
if [ "$(id -u)" = 0 ]; then
  # It refuses to run as root.
  as=(setpriv --reuid postgres --regid postgres --init-groups)
fi
user=${SERVER#*://}; place=${user#*@}; user=${user%%@*}
PORT=${PORT:-$(free_port)}
cat >"$LAB_DIR/pgbouncer.ini" <<CONF
[databases]
* = host=${place%%:*} port=${place##*:} user=$user
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $PORT
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
server_idle_timeout = 5
max_client_conn = 300
ignore_startup_parameters = extra_float_digits${IGNORE:+,$IGNORE}
CONF
printf 'URL=postgresql://%s@127.0.0.1:%s\nPORT=%s\n' "$user" "$PORT" "$PORT" >"$LAB_DIR/env"
spawn pgbouncer "${as[@]}" "$(PATH=$PATH:/usr/sbin command -v pgbouncer)" "$LAB_DIR/pgbouncer.ini"
for _ in $(seq 100); do
  if (: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then lab_done; exit 0; fi
  sleep 0.1
done
tail -n 20 "$LAB_DIR/pgbouncer.log" >&2
exit 1

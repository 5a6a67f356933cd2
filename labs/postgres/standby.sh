#!/usr/bin/env bash
# standby.sh: a synchronous standby beside the server of start.sh (same LAB_DIR), on a port of its own; adds STANDBY_PORT and
#   URL_BOTH (both servers, whichever takes writes) to the env file. From then on a commit waits for the standby's disk.
# standby.sh start async: the same, and commits wait for nobody.
# standby.sh fall-behind: once it has everything, it ends; what is committed from then on it lacks. standby.sh resume: it runs again.
# standby.sh promote: makes the standby the primary. Nobody stands behind it then, so that commits wait for nobody.
# standby.sh stop [SIGNAL]: ends the standby.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
bin=${PGBIN:-/usr/lib/postgresql/15/bin}
lab_need
standby=$LAB_DIR/standby
as=()
if [ "$(id -u)" = 0 ]; then as=(setpriv --reuid postgres --regid postgres --init-groups); fi
cd "$LAB_DIR"
sql() { "$bin/psql" -qAt -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U factum -d postgres -c "$2"; }
until_said() {         # until_said PORT SQL ANSWER: within a minute
  local i
  for i in $(seq 300); do
    if [ "$(sql "$1" "$2" 2>/dev/null)" = "$3" ]; then return 0; fi
    sleep 0.2
  done
  echo "port $1 never said $3 to: $2" >&2; return 1
}
case ${1:-start} in
  start)
    if [ "$(id -u)" = 0 ]; then install -d -o postgres -g postgres -m 700 "$standby"; fi
    "${as[@]}" "$bin/pg_basebackup" -D "$standby" -h 127.0.0.1 -p "$PORT" -U factum -R -X stream -c fast
    STANDBY_PORT=$(free_port)
    "${as[@]}" tee -a "$standby/postgresql.conf" >/dev/null <<CONF
port = $STANDBY_PORT
synchronous_standby_names = ''
CONF
    "${as[@]}" sed -i "s/primary_conninfo = '/&application_name=standby /" "$standby/postgresql.auto.conf"
    printf 'STANDBY_PORT=%s\nURL_BOTH="postgresql://factum@127.0.0.1:%s,127.0.0.1:%s"\n' "$STANDBY_PORT" "$PORT" "$STANDBY_PORT" >>"$LAB_DIR/env"
    spawn standby "${as[@]}" "$bin/postgres" -D "$standby"
    until_said "$PORT" "select count(*) from pg_stat_replication where application_name = 'standby' and state = 'streaming'" 1
    if [ "${2:-}" = async ]; then lab_done; exit 0; fi
    sql "$PORT" "alter system set synchronous_standby_names = 'standby'"
    sql "$PORT" "select pg_reload_conf()" >/dev/null
    until_said "$PORT" "select sync_state from pg_stat_replication where application_name = 'standby'" sync
    ;;
  promote)
    # What the base backup copied of the primary's settings would make it wait for itself.
    sql "$STANDBY_PORT" "alter system reset synchronous_standby_names"
    sql "$STANDBY_PORT" "select pg_reload_conf()" >/dev/null
    sql "$STANDBY_PORT" "select pg_promote()" >/dev/null
    until_said "$STANDBY_PORT" "select pg_is_in_recovery()" f
    ;;
  fall-behind)
    until_said "$PORT" "select replay_lsn >= pg_current_wal_flush_lsn() from pg_stat_replication where application_name = 'standby'" t
    reap standby INT
    ;;
  resume)
    spawn standby "${as[@]}" "$bin/postgres" -D "$standby"
    until_said "$STANDBY_PORT" "select pg_is_in_recovery()" t
    ;;
  stop) reap standby "${2:-INT}" ;;
  *) echo "standby.sh: start, fall-behind, resume, promote or stop" >&2; exit 2 ;;
esac
lab_done

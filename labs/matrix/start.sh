#!/usr/bin/env bash
# Synapse (PyPI: matrix-synapse), a Matrix homeserver, on loopback with SQLite and without federation.
# Prints LAB_DIR, URL, ACCOUNT, TOKEN and DEVICE of the user agent1, TOKEN_ELSEWHERE of another login of the same user, TOKEN2
# of the user watcher, and ROOM, where both are.
# A second start.sh with the same LAB_DIR restarts the server on the same data and port.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_venv matrix matrix-synapse==1.163.2
lab_new matrix
py=$LAB_CACHE/matrix/bin/python
fresh=
if [ ! -f "$LAB_DIR/homeserver.yaml" ]; then
  fresh=1
  PORT=${PORT:-$(free_port)}
  secret=$(python3 -c 'import secrets; print(secrets.token_hex(16))')
  cat >"$LAB_DIR/homeserver.yaml" <<Y
server_name: "lab.test"
pid_file: "$LAB_DIR/homeserver.pid"
listeners:
  - port: $PORT
    bind_addresses: ["127.0.0.1"]
    type: http
    tls: false
    x_forwarded: false
    resources: [{names: [client], compress: false}]
database: {name: sqlite3, args: {database: "$LAB_DIR/homeserver.db"}}
log_config: "$LAB_DIR/log.yaml"
media_store_path: "$LAB_DIR/media"
signing_key_path: "$LAB_DIR/signing.key"
registration_shared_secret: "$secret"
enable_registration: false
report_stats: false
trusted_key_servers: []
federation_domain_whitelist: []
suppress_key_server_warning: true
presence: {enabled: false}
rc_message: {per_second: 10000, burst_count: 10000}
rc_login: {address: {per_second: 1000, burst_count: 1000}, account: {per_second: 1000, burst_count: 1000}}
rc_joins: {local: {per_second: 1000, burst_count: 1000}}
Y
  cat >"$LAB_DIR/log.yaml" <<Y
version: 1
formatters: {plain: {format: '%(asctime)s %(levelname)s %(name)s %(message)s'}}
handlers: {file: {class: logging.FileHandler, filename: "$LAB_DIR/homeserver.log", formatter: plain}}
root: {level: WARNING, handlers: [file]}
Y
  "$LAB_CACHE/matrix/bin/generate_signing_key" -o "$LAB_DIR/signing.key"
else
  PORT=$(sed -n 's/.*- port: \([0-9]*\)/\1/p' "$LAB_DIR/homeserver.yaml")
fi
spawn synapse "$py" -m synapse.app.homeserver -c "$LAB_DIR/homeserver.yaml"
wait_http "http://127.0.0.1:$PORT/_matrix/client/versions" 90
if [ -n "$fresh" ]; then
  for user in agent1 watcher; do
    "$LAB_CACHE/matrix/bin/register_new_matrix_user" -u $user -p "pw-$user" --no-admin \
      -c "$LAB_DIR/homeserver.yaml" "http://127.0.0.1:$PORT" >/dev/null
  done
  python3 - "http://127.0.0.1:$PORT" >"$LAB_DIR/env" <<'PY'
import json, sys, urllib.request
base = sys.argv[1]
def call(method, path, body=None, token=None):
    req = urllib.request.Request(base + path, method=method, data=None if body is None else json.dumps(body).encode())
    if token: req.add_header("Authorization", "Bearer " + token)
    return json.load(urllib.request.urlopen(req))
def login(user, device):
    return call("POST", "/_matrix/client/v3/login", {"type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": user}, "password": "pw-" + user, "device_id": device})
one, elsewhere, two = login("agent1", "DESK"), login("agent1", "ELSEWHERE"), login("watcher", "DESK")
room = call("POST", "/_matrix/client/v3/createRoom", {"preset": "public_chat", "name": "announcements",
            "room_alias_name": "announcements"}, one["access_token"])["room_id"]
call("POST", "/_matrix/client/v3/join/" + room, {}, two["access_token"])
print(f"URL={base}\nACCOUNT={one['user_id']}\nTOKEN={one['access_token']}\nDEVICE={one['device_id']}")
print(f"TOKEN_ELSEWHERE={elsewhere['access_token']}\nTOKEN2={two['access_token']}\nROOM='{room}'")
PY
fi
lab_done

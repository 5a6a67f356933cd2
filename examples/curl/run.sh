#!/usr/bin/env bash
# Runs both stories against a server of their own and a testbed that loses the first answer of each, and counts the effects there.
# FACTUM names the command.
here=$(cd "$(dirname "$0")" && pwd)
set -euo pipefail
factum=$(realpath "${FACTUM:?names the command factum}")
. "$here/../lib.sh"

"$factum" testbed --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --json >bed \
  --faults 'close_fin,class=effect,path=/lagging/,n=1;close_fin,class=effect,path=/neither/,n=1' &
children+=($!)
account() {            # account NAME: the testbed, with short times so that the story ends soon
  cat <<CONF
[destinations.$1]
provider = "testbed"
base = "$(said bed address)"
account = "testbed"
[destinations.$1.limits]
linger = "200 ms"
skew = "100 ms"
write = "2 s"
send_wait = "2 s"
answer_wait = "5 s"
pause_margin = "1 s"
CONF
}
{
  printf '[contact]\nsay = "Please call 555-0100."\nwithin = "1 d"\n'
  account channel
  printf '[destinations.channel.operations."lagging.sync".approval]\nrequired = "always"\nself = false\n'
  account helpdesk
} >factum.toml
"$factum" serve --listen 127.0.0.1:0 --json >served 2>serve.log &
children+=($!)
FACTUM_URL=$(said served address) FACTUM_TOKEN=$(cat factum-data/admin.token)
export FACTUM_URL FACTUM_TOKEN
token() {              # token PRINCIPAL SCOPE…
  local name=$1 scopes=; shift
  curl -sS -o /dev/null -H "Authorization: Bearer $FACTUM_TOKEN" -d "{\"name\": \"$name\"}" -H 'Content-Type: application/json' "$FACTUM_URL/v1/principals"
  scopes=$(printf '"%s",' "$@")
  curl -sS -H "Authorization: Bearer $FACTUM_TOKEN" -H 'Content-Type: application/json' "$FACTUM_URL/v1/tokens" \
    -d "{\"principal\": \"$name\", \"scopes\": [${scopes%,}]}" | python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])'
}
AUTHOR=$(token author submit read) EDITOR=$(token editor approve read) "$here/release-desk.sh"
BOT=$(token bot submit read) REVIEWER=$(token ben review) "$here/support-desk.sh"
"$factum" testbed ledger "$(said bed admin)" --json >ledger
python3 - <<'CHECK'
import json
effects = json.load(open("ledger"))["by_business"]
wanted = {"release/0.2.0": 1, "conv-ana/turn-1": 1, "conv-ana/turn-2": 1, "conv-ben/turn-1": 1}
assert effects == wanted, f"effects at the destination: {effects}, wanted {wanted}"
print("effects at the destination:", json.dumps(effects))
CHECK

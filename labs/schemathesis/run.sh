#!/usr/bin/env bash
# run.sh [SECONDS]: schemathesis (PyPI) against a running server, with tokens of several scopes, for SECONDS in all. It ends with 0 if it
# found nothing: no 5xx, no status, header or body that the document does not describe, nothing refused that the document allows, nothing
# taken that it forbids. FACTUM names the command; with the word `install` it installs schemathesis under LAB_CACHE, and does no more.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_venv schemathesis schemathesis==4.32.5
if [ "${1:-}" = install ]; then exit 0; fi
seconds=${1:-120}
factum=$(realpath "${FACTUM:?names the command factum}")

. "$here/../../examples/lib.sh"

"$factum" testbed --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --faults 'close_fin,class=effect,every=3' --json >bed &
children+=($!)
bed=$(said bed address)
cat >factum.toml <<CONF
[destinations.bed]
provider = "testbed"
base = "$bed"
account = "testbed"
callback = { secrets = ["env:LAB_CALLBACK_SECRET"] }
[tenants.acme.destinations.bed]
provider = "testbed"
base = "$bed"
account = "testbed"
CONF
LAB_CALLBACK_SECRET=whsec_c2VjcmV0 "$factum" serve --listen 127.0.0.1:0 --json >served 2>serve.log &
children+=($!)
FACTUM_URL=$(said served address) FACTUM_TOKEN=$(cat factum-data/admin.token)
export FACTUM_URL FACTUM_TOKEN

token() {              # token PRINCIPAL SCOPE...: a token of the tenant acme
  local principal=$1 scopes=(); shift
  for scope in "$@"; do scopes+=(--scope "$scope"); done
  "$factum" token add "$principal" --tenant acme "${scopes[@]}" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])'
}
"$factum" tenant add acme >/dev/null
for principal in desk auditor boss; do "$factum" principal add "$principal" --tenant acme >/dev/null; done
"$factum" submit bed neither.sync --key lab/1 --payload '{"business": "lab/1"}' >/dev/null || true

failed=0
probe() {              # probe NAME TOKEN SECONDS OPTION...
  local name=$1 token=$2 share=$3; shift 3
  echo "schemathesis as $name, for $share s"
  LAB_TOKEN=$token PYTHONPATH=$here SCHEMATHESIS_HOOKS=hooks "$LAB_CACHE/schemathesis/bin/schemathesis" --config-file "$here/schemathesis.toml" run \
    "$FACTUM_URL/openapi.json" --max-time "$share" --checks all --exclude-checks positive_data_acceptance --no-color "$@" >"$name.log" 2>&1 || { failed=1; cat "$name.log"; return; }
  tail -n 15 "$name.log"
}
probe desk "$(token desk submit read)" $((seconds / 5))
probe auditor "$(token auditor review callback)" $((seconds / 5))
probe boss "$(token boss admin)" $((seconds / 5))
probe operator "$FACTUM_TOKEN" $((seconds * 2 / 5))
if grep -n 'panicked' serve.log; then echo "the server panicked"; failed=1; fi
exit "$failed"

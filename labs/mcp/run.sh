#!/usr/bin/env bash
# run.sh: the official MCP clients of the Python SDK and of both lines of the TypeScript SDK, the Inspector and the conformance suite against the server, and the gateway before
# a server that was written with the Python SDK and one from npm. Effects are counted where they happen. FACTUM names the command; with the
# word `install` it installs what is needed under LAB_CACHE, and does no more.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_venv mcp-python mcp==2.3.0
lab_npm mcp-node @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/inspector@0.15.0 @modelcontextprotocol/conformance@0.1.16 \
  @modelcontextprotocol/server-filesystem@2026.8.31 node@22.23.3
lab_npm mcp-node-2 @modelcontextprotocol/client@2.4.0
if [ "${1:-}" = install ]; then exit 0; fi
factum=$(realpath "${FACTUM:?names the command factum}")
python=$LAB_CACHE/mcp-python/bin/python modules=$LAB_CACHE/mcp-node/node_modules
node=$modules/node/bin/node

. "$here/../../examples/lib.sh"

"$factum" testbed --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --json >bed &
children+=($!)
cat >factum.toml <<CONF
[destinations.bed]
provider = "testbed"
base = "$(said bed address)"
account = "testbed"
operations."lookup.sync".approval = { required = "always", self = true }
CONF
cat >gateway.toml <<CONF
[servers.tracker]
command = ["$python", "$here/tracker.py"]
read = ["search_*"]
[servers.tracker.tools.create_ticket]
marker = { argument = "body", style = "line" }
lookup = { tool = "search_tickets", arguments = { text = "{marker}" }, items = "/tickets", receipt = "/number", complete = true }
receipt = "/number"
processing_max = "5 s"
by = "the lab"
reason = "the tracker forgets nothing"
CONF
"$factum" serve --listen 127.0.0.1:0 --json >served 2>serve.log &
children+=($!)
BED=$(said bed admin) FACTUM_URL=$(said served address); export BED FACTUM_URL
token=$(cat factum-data/admin.token)
env -u FACTUM_URL "$factum" principal add ana --json >ana
env -u FACTUM_URL "$factum" token add ana --scope submit --scope approve --json >approver
APPROVER=$(said approver token); export APPROVER

"$python" "$here/clients.py" "$factum" "$folder"
cp "$here"/clients.mjs "$here"/door.mjs "$folder"; ln -s "$modules" "$folder/node_modules"
"$node" clients.mjs "$factum" "$folder" "$modules/@modelcontextprotocol/server-filesystem/dist/index.js"

# The second line of the SDK has packages of its own.
mkdir sdk-2; cp "$here/clients2.mjs" sdk-2; ln -s "$LAB_CACHE/mcp-node-2/node_modules" sdk-2/node_modules
"$node" sdk-2/clients2.mjs "$factum" "$folder" "$here/suite.py"

# The Inspector lists and calls, as a person would with it.
inspect() { FACTUM_TOKEN=$token "$node" "$modules/@modelcontextprotocol/inspector-cli/build/index.js" "$factum" mcp serve "$@"; }
inspect --method tools/list | grep -q '"perform_action"'
inspect --method tools/call --tool-name list_operations | grep -q 'key.sync'
echo "inspector: ok"

# conformance DOOR SCENARIO...: the suite's scenarios, against what is behind that door.
conformance() {
  local door=$1 scenario; shift
  for scenario in "$@"; do
    "$node" "$modules/@modelcontextprotocol/conformance/dist/index.js" server --url "http://127.0.0.1:$(cat "$door")/mcp" --scenario "$scenario" >"conformance-$scenario.log" 2>&1 ||
      { tail -n 40 "conformance-$scenario.log" | cut -c1-300; echo "conformance, $scenario ($door): failed"; exit 1; }
    echo "conformance, $scenario ($door): ok"
  done
}
door() {               # door NAME URL TOKEN
  "$node" door.mjs "$2" "$3" >"$1" 9>&- & children+=($!)
  for _ in $(seq 100); do [ -s "$1" ] && return; sleep 0.1; done
}

# The scenarios for what the server has. Others ask for prompts, logging, completion and sampling, which it has not, and for tools that a server would
# have to bring: those are asked of the gateway, before a server that brings them, as reads and as actions.
door server "$FACTUM_URL" "$token"
conformance server server-initialize ping tools-list resources-list dns-rebinding-protection server-sse-polling server-sse-multiple-streams
contents="tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content"
mkfifo silence; exec 9<>silence # a host that says nothing, and closes the pipe when this script ends
finish_all() { exec 9>&-; finish; }
trap finish_all EXIT
for kind in reads actions; do
  trust=(); if [ "$kind" = reads ]; then trust=(--trust-annotations); fi
  "$factum" mcp wrap "${trust[@]}" --data "$kind-data" -- python3 "$here/suite.py" <silence >/dev/null 9>&- 2>"$kind.log" & children+=($!)
  for _ in $(seq 100); do grep -qs http "$kind-data/lock" && break; sleep 0.1; done
  door "$kind" "$(grep -o 'http://[0-9.:]*' "$kind-data/lock")" "$(cat "$kind-data/admin.token")"
  # shellcheck disable=SC2086
  conformance "$kind" server-initialize ping tools-list $contents
done
conformance reads tools-call-error json-schema-2020-12

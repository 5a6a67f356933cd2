#!/usr/bin/env bash
# The Release Desk through the API alone: an announcement is proposed, shown, approved and sent; its answer is lost; the engine finds out by
# itself what became of it. Nothing is announced twice. AUTHOR may submit, EDITOR may approve.
. "$(dirname "$0")/lib.sh"
: "${AUTHOR:?a token with the scopes submit and read}" "${EDITOR:?a token with the scopes approve and read}"

note='{"destination": "channel", "operation": "lagging.sync", "key": "release/0.2.0/announcement", "payload": {
  "business": "release/0.2.0", "title": "Release 0.2.0", "text": "Approvals, and nothing sent without one."},
  "summary": "Announce release 0.2.0"}'

echo "== The author cannot announce without an approval"
call "$AUTHOR" POST /v1/actions "$note" >/dev/null
answered 403
want "code" "$(of "$(cat "$work/answer")" code)" F1080

echo "== The author proposes, and edits once more"
first=$(of "$(call "$AUTHOR" POST /v1/proposals "$note")" proposal)
answered 201
edited=${note/nothing sent without one/nothing sent without yours}
second=$(call "$AUTHOR" POST "/v1/proposals/$(of "$first" id)/supersede" "$edited")
proposal=$(of "$second" proposal id)

echo "== The editor sees what would be sent, and approves just that"
shown=$(call "$EDITOR" GET "/v1/proposals/$proposal")
case $(of "$shown" request body) in
  *"without yours"*) echo "   the request is the edited one" ;;
  *) echo "another text is shown: $shown" >&2; exit 1 ;;
esac
call "$EDITOR" POST "/v1/proposals/$(of "$first" id)/approve" "{\"digest\": \"$(of "$first" digest)\"}" >/dev/null
answered 409
digest=$(of "$shown" digest)
approved=$(call "$EDITOR" POST "/v1/proposals/$proposal/approve" "{\"digest\": \"$digest\", \"reason\": \"it reads well\"}")
answered 201
id=$(of "$approved" action id)

echo "== The channel takes it, and its answer is lost"
again=$(call "$EDITOR" POST "/v1/proposals/$proposal/approve" "{\"digest\": \"$digest\", \"reason\": \"it reads well\"}")
want "approved twice, the action" "$(of "$again" action id)" "$id"
settled=$(call "$AUTHOR" GET "/v1/actions/$id?wait=60")
want "state" "$(of "$settled" state)" succeeded
echo "   said: $(of "$settled" statement say)"
log=$(call "$AUTHOR" GET "/v1/actions/$id/evidence")
case $log in
  *'"lookup_found"'* | *'"looked_up"'* | *lookup*) echo "   found out by looking it up" ;;
  *) echo "no lookup in the evidence: $log" >&2; exit 1 ;;
esac

echo "== Whoever publishes again announces nothing again"
joined=$(call "$AUTHOR" POST /v1/actions "$edited")
answered 200
want "the action" "$(of "$joined" id)" "$id"
want "joined" "$(of "$joined" joined)" true
want "attempts" "$(of "$joined" attempts)" 1

#!/usr/bin/env bash
# The Support Desk through the API alone: what a bot says is no more than is known. An answer is lost and nobody can look the ticket up, so a
# person is asked and the customer hears where to turn; when the person has found out, what was said is put right. BOT may submit and read,
# REVIEWER may review.
. "$(dirname "$0")/lib.sh"
: "${BOT:?a token with the scopes submit and read}" "${REVIEWER:?a token with the scope review}"

ticket() { # ticket CONVERSATION TURN SUBJECT: the turn names the intent, so that a second click is no second ticket
  echo "{\"destination\": \"helpdesk\", \"operation\": \"neither.sync\", \"key\": \"$1/turn-$2/ticket\",
    \"payload\": {\"business\": \"$1/turn-$2\", \"subject\": \"$3\"}, \"summary\": \"$3\",
    \"conversation\": {\"id\": \"$1\", \"turn\": $2, \"asked\": \"Please open a ticket.\"}}"
}

echo "== Ana asks for a ticket, and the help desk's answer is lost"
ana=$(call "$BOT" POST /v1/actions "$(ticket conv-ana 1 "Refund of order 77")" 'Prefer: wait=60')
answered 201
id=$(of "$ana" id)
want "state" "$(of "$ana" state)" outcome_unknown
want "happened" "$(of "$ana" happened)" unknown
want "safe to call again" "$(of "$ana" safe_to_call_again)" false
want "next" "$(of "$ana" next do)" review
echo "   bot: $(of "$ana" statement say) $(of "$ana" contact say)"
told="{\"action\": \"$id\", \"version\": $(of "$ana" version)}"
call "$BOT" POST /v1/conversations/conv-ana/told "$told" >/dev/null
answered 200

echo "== The bot tries again, as bots do: it joins"
again=$(call "$BOT" POST /v1/actions "$(ticket conv-ana 1 "Refund of order 77")")
answered 200
want "the action" "$(of "$again" id)" "$id"

echo "== Ben clicks twice at once"
body=$(ticket conv-ben 1 "Parcel lost")
for click in 1 2; do
  curl -sS --max-time 90 -o "$work/click-$click" -H "Authorization: Bearer $BOT" -H 'Content-Type: application/json' -H 'Prefer: wait=60' \
    --data-binary "$body" "$FACTUM_URL/v1/actions" &
  clicks[$click]=$!
done
wait "${clicks[1]}" "${clicks[2]}"
want "the same action" "$(of "$(cat "$work/click-1")" id)" "$(of "$(cat "$work/click-2")" id)"
want "state" "$(of "$(cat "$work/click-1")" state)" succeeded

echo "== Ana wants a second ticket: another turn, another ticket"
second=$(call "$BOT" POST /v1/actions "$(ticket conv-ana 2 "Refund of order 77")" 'Prefer: wait=60')
answered 201
want "state" "$(of "$second" state)" succeeded

echo "== A colleague looks into the help desk, and finds the first one"
queue=$(call "$REVIEWER" GET /v1/review)
want "waiting" "$(of "$queue" items 0 id)" "$id"
verdict='{"verdict": "happened", "why": "it stands in the help desk, opened a minute ago", "receipt": "T-000001"}'
settled=$(call "$REVIEWER" POST "/v1/review/$id/verdict" "$verdict")
want "state" "$(of "$settled" state)" succeeded

echo "== What Ana was told is put right"
due=$(call "$BOT" GET '/v1/corrections?conversation=conv-ana')
want "correction about" "$(of "$due" corrections 0 action)" "$id"
echo "   bot: $(of "$due" corrections 0 say)"
heard="{\"action\": \"$id\", \"version\": $(of "$due" corrections 0 version)}"
call "$BOT" POST /v1/conversations/conv-ana/acknowledge "$heard" >/dev/null
answered 200
due=$(call "$BOT" GET '/v1/corrections?conversation=conv-ana')
want "corrections due" "$(of "$due" corrections)" "[]"

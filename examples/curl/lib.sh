# Sourced by both stories: one call, one member of an answer, one expectation.
set -euo pipefail
: "${FACTUM_URL:?names the server}"

# call TOKEN METHOD PATH [BODY [HEADER…]]: the answer's body; its status stands in $status afterwards, in the file that tells it.
call() {
  local token=$1 method=$2 path=$3 body=${4:-} header headers=()
  for header in "${@:5}"; do headers+=(-H "$header"); done
  if [ -n "$body" ]; then headers+=(-H 'Content-Type: application/json' --data-binary "$body"); fi
  # Whatever happens to a connection, the same request may be repeated: it joins.
  curl -sS --retry 3 --retry-connrefused --max-time 90 -o "$work/answer" -w '%{http_code}' -X "$method" \
    -H "Authorization: Bearer $token" ${headers[@]+"${headers[@]}"} "$FACTUM_URL$path" >"$work/status"
  cat "$work/answer"
}

# of ANSWER MEMBER…: a member, by its path; text without quotation marks.
of() {
  python3 -c '
import json, sys
value = json.loads(sys.argv[1])
for name in sys.argv[2:]:
    value = value[int(name)] if isinstance(value, list) else value[name]
print(value if isinstance(value, str) else json.dumps(value))' "$@"
}

# want WHAT FOUND WANTED
want() {
  if [ "$2" != "$3" ]; then
    echo "$1 is $2, wanted $3" >&2
    cat "$work/answer" >&2
    exit 1
  fi
  echo "   $1: $2"
}

# answered STATUS: with which status the last call was.
answered() { want "answered" "$(cat "$work/status")" "$1"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

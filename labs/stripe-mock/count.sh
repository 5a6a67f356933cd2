#!/usr/bin/env bash
# The charges, through the server's own list, one JSON object a line:
#   {"id", "amount", "currency", "description", "paid", "metadata"}
# count.sh TEXT prints how many of them have TEXT in them.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_need
python3 - "$URL" "$TOKEN" "${1-}" <<'PY'
import base64, json, sys, urllib.request
url, token, text = sys.argv[1:]
after, out = "", []
while True:
    request = urllib.request.Request(url + "/v1/charges?limit=100" + (after and "&starting_after=" + after))
    request.add_header("Authorization", "Basic " + base64.b64encode((token + ":").encode()).decode())
    page = json.load(urllib.request.urlopen(request))
    out += [{k: o.get(k) for k in ("id", "amount", "currency", "description", "paid", "metadata")} for o in page["data"]]
    if not page["has_more"]: break
    after = page["data"][-1]["id"]
if text: print(sum(text in json.dumps(o) for o in out))
else:
    for o in out: print(json.dumps(o))
PY

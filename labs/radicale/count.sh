#!/usr/bin/env bash
# The events as the server stored them, from its files, one JSON object a line: {"name", "uid", "summary"}.
# count.sh TEXT prints how many have TEXT in them.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
lab_need
python3 - "$LAB_DIR/collections/collection-root/$LOGIN/$CALENDAR" "${1-}" <<'PY'
import json, pathlib, re, sys
out = []
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.ics")):
    text = path.read_bytes().decode()
    def get(name):
        found = re.search(r"^%s:(.*?)\r?$" % name, text, re.M)
        return found and found[1]
    out.append((text, {"name": path.stem, "uid": get("UID"), "summary": get("SUMMARY")}))
if sys.argv[2]: print(sum(sys.argv[2] in text for text, _ in out))
else:
    for _, o in out: print(json.dumps(o))
PY

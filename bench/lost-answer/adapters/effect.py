"""What a careful application does for one effect, in Python: `effect.mjs` in `node/` is the same for Node.

With a key: send it. With a search by reference: look first, create if nothing is there. Otherwise: send. A timeout, a lost
connection and any status but 201 are exceptions; what the surrounding system makes of them is what is compared.
"""

import json
import os
import urllib.parse
import urllib.request

DESTINATION = os.environ.get("DESTINATION", "")
TIMEOUT = float(os.environ.get("CALL_TIMEOUT", "2"))


def found(id: str, kind: str) -> bool:
    """Whether the destination's search shows an effect with this reference."""
    query = urllib.parse.urlencode({"reference": id})
    with urllib.request.urlopen(f"{DESTINATION}/{kind}/sync/effects?{query}", timeout=TIMEOUT) as answer:
        return any(item["reference"] == id for item in json.load(answer)["items"])


def create(id: str, kind: str) -> None:
    """Sends the request, once."""
    headers = {"content-type": "application/json"}
    if kind in ("key", "cancel"):
        headers["idempotency-key"] = id
    body = json.dumps({"reference": id, "business": id}).encode()
    request = urllib.request.Request(f"{DESTINATION}/{kind}/sync/effects", method="POST", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        if answer.status != 201 or not json.load(answer)["ok"]:
            raise RuntimeError(f"the destination answered {answer.status}")


def perform(id: str, kind: str) -> None:
    if kind in ("lookup", "lagging") and found(id, kind):
        return
    create(id, kind)

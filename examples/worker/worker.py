#!/usr/bin/env python3
"""A worker: it makes a system's calls in its own code, and Factum keeps what is known about each of them.

Nothing but Python's standard library. To copy from: put your system's own client into `call` and `look`, and keep the order of the
rest. FACTUM_URL and FACTUM_TOKEN say where Factum is, SYSTEM_URL where the system is; `worker.py DESTINATION` works until it is
interrupted, `worker.py DESTINATION --idle 5` until nothing was to do for five seconds.
"""

import http.client
import json
import os
import sys
import time
import urllib.parse

# Which path of the system makes what, and whether it recognises keys. Yours is a library.
SYSTEM = {
    "contact.create": ("/lookup/sync/effects", False),
    "invoice.create": ("/key/sync/effects", True),
    "letter.send": ("/neither/sync/effects", False),
}


def step(name):
    """One line for whoever watches."""
    print(name, flush=True)


class Lost(Exception):
    """The answer did not come: what was asked for may have happened or not."""


def exchange(base, method, path, body=None, headers=None, timeout=30.0):
    """One request and its answer, or Lost. Refused connections are OSError: then nothing was sent."""
    at = urllib.parse.urlsplit(base)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=timeout)
    connection.connect()
    try:
        text = None if body is None else json.dumps(body)
        sent = {"Content-Type": "application/json", **(headers or {})}
        connection.request(method, at.path + path, text, sent)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise Lost(str(error) or type(error).__name__) from error
    finally:
        connection.close()


def factum(path, body, patient=True):
    """Asks Factum: the status and the JSON. A patient question is asked until it is answered, and so may only be one that joins."""
    token = {"Authorization": "Bearer " + os.environ["FACTUM_TOKEN"]}
    while True:
        try:
            status, _, text = exchange(os.environ["FACTUM_URL"], "POST", path, body, token, timeout=70.0)
            if status < 500 or not patient:
                return status, json.loads(text)
        except (OSError, Lost):
            if not patient:
                raise
        time.sleep(0.5)


def report(claim, **said):
    """A report is a fact: it is repeated until Factum has it, and a repeated one joins."""
    status, answer = factum("/v1/work/%s/report" % claim, said)
    step("reported %s: %s" % (said["outcome"], answer.get("action", {}).get("state", answer.get("rule")) if status == 200 else answer.get("rule")))


def call(item, begun, until):
    """Makes the call, once. What it answers goes into the report."""
    path, keyed = SYSTEM[item["operation"]]
    # The reference is written into the system's own record, so that `look` finds it again.
    body = {**item["payload"], "reference": begun["reference"]}
    headers = {"Idempotency-Key": begun["key"]} if keyed else {}
    if time.monotonic() >= until:
        return {"outcome": "not_sent", "why": "the permission ran out before the call"}
    try:
        status, _, text = exchange(os.environ["SYSTEM_URL"], "POST", path, body, headers, begun["limit_ms"] / 1000)
    except Lost as lost:
        return {"outcome": "unknown", "why": str(lost)}
    except OSError as refused:
        return {"outcome": "not_sent", "why": str(refused)}
    step("called")
    answer = {"status": status, "body": text}
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    if status == 201 and said.get("ok"):
        return {"outcome": "done", "receipt": said["id"], "answer": answer}
    if status == 422 and said.get("error", {}).get("code") == "invalid":
        return {"outcome": "rejected", "why": said["error"]["message"], "answer": answer}
    # Whatever is not known to mean that nothing happened may have happened.
    return {"outcome": "unknown", "why": "status %d" % status}


def look(item):
    """Asks the system whether the effect exists. Only a complete answer may say that it does not."""
    path, _ = SYSTEM[item["operation"]]
    query = urllib.parse.urlencode({"reference": item["reference"], "limit": 50})
    try:
        status, _, text = exchange(os.environ["SYSTEM_URL"], "GET", path + "?" + query)
    except (OSError, Lost) as error:
        return {"outcome": "inconclusive", "why": str(error) or "no answer"}
    if status != 200:
        return {"outcome": "inconclusive", "why": "status %d" % status}
    found = json.loads(text)
    ours = [row["id"] for row in found["items"] if row["reference"] == item["reference"]]
    if ours:
        return {"outcome": "found", "receipts": ours}
    if found["complete"]:
        return {"outcome": "absent"}
    return {"outcome": "inconclusive", "why": "the search was not complete"}


def work(item):
    claim = item["claim"]
    step("claimed")
    if item["kind"] == "look_up":
        report(claim, **look(item))
        return
    # The time counts from before the begin is sent, on this clock.
    asked = time.monotonic()
    try:
        status, begun = factum("/v1/work/%s/begin" % claim, {}, patient=False)
    except (OSError, Lost):
        # It may have begun, and the permission is lost with the answer: nothing is sent.
        status, begun = factum("/v1/work/%s/begin" % claim, {})
        if status == 200:
            report(claim, outcome="not_sent", why="the begin took too long")
            return
    if status == 409 and begun["code"] == "F1102":
        # Nothing was sent: this process makes a call only after a begin that it saw succeed.
        report(claim, outcome="not_sent", why="the answer to the begin was lost")
        return
    if status != 200:
        step("not begun: %s" % begun.get("rule"))
        return
    step("begun")
    report(claim, **call(item, begun, asked + begun["valid_for_ms"] / 1000))


def run(destination, idle=None):
    quiet_since = time.monotonic()
    while idle is None or time.monotonic() - quiet_since < idle:
        wait = 20 if idle is None else 1
        status, claimed = factum("/v1/work/claim?wait=%d" % wait, {"destinations": [destination]})
        if status != 200:
            sys.exit("factum: %s (%s)" % (claimed.get("rule"), claimed.get("remedy")))
        for item in claimed["items"]:
            work(item)
            quiet_since = time.monotonic()


if __name__ == "__main__":
    where = sys.argv[1]
    until = float(sys.argv[3]) if sys.argv[2:3] == ["--idle"] else None
    try:
        run(where, until)
    except KeyboardInterrupt:
        pass

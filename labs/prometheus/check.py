#!/usr/bin/env python3
"""check.py ready|look URL [DASHBOARD]: what a Prometheus that scrapes Factum makes of our rules and of the dashboard's expressions."""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

# Panels that have to show more than nought while the demo's actions are submitted again.
MOVES = {"Submissions", "Attempts, by what is known of them", "Settled, by what", "Requests, by right", "Questions"}

PATIENCE = 60


def asked(url, path, **query):
    """One answer of the HTTP API; none while nobody answers."""
    address = f"{url}{path}?{urllib.parse.urlencode(query)}"
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


def value(url, expression):
    """The samples that an expression has now, without those that are no number."""
    found = asked(url, "/api/v1/query", query=expression)
    samples = found["result"] if found else []
    return [sample for sample in samples if sample["value"][1] != "NaN"]


def until(wanted, what):
    """Waits until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not wanted():
        if time.monotonic() > deadline:
            sys.exit(f"it never came: {what}")
        time.sleep(0.2)


def expressions(dashboard):
    """The title of each panel with its expressions, for all destinations."""
    with open(dashboard, encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    for panel in panels:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$destination", ".*")


def rules(url):
    """Every rule of ours, once each was evaluated."""
    def read():
        groups = (asked(url, "/api/v1/rules") or {}).get("groups", [])
        return [rule for group in groups for rule in group["rules"]]

    until(lambda: read() and all(rule["health"] != "unknown" for rule in read()), "an evaluation of every rule")
    return read()


def look(url, dashboard):
    """Says what was seen, and fails on a rule that is not healthy or a panel that shows nothing."""
    wrong = []
    found = rules(url)
    for rule in found:
        if rule["health"] != "ok":
            wrong.append(f"the rule {rule['name']} is {rule['health']}: {rule.get('lastError')}")
    firing = sorted(rule["name"] for rule in found if rule["state"] != "inactive")
    print(f"{len(found)} rules are healthy; pending or firing: {', '.join(firing) or 'none'}")
    for title, expression in expressions(dashboard):
        samples = value(url, expression)
        moves = any(float(sample["value"][1]) > 0 for sample in samples)
        if not samples or (title in MOVES and not moves):
            wrong.append(f"the panel {title!r} shows nothing: {expression}")
        shown = ", ".join(sample["value"][1] for sample in samples[:4])
        print(f"  {title}: {len(samples)} series, {shown}")
    if wrong:
        sys.exit("\n".join(wrong))


def main():
    """Reads the words of the command line."""
    match sys.argv[1:]:
        case ["ready", url]:
            until(lambda: value(url, 'up{job="factum"} == 1'), "a first look at the server")
        case ["look", url, dashboard]:
            look(url, dashboard)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# What the program is made of, as CycloneDX 1.5 on standard output. `cargo cyclonedx` says more, where it is installed; this needs cargo and
# python3 alone, and reads what is locked.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo metadata --locked --format-version 1 --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" | python3 -c '
import json, sys
meta = json.load(sys.stdin)
packages = {p["id"]: p for p in meta["packages"]}
nodes = {n["id"]: n for n in meta["resolve"]["nodes"]}
root = next(i for i, p in packages.items() if p["name"] == "factum-cli")
def used(node):
    # What tests and builds need is not in the program.
    return [d["pkg"] for d in node["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
seen, todo = {root}, [root]
while todo:
    for dep in used(nodes[todo.pop()]):
        if dep not in seen:
            seen.add(dep)
            todo.append(dep)
def purl(p):
    return "pkg:cargo/%s@%s" % (p["name"], p["version"])
def component(p):
    one = {"type": "library", "bom-ref": purl(p), "name": p["name"], "version": p["version"], "purl": purl(p)}
    if p.get("license"):
        one["licenses"] = [{"expression": p["license"].replace("/", " OR ")}]
    return one
main = component(packages[root])
main["type"] = "application"
parts = sorted((packages[i] for i in seen - {root}), key=lambda p: (p["name"], p["version"]))
json.dump({
    "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
    "metadata": {"component": main},
    "components": [component(p) for p in parts],
    "dependencies": [{"ref": purl(packages[i]), "dependsOn": sorted(purl(packages[d]) for d in set(used(nodes[i])))}
                     for i in sorted(seen, key=lambda i: purl(packages[i]))],
}, sys.stdout, indent=1)
print()
'

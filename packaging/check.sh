#!/usr/bin/env bash
# Looks over what is not built here: units, manifests, scripts. packaging/check.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for script in ./*.sh; do bash -n "$script"; done

if command -v systemd-analyze >/dev/null; then
  # The program as it would be installed, and without what only the running system knows.
  sed "s|^ExecStart=[^ ]*|ExecStart=$program|; /^Documentation=/d" systemd/factum.service >"$work/factum.service"
  systemd-analyze verify --man=no "$work/factum.service"
  exposure=$(systemd-analyze security --offline=true "$work/factum.service" 2>/dev/null | sed -n 's/.*exposure level[^:]*: \([0-9]*\)\..*/\1/p')
  echo "the unit's exposure, of ten: ${exposure:-not said here}"
  if [ -n "$exposure" ] && [ "$exposure" -ge 4 ]; then echo "the unit is less closed than it was"; exit 1; fi
else
  echo "systemd-analyze is not installed; the unit was not looked over"
fi

if python3 -c 'import yaml' 2>/dev/null; then
  python3 - <<'PY'
import yaml
kinds = {document["kind"]: document for document in yaml.safe_load_all(open("kubernetes.yaml"))}
assert set(kinds) == {"ConfigMap", "Service", "StatefulSet", "NetworkPolicy"}, kinds.keys()
labels = kinds["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
for selector in (kinds["Service"]["spec"]["selector"], kinds["StatefulSet"]["spec"]["selector"]["matchLabels"],
                 kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]):
    assert selector.items() <= labels.items(), selector
pod = kinds["StatefulSet"]["spec"]["template"]["spec"]
volumes = {v["name"] for v in pod["volumes"]} | {v["metadata"]["name"] for v in kinds["StatefulSet"]["spec"]["volumeClaimTemplates"]}
mounts = {m["name"] for m in pod["containers"][0]["volumeMounts"]}
assert mounts == volumes, (mounts, volumes)
compose = yaml.safe_load(open("compose.yaml"))
assert set(compose["services"]) == {"factum"}
print("the manifests are whole")
PY
else
  echo "python3 has no yaml; the manifests were not read"
fi

# What comes with the program: a page for each command, and words for shells.
"$program" man "$work/man"
test -s "$work/man/factum.1" && test -s "$work/man/factum-serve.1"
for shell in bash zsh fish; do "$program" completions "$shell" >"$work/factum.$shell"; done
bash -n "$work/factum.bash"
"$program" serve --config factum.default.toml --help >/dev/null
./sbom.sh >"$work/sbom.json"
python3 - "$work/sbom.json" <<'PY'
import json, sys
bom = json.load(open(sys.argv[1]))
names = {component["name"] for component in bom["components"]}
assert {"rustls", "tokio", "factum-core"} <= names and "proptest" not in names, sorted(names)
print(len(names), "parts are listed")
PY

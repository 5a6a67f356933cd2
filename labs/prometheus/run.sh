#!/usr/bin/env bash
# run.sh: the alerts and the dashboard under a real Prometheus (Debian's), which scrapes `factum demo --keep` while more is submitted there.
# Every rule has to be healthy, and every expression of the dashboard has to bring data: counters and gauges begin at nought, so none may be empty.
# FACTUM names the command; with the word `install` it unpacks Prometheus under LAB_CACHE, and does no more.
here=$(cd "$(dirname "$0")" && pwd); . "$here/../lib.sh"
prometheus=$(command -v prometheus || true)
if [ -z "$prometheus" ]; then
  prometheus=$LAB_CACHE/prometheus/usr/bin/prometheus
  if [ ! -x "$prometheus" ]; then
    mkdir -p "$LAB_CACHE/prometheus"
    # The program alone is taken out of the package: its service is not to be started here.
    (cd "$LAB_CACHE/prometheus" && timeout 120 apt-get -q update && timeout 180 apt-get -q download prometheus && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb) >&2
  fi
fi
prometheus=$(realpath "$prometheus")
"$prometheus" --version 2>&1 | head -n 1
if [ "${1:-}" = install ]; then exit 0; fi
factum=$(realpath "${FACTUM:?names the command factum}")
ops=$(realpath "$here/../../ops")

. "$here/../../examples/lib.sh"

# Half of what comes in comes before Prometheus looks, half while it does: a rate needs what changes between two looks.
"$factum" demo --keep --actions 60 --seed 20 --json --write-actions load.jsonl >demo.json 2>demo.log &
children+=($!)
for _ in $(seq 600); do grep -q '"running"' demo.json && break; kill -0 "${children[0]}"; sleep 0.2; done
engine=$(python3 -c 'import json; print(json.load(open("demo.json"))["running"]["engine"])')
token=$(python3 -c 'import json; print(json.load(open("demo.json"))["running"]["token_file"])')

port=$(free_port)
cat >prometheus.yml <<CONF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$ops/prometheus/factum.rules.yml"]
scrape_configs:
  - job_name: factum
    static_configs: [{targets: ["${engine#http://}"]}]
CONF
"$prometheus" --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" --log.level=warn >prometheus.log 2>&1 &
children+=($!)
"$here/check.py" ready "http://127.0.0.1:$port"
sed -E 's/("(key|business)": ?")/\1again-/g' load.jsonl >again.jsonl
FACTUM_URL=$engine FACTUM_TOKEN=$(cat "$token") "$factum" submit --file again.jsonl --wait 20s --json >submitted.json 2>submitted.log || true
"$here/check.py" look "http://127.0.0.1:$port" "$ops/grafana/factum.json"

#!/usr/bin/env bash
# Runs every benchmark once, so small that the figures say nothing: it shows that they work, and checks what holds at any size.
#
#     bench/smoke.sh target/debug
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$1 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

bench/speed/page.py --check
bench/speed/run.py --target "$programs" --systems floor,factum --rounds 1 --scale 0.005 --long 200 --flushes 0 --out "$out/speed.json" >"$out/speed.log"
bench/speed/page.py --of "$out/speed.json" | tail -n 3
bench/overload/run.py --target "$programs" --minutes 0.05 --measure 300 --connections 128 --unsettled-max 100 --lenient --out "$out/overload.json"
bench/herd/run.py --target "$programs" --unknown 200 --rate 100 --away 1 --lenient --out "$out/herd.json"

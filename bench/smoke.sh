#!/usr/bin/env bash
# Runs every benchmark once, so small that the figures say nothing: it shows that they work, and checks what holds at any size.
#
#     bench/smoke.sh target/debug
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$1 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

bench/page.py --check
bench/speed/run.py --target "$programs" --systems floor,factum --rounds 1 --scale 0.005 --long 200 --flushes 0 --out "$out/speed.json" >"$out/speed.log"
bench/overload/run.py --target "$programs" --minutes 0.03 --measure 150 --connections 128 --unsettled-max 100 --lenient --out "$out/overload.json"
bench/herd/run.py --target "$programs" --unknown 200 --rate 100 --away 1 --cooldown 2 --lenient --out "$out/herd.json"
bench/growth/run.py --target "$programs" --rounds 1 --count 60 --settled 0,200 --unsettled 100 --purged 100 --tenants 3 --destinations 8 --hanging 2 \
  --payloads 256,16384 --lenient --out "$out/growth.json"
bench/page.py --of "$out" >"$out/page.md"
grep -q 'Payloads' "$out/page.md"

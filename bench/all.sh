#!/usr/bin/env bash
# Measures everything anew, each benchmark by its own script with its own defaults, and writes the page. Hours, and some 20 GB of disk.
#
#     cargo build --release && cargo build --release -p factum-bench
#     bench/all.sh
#
# A bound that does not hold does not end the others; the exit code is 1 then.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
for name in speed growth overload herd; do
  echo "==== $name"
  "bench/$name/run.py" || status=1
done
bench/page.py
exit "$status"

#!/usr/bin/env python3
"""The regression guard: instructions of each piece of work, counted by valgrind's callgrind, against those that are recorded.

    bench/micro/guard.py              builds, counts, compares; exit 1 when one needs over 5 % more
    bench/micro/guard.py --renew      writes what was counted as the record for this compiler

The build is the one that tests use, since another takes minutes: a regression shows there too, and what optimising gains is timed by
`cargo bench`. Instructions do not depend on what else the machine does. They do depend on the compiler, so the record names it; with another one
there is nothing to compare with, and the guard says so and passes. A record is renewed on purpose only, in a commit that says why.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
RECORD = HERE / "counted.json"
#: What may be over the record.
ALLOWED = 1.05
#: How often each work is done; the one-time cost of starting and preparing is counted apart and taken off.
TIMES = {"admit_in_sqlite": 100, "admit_in_memory": 200}
USUAL = 1_000


def build() -> Path:
    subprocess.run(["cargo", "build", "--quiet", "-p", "factum-micro", "--bin", "counted"], cwd=SOURCE, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", SOURCE / "target")) / "debug" / "counted"


def instructions(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *command],
                              capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit(f"{' '.join(command)} under valgrind ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return int(found[1])


def counted(program: Path) -> dict[str, int]:
    names = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
    result = {}
    for name in names:
        times = TIMES.get(name, USUAL)
        empty, full = (instructions([str(program), name, str(n)]) for n in (0, times))
        result[name] = round((full - empty) / times)
    return result


def compiler() -> str:
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write the record for this compiler")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    now, by = counted(build()), compiler()
    if options.renew:
        RECORD.write_text(json.dumps({**record, by: now}, indent=2) + "\n")
    before = record.get(by)
    over = []
    for name, count in now.items():
        was = before.get(name) if before else None
        change = f"{count / was - 1:+.1%} against {was:,}" if was else "nothing recorded"
        print(f"{name:<18} {count:>10,} instructions, {change}")
        if was and count > was * ALLOWED:
            over.append(name)
    if before is None:
        print(f"nothing is recorded for {by}; bench/micro/guard.py --renew does that")
    if over and not options.renew:
        sys.exit(f"{', '.join(over)}: over 5 % more instructions than recorded. Find out why, or renew the record and say why.")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What becomes of speed, memory, start and file as what a server holds, and whom it serves, grows.

    cargo build --release && cargo build --release -p factum-bench
    bench/growth/run.py                                     everything, at the sizes of the issue: hours, and some 20 GB of disk
    bench/growth/run.py --only settled --settled 0,1000000  one question, smaller
    bench/growth/run.py --only payloads,hanging

Questions: settled (actions that are done), unsettled (due at the start: recorded, or unknown), purge (under load), tenants, hanging (some of
many destinations never answer), payloads. Stores are filled through the store's own API, sealed and chained as usual. Writes
results.json beside itself, question by question, and says of each bound whether it holds; the exit code is 1 if one does not.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import breadth
import common
import stores
from outcome import Verdicts, say, write
from rig import Sink

QUESTIONS = {"settled": stores.settled, "unsettled": stores.unsettled, "purge": stores.purge, "tenants": breadth.tenants,
             "hanging": breadth.hanging, "payloads": breadth.payloads}


def options():
    made = common.parser(__doc__, HERE / "results.json")
    made.add_argument("--only", default=",".join(QUESTIONS))
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--count", type=int, default=20_000, help="effects of one measured run")
    made.add_argument("--settled", default="0,1000000,10000000", help="settled actions in the store")
    made.add_argument("--unsettled", type=int, default=1_000_000)
    made.add_argument("--purged", type=int, default=1_000_000, help="actions that are purged")
    made.add_argument("--tenants", type=int, default=10_000)
    made.add_argument("--destinations", type=int, default=1_000)
    made.add_argument("--hanging", type=int, default=50, help="of them")
    made.add_argument("--payloads", default="256,16384,1048576", help="bytes")
    made.add_argument("--folder", type=Path, help="where stores are made [default: the system's folder for temporary files]")
    found = common.parsed(made)
    found.only = found.only.split(",")
    if unknown := set(found.only) - set(QUESTIONS):
        made.error(f"--only: {', '.join(unknown)} is no question; there are {', '.join(QUESTIONS)}")
    found.settled, found.payloads = ([int(size) for size in text.split(",")] for text in (found.settled, found.payloads))
    return found


def main() -> None:
    chosen, verdicts, answers = options(), Verdicts(), {}
    with tempfile.TemporaryDirectory(prefix="factum-growth", dir=chosen.folder) as folder:
        sink = Sink(chosen.target, Path(folder))
        try:
            for name in chosen.only:
                say(f"== {name}")
                place = Path(folder) / name
                place.mkdir()
                answers[name] = QUESTIONS[name](chosen, place, sink, verdicts)
                say(json.dumps(answers[name]))
                shutil.rmtree(place, ignore_errors=True)
                write(chosen.out, {"rounds": chosen.rounds, "answers": answers, "verdicts": verdicts.rows})
        finally:
            sink.stop()
    verdicts.end()


if __name__ == "__main__":
    main()

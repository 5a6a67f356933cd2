#!/usr/bin/env python3
"""Three times as much as it can do, for minutes: what becomes of a server, and of what it has accepted.

    cargo build --release && cargo build --release -p factum-bench
    bench/overload/run.py                    ten minutes
    bench/overload/run.py --minutes 0.1      a glance

First the capacity is measured: callers that wait for their outcome, as many as keep it busy. Then so many times of it are due each second
(an open loop: whoever is due is not held up by who was not answered yet), over many more connections. The store may hold a bounded number of
unsettled actions (`limits.unsettled_max`): past it, submissions are to be refused with 429, early and cheaply. Writes results.json
beside itself, and says of each bound whether it holds; the exit code is 1 if one does not.
"""

import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import common
from accounts import Sampler, Usage, resident_mb
from measure import closed
from outcome import Verdicts, say, write
from rig import Sink, load, until
from server import Server, destination


def options():
    made = common.parser(__doc__, HERE / "results.json")
    made.add_argument("--minutes", type=float, default=10)
    made.add_argument("--times", type=float, default=3, help="the capacity")
    made.add_argument("--connections", type=int, default=512)
    made.add_argument("--unsettled-max", type=int, default=10_000)
    made.add_argument("--measure", type=int, default=20_000, help="effects by which the capacity is measured")
    return common.parsed(made)


def capacity(chosen, server: Server, sink: Sink, name: str) -> dict:
    """Effects per second that are done for callers who wait, and what one costs."""
    return closed(chosen.target, server, sink, server.door("sync"), name, chosen.measure)


def overload(chosen, server: Server, sink: Sink, rate: float) -> dict:
    """The load itself, until everything that was accepted is settled."""
    sink.reset()
    memory = Sampler(lambda: round(resident_mb(server.pid), 1))
    usage, began = Usage({"factum": server.pid}, [sink.pid]), time.monotonic()
    found = load(chosen.target, server.door("send"), "over", connections=chosen.connections, count=int(rate * chosen.minutes * 60), rate=rate)
    arrived = sink.seen()["distinct"]
    held = [value for _, value in memory.stop()]
    used, others = usage.end()
    ended = time.monotonic()
    unsettled = until(server.unsettled, lambda open_actions: open_actions == 0)
    seen = sink.arrived(found["accepted"], 5)
    return {
        "offered": found["count"], "offered_per_s": round(rate, 1), "accepted": found["accepted"], "refused": found["refused"], "lost": found["lost"],
        "first_refusal": found["first_refusal"], "seconds": round(ended - began, 1), "accepted_ms": milliseconds(found["service_us"]),
        "since_due_ms": milliseconds(found["latency_us"]), "refused_ms": milliseconds(found["refusal_us"]),
        "done_per_s": round(arrived / found["seconds"], 1), "drained_s": round(time.monotonic() - ended, 1),
        "unsettled": unsettled, "effects": seen["distinct"], "sent_twice": seen["posts"] - seen["distinct"], "cpu_s": round(used["factum"], 1),
        "memory_mb": {"first": held[0], "half_way": max(held[:max(1, len(held) // 2)]), "most": max(held)} if held else {}, "other_cores": others,
    }


def milliseconds(of: dict) -> dict:
    return {name: value / 1000 for name, value in of.items()}


def judge(chosen, before: dict, over: dict, after: dict) -> Verdicts:
    verdicts = Verdicts()
    verdicts.equal("accepted, and never carried out", max(0, over["accepted"] - over["effects"]), 0)
    verdicts.equal("effect requests that were repeated", over["sent_twice"], 0)
    verdicts.equal("requests without an answer", over["lost"], 0)
    verdicts.equal("accepted, and not settled in the end", over["unsettled"], 0)
    if not chosen.lenient:
        verdicts.at_least("requests refused", over["refused"], 1)
        verdicts.at_most("seconds until what was accepted is settled", over["drained_s"], 10 + 3 * chosen.unsettled_max / before["effects_per_s"])
        verdicts.at_least("share of the capacity that is done meanwhile", over["done_per_s"] / before["effects_per_s"], 0.5)
        verdicts.at_most("p99 of an acceptance, ms", over["accepted_ms"]["p99"], 1_000)
        verdicts.at_most("p50 of a refusal, against that of an acceptance", over["refused_ms"]["p50"] / over["accepted_ms"]["p50"], 1)
        verdicts.at_most("growth of the memory in the second half", over["memory_mb"]["most"] / over["memory_mb"]["half_way"], 1.1)
        verdicts.at_least("the capacity afterwards, against before", after["effects_per_s"] / before["effects_per_s"], 0.9)
    return verdicts


def main() -> None:
    chosen = options()
    with tempfile.TemporaryDirectory(prefix="factum-overload") as folder:
        sink = Sink(chosen.target, Path(folder))
        server = Server(chosen.factum, Path(folder) / "server", destination("sink", sink.base), more=f"limits.unsettled_max = {chosen.unsettled_max}")
        try:
            server.start()
            capacity(chosen, server, sink, "warm")
            before = capacity(chosen, server, sink, "before")
            say(f"before: {before}")
            over = overload(chosen, server, sink, before["effects_per_s"] * chosen.times)
            say(f"over: {over}")
            after = capacity(chosen, server, sink, "after")
            say(f"after: {after}")
        finally:
            server.stop()
            sink.stop()
    verdicts = judge(chosen, before, over, after)
    write(chosen.out, {"minutes": chosen.minutes, "times": chosen.times, "unsettled_max": chosen.unsettled_max, "before": before, "over": over,
                       "after": after, "verdicts": verdicts.rows})
    verdicts.end()


if __name__ == "__main__":
    main()

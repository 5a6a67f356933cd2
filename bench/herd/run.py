#!/usr/bin/env python3
"""A destination comes back, and tens of thousands of unknown actions want to ask it at once.

    cargo build --release && cargo build --release -p factum-bench
    bench/herd/run.py                              50,000 unknowns, 500 requests a second
    bench/herd/run.py --unknown 500 --rate 100     a glance

A store is filled with actions whose answers were lost. Nine of ten can only be looked up; of the tenth a repeat under the key is still
right, for a time that is long enough for them and too short for everybody. While the destination is away, Factum starts; then it comes
back. The testbed's ledger and its counters judge: requests stay within the configured rate, each effect exists once, no window that
could be met was missed, and callers of another destination notice little. Writes results.json beside itself; the exit code is 1 if a bound
does not hold.
"""

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import common
from accounts import Sampler, Usage, resident_mb
from outcome import Verdicts, say, write
from rig import Child, Sink, call, fill, free_port, load, load_command, until, wait_for
from server import Server, destination

#: Of `key.sync`: a floor of a day, less the margin of a tenth, less the time that a request may take to arrive, by the default limits.
WINDOW = 86_400 * 9 // 10 - 17
#: Places that are kept free for a while after a quiet time.
BURST = 32


def options():
    made = common.parser(__doc__, HERE / "results.json")
    made.add_argument("--unknown", type=int, default=50_000)
    made.add_argument("--rate", type=int, default=500, help="requests a second that the destination takes")
    made.add_argument("--away", type=float, default=10, help="seconds that it is away after the start")
    made.add_argument("--cooldown", type=int, default=15, help="seconds after which a destination that was away is tried again")
    made.add_argument("--calm-rate", type=float, default=50, help="requests a second at the other destination")
    return common.parsed(made)


class Testbed:
    """The destination. Its port is its own also while it is away."""

    def __init__(self, program: Path, folder: Path):
        self._program, self._log = program, folder / "testbed.log"
        self.port, self.admin = free_port(), free_port()
        self._child: Child | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def come(self) -> None:
        self._child = Child([str(self._program), "testbed", "--listen", f"127.0.0.1:{self.port}", "--admin-listen", f"127.0.0.1:{self.admin}"], self._log)
        wait_for(self.admin)

    def leave(self) -> None:
        if self._child:
            self._child.stop()

    def lookups(self) -> int:
        """That arrived since it came; the filter keeps the answer short."""
        return call("GET", f"http://127.0.0.1:{self.admin}/ledger/counts?business=none")["lookups"]

    def counts(self) -> dict:
        return call("GET", f"http://127.0.0.1:{self.admin}/ledger/counts", timeout=120)

    def effects(self) -> list[float]:
        """When each came to be, in seconds."""
        rows = call("GET", f"http://127.0.0.1:{self.admin}/ledger", timeout=120)["rows"]
        return sorted(row["at"] / 1e6 for row in rows if row["event"] == "effect")


class Herd:
    def __init__(self, chosen, folder: Path):
        self.chosen = chosen
        self.sink, self.testbed = Sink(chosen.target, folder), Testbed(chosen.factum, folder)
        places = destination("calm", self.sink.base) + destination("herd", self.testbed.base, "testbed") + self._gate()
        self.server = Server(chosen.factum, folder / "server", places)
        self.by_key = chosen.unknown // 10
        #: Seconds that all need at the configured rate: a lookup and a send for most, a send for those with a key.
        self.whole = (2 * (chosen.unknown - self.by_key) + self.by_key) / chosen.rate

    def _gate(self) -> str:
        return f"[destinations.herd.gate]\nper_second = {self.chosen.rate}\nburst = {BURST}\ncircuit_cooldown = \"{self.chosen.cooldown} s\"\n"

    def prepare(self) -> dict:
        """One action of each kind is carried out and copied; how the other destination does by itself is measured."""
        self.testbed.come()
        self.server.start()
        for operation in ("lookup.sync", "key.sync"):
            body = {"destination": "herd", "operation": operation, "key": f"first-{operation}", "payload": {"note": "x" * 200}}
            status = self.server.post("/v1/actions", body, {"prefer": "wait=30"})
            if status["state"] != "succeeded":
                raise RuntimeError(f"{operation}: {status['state']}, not succeeded")
        load(self.chosen.target, self.server.door("sync", "calm"), "warm", connections=16, count=200)
        calm = load(self.chosen.target, self.server.door("sync", "calm"), "before", connections=64, count=self._calm(self.chosen.away),
                    rate=self.chosen.calm_rate)
        self.server.stop()
        self.testbed.leave()
        return calm

    def _calm(self, seconds: float) -> int:
        return max(100, int(self.chosen.calm_rate * seconds))

    def fill(self) -> float:
        """The time, in seconds from now, by which those of the short window have to be sent."""
        chosen, data = self.chosen, self.server.data
        took = fill(chosen.target, data, "lookup", chosen.unknown - self.by_key, "unknown", destination="herd", operation="lookup.sync", marked_ago=300)
        say(f"filled in {took:.1f} s")
        # Half of the time that all need, and that in which it is away.
        window = int(chosen.away + (600 if chosen.lenient else 30) + self.whole / 2)
        fill(chosen.target, data, "key", self.by_key, "unknown", destination="herd", operation="key.sync", marked_ago=WINDOW - window)
        return window

    def run(self) -> dict:
        ready = self.server.start()
        memory = Sampler(lambda: round(resident_mb(self.server.pid), 1))
        usage = Usage({"factum": self.server.pid}, [self.sink.pid])
        calm = Child(load_command(self.chosen.target, self.server.door("sync", "calm"), "during", connections=64, rate=self.chosen.calm_rate,
                                  count=self._calm(self.chosen.away + 20)), self.server.folder / "calm.json")
        time.sleep(self.chosen.away)
        self.testbed.come()
        back, lookups = time.monotonic(), Sampler(self.testbed.lookups, 0.25)
        settled = until(self._settled, lambda number: number >= self.chosen.unknown, 60 + 10 * self.chosen.unknown / self.chosen.rate, 0.5)
        took = time.monotonic() - back
        used, others = usage.end()
        samples, held = lookups.stop(), [value for _, value in memory.stop()]
        in_review = len(self.server.get("/v1/review?limit=10")["items"])
        until(lambda: (self.server.folder / "calm.json").read_text(), lambda text: text.strip().endswith("}"), 120)
        calm.stop()
        return {"ready_s": round(ready, 2), "settled": settled, "settled_s": round(took, 1), "in_review": in_review, "lookups": samples,
                "marked": {right: int(self.server.metric("factum_requests_marked_total", right=right, destination="herd"))
                           for right in ("same_key", "proven_absent", "first", "ordered")},
                "memory_mb": max(held, default=0), "cpu_s": round(used["factum"], 1), "other_cores": others}

    def _settled(self) -> int:
        return int(self.server.metric("factum_settled_total", destination="herd"))

    def end(self) -> None:
        self.server.stop()
        self.testbed.leave()
        self.sink.stop()


def fastest(times: list[float], seconds: float = 1.0) -> int:
    """The most that fell into any such span."""
    most = first = 0
    for last, at in enumerate(times):
        while at - times[first] > seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def judge(chosen, herd: Herd, calm: tuple[dict, dict], found: dict) -> tuple[Verdicts, dict]:
    counts, effects = herd.testbed.counts(), herd.testbed.effects()
    samples = found.pop("lookups")
    over = max((later - earlier - chosen.rate * (end - begin) for (begin, earlier), (end, later) in pairwise(samples)), default=0.0)
    requests = counts["lookups"] + counts["deliveries"]
    seen = {"effects": counts["total_effects"], "duplicates": counts["duplicates"], "lookups": counts["lookups"], "requests": requests,
            "requests_per_s": round(requests / found["settled_s"], 1), "effects_in_a_second": fastest(effects),
            "lookups_above_the_rate": round(over, 1), "calm_before_ms": calm[0], "calm_during_ms": calm[1]}
    verdicts = Verdicts()
    verdicts.equal("unknowns that are settled", found["settled"], chosen.unknown)
    verdicts.equal("effects that exist", counts["total_effects"], chosen.unknown)
    verdicts.equal("effects that exist twice", counts["duplicates"], 0)
    verdicts.equal("actions that a person has to settle", found["in_review"], 0)
    verdicts.equal("repeats under a key whose window was open", found["marked"]["same_key"], herd.by_key)
    verdicts.at_most("requests per second, over the whole time", requests / found["settled_s"], chosen.rate * 1.05 + BURST / found["settled_s"])
    if not chosen.lenient:
        verdicts.at_most("effects in any second", seen["effects_in_a_second"], chosen.rate + BURST)
        verdicts.at_most("lookups above the rate in any quarter of a second", over, BURST + chosen.rate * 0.1)
        verdicts.at_most("seconds until all are settled", found["settled_s"], 3 * chosen.cooldown + 15 + 1.5 * herd.whole)
        verdicts.at_most("p99 at the other destination, against before", calm[1]["p99"] / calm[0]["p99"], 2)
    return verdicts, seen


def main() -> None:
    chosen = options()
    with tempfile.TemporaryDirectory(prefix="factum-herd") as folder:
        herd = Herd(chosen, Path(folder))
        try:
            before = herd.prepare()
            window = herd.fill()
            found = herd.run()
            during = common.last_json(herd.server.folder / "calm.json")
            calm = tuple({name: value / 1000 for name, value in one["latency_us"].items()} for one in (before, during))
            say(f"{found['settled']} settled within {found['settled_s']} s")
            verdicts, seen = judge(chosen, herd, calm, found)
        finally:
            herd.end()
    write(chosen.out, {"unknown": chosen.unknown, "by_key": herd.by_key, "rate": chosen.rate, "burst": BURST, "window_s": window, **found, **seen,
                       "verdicts": verdicts.rows})
    verdicts.end()


if __name__ == "__main__":
    main()

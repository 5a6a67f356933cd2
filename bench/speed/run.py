#!/usr/bin/env python3
"""The speed benchmark: Factum, what people use instead, and the floor, in interleaved rounds on one machine.

    cargo build --release && cargo build --release -p factum-bench
    bench/speed/run.py                                        five rounds of everything, the memory, the flushes
    bench/speed/run.py --systems floor,factum --rounds 1      some, once
    bench/speed/run.py --modes one --systems factum           the time of one effect at one connection

In each round every system is started anew, warmed up, loaded in each of its modes, and stopped, so that what else the machine does falls
on all alike. After the rounds each is started once more under strace, to count its flushes, and those of Factum for a long run, to see
what they hold in memory. Writes results.json beside itself; bench/page.py makes the page of it. Needs Python 3.10, and for the peers PostgreSQL 15 and npm; their packages are installed into the cache
folder, in pinned versions.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from systems import ALL, System, Tools, query
from accounts import Flushes, Sampler, Usage, forget_peak, peak_resident_mb, resident_mb
from outcome import say, write
from rig import Sink, load, until

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=",".join(ALL))
    parser.add_argument("--modes", default="sync,send,one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--scale", type=float, default=1.0, help="all numbers of requests times this")
    parser.add_argument("--rate", type=float, help="open loop: requests due per second")
    parser.add_argument("--payload", type=int, default=256)
    parser.add_argument("--long", type=int, default=100_000, help="effects of the run in which Factum's memory is read; 0: none")
    parser.add_argument("--flushes", type=int, default=2_000, help="effects of the runs in which flushes are counted; 0: none")
    parser.add_argument("--out", type=Path, default=HERE / "results.json")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/factum-bench")
    parser.add_argument("--target", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", SOURCE / "target")) / "release")
    parser.add_argument("--factum", type=Path, help="another program than the target's")
    found = parser.parse_args()
    found.systems, found.modes = found.systems.split(","), found.modes.split(",")
    if unknown := [name for name in found.systems if name not in ALL]:
        parser.error(f"--systems: {', '.join(unknown)} is not measured here; there are {', '.join(ALL)}")
    found.target = found.target.resolve()
    found.factum = (found.factum or found.target / "factum").resolve()
    return found


def packages(cache: Path, systems: list[str]) -> Path:
    """The peers' npm packages, in the pinned versions."""
    node = cache / "speed-node"
    if not any(ALL[name].needs_node for name in systems):
        return node
    node.mkdir(parents=True, exist_ok=True)
    wanted, stamp = (HERE / "node/package.json").read_text(), node / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.copy(HERE / "node/package.json", node / "package.json")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=node, check=True)
        stamp.write_text(wanted)
    for file in (HERE / "node").glob("*.mjs"):
        shutil.copy(file, node / file.name)
    return node


#: Sessions that are seen to wait for a lock of another one, and all that are seen at work.
LOCKS = ("select count(*) filter (where wait_event_type = 'Lock'), count(*) from pg_stat_activity where state = 'active' "
         "and datname = 'bench' and pid <> pg_backend_pid()")


class LockWaits:
    """Where several workers share a PostgreSQL: how often a session that is at work waits for a lock of another one."""

    def __init__(self, system: System):
        self._sampler = None
        if getattr(system, "workers", 1) > 1:
            self._sampler = Sampler(lambda: [int(number) for number in query(system.cluster, LOCKS).split("|")])

    def end(self) -> dict:
        if self._sampler is None:
            return {}
        seen = [answer for _, answer in self._sampler.stop()]
        return {"sessions_seen_active": sum(active for _, active in seen), "of_them_waiting_for_a_lock": sum(waiting for waiting, _ in seen)}


class Bench:
    def __init__(self, options: argparse.Namespace, tools: Tools, folder: Path):
        self.options, self.tools, self.folder = options, tools, folder
        self.sink = Sink(tools.rig, folder)

    def round(self, number: int, name: str) -> list[dict]:
        """All modes of a system once."""
        with Running(self, name, f"round {number}") as system:
            modes = [mode for mode in system.modes if mode in self.options.modes]
            for mode in modes:
                self._warm(system, mode)
            return [{"round": number, **self._measure(system, mode, f"{mode}-{number}", self._count(system, mode))} for mode in modes]

    def flushes(self, name: str) -> list[dict]:
        """How often a system asks the disk to make something durable, per effect."""
        with Running(self, name, "flushes") as system:
            found = []
            for mode in (mode for mode in system.modes if mode in self.options.modes):
                count = max(20, self.options.flushes // (20 if mode == "one" else 1))
                self._warm(system, mode)
                calls = Flushes([*system.processes.values()], system.folder / f"flushes-{mode}.log")
                measured = self._measure(system, mode, f"flush-{mode}", count)
                found.append({"system": name, "mode": mode, "effects": measured["effects"],
                              "flushes_per_effect": round(calls.count() / max(measured["effects"], 1), 3)})
            return found

    def memory(self, name: str) -> dict:
        """What a system holds after a long run, and held at most in it."""
        with Running(self, name, "memory") as system:
            measured = self._measure(system, "sync", "long", self.options.long)
            return {"system": name, "effects": measured["effects"], "peak_resident_mb": measured["peak_resident_mb"],
                    "resident_mb": measured["resident_mb"]}

    def _count(self, system: System, mode: str) -> int:
        return max(50, int((300 if mode == "one" else system.count) * self.options.scale))

    def _warm(self, system: System, mode: str) -> None:
        self._load(system, mode, f"warm-{mode}", max(20, int((100 if mode == "one" else 1_000) * min(self.options.scale, 1))))
        until(system.unrecorded, lambda open_effects: open_effects == 0)

    def _measure(self, system: System, mode: str, prefix: str, count: int) -> dict:
        self.sink.reset()
        for root in system.processes.values():
            forget_peak(root)
        usage, waits = Usage(system.processes, [self.sink.pid]), LockWaits(system)
        load = self._load(system, mode, prefix, count)
        contention = waits.end()
        seen = self.sink.arrived(count - load["refused"] - load["lost"])
        until(system.unrecorded, lambda open_effects: open_effects == 0)
        ended = time.time()
        used, others = usage.end()
        seconds = (seen["last_new_us"] - load["started_us"]) / 1e6 if mode == "send" else load["seconds"]
        effects = max(seen["distinct"], 1)
        return {
            "system": system.name, "mode": mode, "connections": 1 if mode == "one" else self.options.connections, "count": count,
            "payload": self.options.payload, "accepted": load["accepted"], "refused": load["refused"], "lost": load["lost"],
            "first_refusal": load["first_refusal"], "effects": seen["distinct"], "duplicates": seen["posts"] - seen["distinct"],
            "effects_per_s": round(effects / seconds, 1), "accepted_per_s": round(load["accepted"] / load["seconds"], 1),
            "latency_ms": {name: value / 1000 for name, value in load["latency_us"].items()},
            "all_recorded_s": round(ended - load["started_us"] / 1e6, 3),
            "cpu_s_per_1000": {name: round(seconds / effects * 1000, 4) for name, seconds in used.items()},
            "cpu_s_per_1000_all": round(sum(used.values()) / effects * 1000, 4),
            "peak_resident_mb": {name: round(peak_resident_mb(root), 1) for name, root in system.processes.items()},
            "resident_mb": {name: round(resident_mb(root), 1) for name, root in system.processes.items()},
            "other_cores": others, **contention,
        }

    def _load(self, system: System, mode: str, prefix: str, count: int) -> dict:
        return load(self.tools.rig, system.door(mode), prefix, count=count, connections=1 if mode == "one" else self.options.connections,
                    rate=None if mode == "one" else self.options.rate, payload=self.options.payload)


class Running:
    """A system from its start to its end; its folder goes with it."""

    def __init__(self, bench: Bench, name: str, why: str):
        self._system = ALL[name](bench.tools, bench.folder / f"{why}-{name}".replace(" ", "-"), bench.sink.port)

    def __enter__(self) -> System:
        try:
            self._system.start()
        except BaseException:
            self.__exit__()
            raise
        return self._system

    def __exit__(self, *_) -> None:
        self._system.stop()
        shutil.rmtree(self._system.folder, ignore_errors=True)


def main() -> None:
    chosen = options()
    tools = Tools(chosen.factum, chosen.target, packages(chosen.cache, chosen.systems))
    found: dict = {"rounds": chosen.rounds, "results": [], "flushes": [], "memory": []}

    def keep(part: str, rows: list[dict]) -> None:
        for row in rows:
            found[part].append(row)
            say(json.dumps(row))
        # What was measured is kept, whatever comes after it.
        write(chosen.out, found)

    with tempfile.TemporaryDirectory(prefix="factum-speed") as folder:
        bench = Bench(chosen, tools, Path(folder))
        try:
            for number in range(1, chosen.rounds + 1):
                for name in chosen.systems:
                    keep("results", bench.round(number, name))
            for name in chosen.systems if chosen.flushes and Flushes.possible() else []:
                keep("flushes", bench.flushes(name))
            for name in chosen.systems if chosen.long else []:
                if name in ("factum", "factum-postgres"):
                    keep("memory", [bench.memory(name)])
        finally:
            bench.sink.stop()


if __name__ == "__main__":
    main()

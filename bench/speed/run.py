#!/usr/bin/env python3
"""The speed benchmark: Factum, what people use instead, and the floor, in interleaved rounds on one machine.

    cargo build --release && cargo build --release -p factum-bench
    bench/speed/run.py                                        five rounds of everything
    bench/speed/run.py --systems floor,factum --rounds 1      some, once
    bench/speed/run.py --modes sync --connections 1 --count 500

In each round every system is started anew, warmed up, loaded in each of its modes, and stopped, so that what else the machine does falls
on all alike. Writes results.json beside itself and docs/speed.md from it (`--out FILE` writes the results elsewhere and leaves the page).
Needs Python 3.10, and for the peers PostgreSQL 15 and npm; their packages are installed into the cache folder, in pinned versions.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from accounts import Machine, cpu_seconds, peak_resident_mb
from systems import ALL, Child, System, Tools, call, free_port, wait_for

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
#: Requests per measured run at many connections, where a system's own figure does not say otherwise.
COUNTS = {"floor": 30_000, "factum": 30_000, "factum-postgres": 10_000, "restate": 4_000, "dbos": 3_000, "pg-boss": 4_000}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=",".join(ALL))
    parser.add_argument("--modes", default="sync,send")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--count", type=int, help="requests per run, for all systems alike")
    parser.add_argument("--rate", type=float, help="open loop: requests due per second")
    parser.add_argument("--payload", type=int, default=256)
    parser.add_argument("--out", type=Path, default=HERE / "results.json")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/factum-bench")
    parser.add_argument("--target", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", SOURCE / "target")) / "release")
    parser.add_argument("--flushes", action="store_true", help="count flushes with strace, which slows everything")
    return parser.parse_args()


def packages(cache: Path, systems: list[str]) -> Path:
    """The peers' npm packages, in the pinned versions."""
    node = cache / "speed-node"
    if not {"restate", "dbos", "pg-boss"} & set(systems):
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


class Flushes:
    """Counts what a system's processes ask the disk to make durable."""

    CALLS = re.compile(r"^\d+ +(?:fsync|fdatasync|sync_file_range|msync|syncfs)\(", re.MULTILINE)

    def __init__(self, processes: list[int], log: Path):
        self._log = log
        attach = [word for process in processes for word in ("-p", str(process))]
        self._strace = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync,syncfs", "-o", str(log),
                                         *attach], stderr=subprocess.DEVNULL)
        time.sleep(2)

    def count(self) -> int:
        self._strace.terminate()
        self._strace.wait(20)
        return len(self.CALLS.findall(self._log.read_text()))


class Bench:
    def __init__(self, options: argparse.Namespace, tools: Tools, folder: Path):
        self.options, self.tools, self.folder = options, tools, folder
        self.sink_port = free_port()
        self.sink = Child([str(tools.rig / "sink"), "--port", str(self.sink_port)], folder / "sink.log")
        wait_for(self.sink_port)

    def round(self, number: int, name: str) -> list[dict]:
        system = ALL[name](self.tools, self.folder / f"{number}-{name}", self.sink_port)
        modes = [mode for mode in system.modes if mode in self.options.modes.split(",")]
        try:
            system.start()
            for mode in modes:
                self._load(system, mode, f"warm-{mode}", 1_000 if self.options.connections > 1 else 100)
                self._recorded(system)
            return [{"round": number, **self._measure(system, mode, f"{name}-{mode}-{number}")} for mode in modes]
        finally:
            system.stop()
            shutil.rmtree(system.folder, ignore_errors=True)

    def _measure(self, system: System, mode: str, prefix: str) -> dict:
        count = self.options.count or COUNTS[system.name]
        call("POST", f"http://127.0.0.1:{self.sink_port}/reset")
        flushes = Flushes([*system.processes.values()], system.folder / "flushes.log") if self.options.flushes else None
        before = {name: cpu_seconds(root) for name, root in system.processes.items()}
        others = self._others(before, system)
        load = self._load(system, mode, prefix, count)
        seen = self._arrived(count - load["refused"] - load["lost"])
        self._recorded(system)
        ended = time.time()
        used = {name: cpu_seconds(root) - before[name] for name, root in system.processes.items()}
        seconds = load["seconds"] if mode == "sync" else (seen["last_new_us"] - load["started_us"]) / 1e6
        effects = max(seen["distinct"], 1)
        result = {
            "system": system.name, "mode": mode, "connections": self.options.connections, "count": count, "payload": self.options.payload,
            "accepted": load["accepted"], "refused": load["refused"], "lost": load["lost"], "first_refusal": load["first_refusal"],
            "effects": seen["distinct"], "duplicates": seen["posts"] - seen["distinct"],
            "effects_per_s": round(effects / seconds, 1), "accepted_per_s": round(load["accepted"] / load["seconds"], 1),
            "latency_ms": {name: value / 1000 for name, value in load["latency_us"].items()},
            "all_recorded_s": round(ended - load["started_us"] / 1e6, 3),
            "cpu_s_per_1000": {name: round(seconds / effects * 1000, 4) for name, seconds in used.items()},
            "cpu_s_per_1000_all": round(sum(used.values()) / effects * 1000, 4),
            "peak_resident_mb": {name: round(peak_resident_mb(root), 1) for name, root in system.processes.items()},
            "other_cores": others(used),
        }
        if flushes:
            result["flushes_per_effect"] = round(flushes.count() / effects, 3)
        return result

    def _others(self, before: dict[str, float], system: System):
        """What neither the system nor the benchmark used of the machine meanwhile, in cores."""
        machine, began = Machine.now(), time.monotonic()
        mine = cpu_seconds(self.sink.pid) + sum(os.times()[:4])

        def end(used: dict[str, float]) -> float:
            busy = Machine.now().busy - machine.busy
            own = cpu_seconds(self.sink.pid) + sum(os.times()[:4]) - mine
            return round(max(0.0, busy - own - sum(used.values())) / (time.monotonic() - began), 2)

        return end

    def _load(self, system: System, mode: str, prefix: str, count: int) -> dict:
        door = system.door(mode)
        command = [str(self.tools.rig / "load"), "--url", door.url, "--connections", str(self.options.connections), "--count", str(count),
                   "--prefix", prefix, "--body", door.body, "--payload", str(self.options.payload)]
        command += [word for header in door.headers for word in ("--header", header)]
        command += ["--rate", str(self.options.rate)] if self.options.rate else []
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=1800).stdout)

    def _arrived(self, count: int) -> dict:
        return _until(lambda: call("GET", f"http://127.0.0.1:{self.sink_port}/stats"), lambda seen: seen["distinct"] >= count)

    def _recorded(self, system: System) -> None:
        _until(system.unrecorded, lambda open_effects: open_effects == 0)


def _until(ask, enough, patience: float = 600):
    """Asks until the answer is enough, or patience ends; the last answer."""
    end = time.monotonic() + patience
    while not enough(answer := ask()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def machine() -> dict:
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return {"cpu": cpu.group(1) if cpu else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)}


def main() -> None:
    chosen = options()
    systems = chosen.systems.split(",")
    if unknown := [name for name in systems if name not in ALL]:
        sys.exit(f"--systems: {', '.join(unknown)} is not measured here; there are {', '.join(ALL)}")
    tools = Tools(chosen.target / "factum", chosen.target, packages(chosen.cache, systems))
    results = []
    with tempfile.TemporaryDirectory(prefix="factum-speed") as folder:
        bench = Bench(chosen, tools, Path(folder))
        try:
            for number in range(1, chosen.rounds + 1):
                for name in systems:
                    for result in bench.round(number, name):
                        results.append(result)
                        print(json.dumps(result), flush=True)
        finally:
            bench.sink.stop()
    whole = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "rounds": chosen.rounds, "results": results}
    chosen.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()

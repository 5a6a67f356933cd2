#!/usr/bin/env python3
"""The lost-answer benchmark: what becomes of intended effects when their answers are lost.

    bench/lost-answer/run.py                                     every system, every scenario
    bench/lost-answer/run.py --systems factum,dbos --effects 5   some, smaller
    bench/lost-answer/run.py --systems 'factum on postgres'      four workers on PostgreSQL
    bench/lost-answer/run.py --adapter 'mine=./my-adapter'       a system of your own, by the protocol in protocol.py

Writes results.json beside itself, and the table in docs/lost-answer.md from it. Needs Python 3.10, a built `factum` (for the
destination, whatever is measured), PostgreSQL 15 and npm for the systems that use them; npm and PyPI packages are installed
into the cache folder, in the versions that are pinned here.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from destination import Destination
from protocol import SAYS, Adapter
from scenarios import CALL_TIMEOUT, KINDS, SCENARIOS, Scenario
from score import Effect, rows
import table

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
FINAL = ("done", "not_done", "unknown", "asked")
EFFECT_LEDGER = "effect-ledger==0.1.2"

#: Name, version, command. `python` and `node` stand for themselves.
SYSTEMS = {
    "factum": ("the working copy", ["factum.py"]),
    "factum on postgres": ("the working copy, four workers", ["factum.py", "--store", "postgres"]),
    "retry loop": ("three attempts", ["retry_loop.py", "3"]),
    "send once": ("one attempt", ["retry_loop.py", "1"]),
    "pg-boss": ("12.38.0", ["node_app.py", "pg-boss"]),
    "dbos": ("5.3.0 (TypeScript)", ["node_app.py", "dbos"]),
    "restate": ("1.7.12, SDK 1.17.2", ["node_app.py", "restate"]),
    "effect-ledger": ("0.1.2 (Python), with a recovery policy", ["ledger_app.py"]),
}


def install(cache: Path, systems: list[str]) -> dict[str, str]:
    """The packages of the systems that need some; the environment that adapters find them by."""
    env = {}
    if {"pg-boss", "dbos", "restate"} & set(systems):
        node = cache / "node"
        node.mkdir(parents=True, exist_ok=True)
        wanted, stamp = (HERE / "adapters/node/package.json").read_text(), node / "installed"
        if not stamp.exists() or stamp.read_text() != wanted:
            (node / "package.json").write_text(wanted)
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=node, check=True)
            stamp.write_text(wanted)
        for file in (HERE / "adapters/node").glob("*.mjs"):
            shutil.copy(file, node / file.name)
        env["LOST_ANSWER_NODE"] = str(node)
    if "effect-ledger" in systems:
        venv = cache / "venv"
        if not (venv / "bin/effect-ledger").exists():
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
            subprocess.run([str(venv / "bin/pip"), "install", "--quiet", EFFECT_LEDGER], check=True)
        env["LOST_ANSWER_PYTHON"] = str(venv / "bin/python")
    return env


class Run:
    """One system in one scenario."""

    def __init__(self, options, system: str, command: list[str], env: dict[str, str], scenario: Scenario, folder: Path):
        self.options, self.scenario, self.folder = options, scenario, folder
        folder.mkdir(parents=True)
        self.destination = Destination(options.factum, scenario, options.seed, folder / "testbed.log")
        # Where nothing is lost, nobody is hit either.
        seed = "" if scenario.name == "clean" else f"{options.seed}-{scenario.name}"
        self.adapter = Adapter(command, folder / "adapter.log", {**env, "LOST_ANSWER_SEED": seed})
        self.kinds = {f"{kind}-{scenario.name}-{number:03}": kind for number in range(options.effects) for kind in KINDS}
        self.submitted: dict[str, float] = {}
        self.last: dict[str, tuple[str, float]] = {}

    def go(self) -> list[Effect]:
        try:
            self.adapter.call("start", destination=self.destination.url, folder=str(self.folder), timeout=CALL_TIMEOUT,
                              key_retention=self.scenario.key_retention)
            for id, kind in self.kinds.items():
                self.submitted[id] = time.monotonic()
                self.adapter.call("submit", id=id, kind=kind)
            self._kill()
            self._settle()
            effects = self.destination.effects()
        finally:
            try:
                self.adapter.stop()
            finally:
                self.destination.stop()
        return [self._effect(id, kind, effects.get(id, 0)) for id, kind in self.kinds.items()]

    def _kill(self) -> None:
        kill = self.scenario.kill
        if kill is None:
            return
        end = time.monotonic() + 10
        while time.monotonic() < end and not {
            "submitted": lambda: True,
            "in_flight": lambda: len(self.destination.arrived()) == len(self.kinds),
            "landed": lambda: len(self.destination.effects()) > 0,
        }[kill.when]():
            time.sleep(0.02)
        self.adapter.call("kill")
        time.sleep(kill.down)
        self.adapter.call("restart")

    def _settle(self) -> None:
        """Until every word is final and has stayed so for a moment, or the patience ends."""
        end, quiet = time.monotonic() + self.options.patience, None
        while time.monotonic() < end:
            says = self.adapter.call("status", ids=list(self.kinds))["says"]
            now = time.monotonic()
            for id, word in says.items():
                if word not in SAYS:
                    raise RuntimeError(f"{word!r} is no word of the protocol")
                if self.last.get(id, ("", 0))[0] != word:
                    self.last[id] = (word, now)
                    quiet = None
            if all(word in FINAL for word in says.values()):
                quiet = quiet or now
                # What acts late, acts within this time.
                if now - quiet > 6:
                    return
            time.sleep(0.25)

    def _effect(self, id: str, kind: str, exists: int) -> Effect:
        word, at = self.last[id]
        said = at - self.submitted[id] if word in FINAL else None
        return Effect(id, kind, self.scenario.name, word, exists, said)


def measure(options, system: str, version: str, command: list[str], env: dict[str, str], folder: Path) -> dict:
    """All scenarios of a system, a few beside each other; most of the time they wait."""
    def one(scenario: Scenario) -> list[Effect]:
        effects = Run(options, system, command, env, scenario, folder / system.replace(" ", "-") / scenario.name).go()
        say(f"{system:14} {scenario.name:16} " + " ".join(f"{k}={v}" for k, v in rows('', '', effects).items() if isinstance(v, int)))
        return effects

    with ThreadPoolExecutor(options.jobs) as pool:
        effects = [effect for part in pool.map(one, options.scenarios) for effect in part]
    return {**rows(system, version, effects), "seed": options.seed}


lock = threading.Lock()


def say(text: str) -> None:
    with lock:
        print(text, flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="some of: " + ", ".join(SYSTEMS))
    parser.add_argument("--adapter", action="append", default=[], metavar="NAME=COMMAND", help="a system of your own")
    parser.add_argument("--scenarios", default="all", help="some of: " + ", ".join(one.name for one in SCENARIOS))
    parser.add_argument("--effects", type=int, default=10, help="for each kind and scenario")
    parser.add_argument("--patience", type=float, default=300, help="seconds that a scenario may take to settle")
    parser.add_argument("--jobs", type=int, default=3, help="scenarios beside each other")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--factum", type=Path, default=SOURCE / "target/release/factum")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/lost-answer")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--page", type=Path, default=SOURCE / "docs/lost-answer.md")
    parser.add_argument("--wants", metavar="NAME", help="fail if this system shows a duplicate, a missing effect or a false word")
    found = parser.parse_args()
    names = [one.name for one in SCENARIOS] if found.scenarios == "all" else found.scenarios.split(",")
    found.scenarios = [one for one in SCENARIOS if one.name in names]
    found.factum = found.factum.resolve()
    return found


def main() -> None:
    chosen = options()
    systems = {name: (SYSTEMS[name][0], [sys.executable, str(HERE / "adapters" / SYSTEMS[name][1][0]), *SYSTEMS[name][1][1:]])
               for name in chosen.systems.split(",") if name}
    for own in chosen.adapter:
        name, command = own.split("=", 1)
        systems[name] = ("", command.split())
    env = {**os.environ, **install(chosen.cache, list(systems)), "LOST_ANSWER_FACTUM": str(chosen.factum)}
    folder = Path(tempfile.mkdtemp(prefix="lost-answer-"))
    say(f"seed {chosen.seed}, logs in {folder}")
    results = {row["system"]: row for row in table.read(chosen.results)}
    for system, (version, command) in systems.items():
        results[system] = measure(chosen, system, version, command, env, folder)
        order = [name for name in [*SYSTEMS, *systems] if name in results]
        table.write(chosen.results, chosen.page, [results[name] for name in dict.fromkeys(order)])
    if chosen.wants:
        row = results[chosen.wants]
        wrong = {name: row[name] for name in ("duplicates", "missing", "false_success", "false_failure")}
        # Who asks about everything is never wrong: where nothing is lost, nothing is to be asked.
        wrong |= {name: row["by_scenario"].get("clean", {}).get(name, 0) for name in ("asked_a_person", "left_unknown")}
        if any(wrong.values()):
            sys.exit(f"{chosen.wants}: {wrong}")


if __name__ == "__main__":
    main()

"""What a run of a benchmark leaves: a result file that names its machine, and verdicts on stated bounds."""

import json
import os
import platform
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path


def machine() -> dict:
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return {"cpu": cpu.group(1) if cpu else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)}


def write(out: Path, results) -> None:
    """The result file: when, where, what."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"date": time.strftime("%Y-%m-%d"), "machine": machine(), **results}, indent=1) + "\n")


def say(text: str) -> None:
    print(text, flush=True)


@dataclass
class Verdicts:
    """Bounds, and what was found. Each is said as it is reached."""

    rows: list[dict] = field(default_factory=list)

    def at_most(self, what: str, found: float, bound: float) -> None:
        self._row(what, found, f"at most {bound:g}", found <= bound)

    def at_least(self, what: str, found: float, bound: float) -> None:
        self._row(what, found, f"at least {bound:g}", found >= bound)

    def equal(self, what: str, found, wanted) -> None:
        self._row(what, found, f"exactly {wanted}", found == wanted)

    def _row(self, what: str, found, bound: str, holds: bool) -> None:
        found = round(found, 3) if isinstance(found, float) else found
        self.rows.append({"what": what, "found": found, "bound": bound, "holds": holds})
        say(f"{'holds ' if holds else 'BROKEN'}  {what}: {found} ({bound})")

    def broken(self) -> int:
        return sum(not row["holds"] for row in self.rows)

    def end(self) -> None:
        """Ends the program with 1 if a bound was broken."""
        if self.broken():
            sys.exit(1)

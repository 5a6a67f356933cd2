"""What processes and the machine used: CPU seconds, memory, flushes to disk; read from /proc."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """The process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            children.setdefault(int(stat[stat.rindex(")") + 2:].split()[1]), []).append(int(entry))
    found, waiting = [], [root]
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting += children.get(process, [])
    return found


def cpu_seconds(root: int) -> float:
    """User and system time of a tree of processes, those that ended and were waited for included."""
    ticks = 0
    for process in tree(root):
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            continue
        ticks += sum(int(field) for field in stat[stat.rindex(")") + 2:].split()[11:15])
    return ticks / TICK


def peak_resident_mb(root: int) -> float:
    """The sum of what each process of the tree held at most. Shared pages count in each."""
    total = 0
    for process in tree(root):
        try:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        except OSError:
            continue
        total += int(found.group(1)) if found else 0
    return total / 1024


@dataclass(frozen=True)
class Machine:
    """What the whole machine used until an instant."""

    busy: float

    @classmethod
    def now(cls) -> "Machine":
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        user, nice, system, _idle, _wait, irq, softirq = fields[:7]
        return cls((user + nice + system + irq + softirq) / TICK)

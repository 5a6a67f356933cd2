"""What processes and the machine used: CPU seconds, memory, flushes to disk; read from /proc."""

import os
import re
import shutil
import subprocess
import threading
import time
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


def _sum_kb(root: int, file: str, member: str) -> int:
    total = 0
    for process in tree(root):
        try:
            found = re.search(rf"^{member}:\s+(\d+)", Path(f"/proc/{process}/{file}").read_text(), re.MULTILINE)
        except OSError:
            continue
        total += int(found.group(1)) if found else 0
    return total


def peak_resident_mb(root: int) -> float:
    """The sum of what each process of the tree held at most. Shared pages count in each."""
    return _sum_kb(root, "status", "VmHWM") / 1024


def resident_mb(root: int) -> float:
    """What the tree holds now, each shared page once (PSS)."""
    return _sum_kb(root, "smaps_rollup", "Pss") / 1024


def forget_peak(root: int) -> None:
    """The peak is counted from now on."""
    for process in tree(root):
        try:
            Path(f"/proc/{process}/clear_refs").write_text("5")
        except OSError:
            continue


class Sampler:
    """Asks again and again beside whatever else goes on, until it is stopped: (seconds since the start, answer)."""

    def __init__(self, ask, every: float = 0.5):
        self.samples: list[tuple] = []
        self._ask, self._every, self._end = ask, every, threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(self._every):
            try:
                answer = self._ask()
            except (OSError, RuntimeError, ValueError, subprocess.SubprocessError):
                # Whoever is asked may be down, or on its way up.
                continue
            self.samples.append((round(time.monotonic() - self._began, 2), answer))

    def stop(self) -> list[tuple]:
        self._end.set()
        self._thread.join()
        return self.samples


@dataclass(frozen=True)
class Machine:
    """What the whole machine used until an instant."""

    busy: float

    @classmethod
    def now(cls) -> "Machine":
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        user, nice, system, _idle, _wait, irq, softirq = fields[:7]
        return cls((user + nice + system + irq + softirq) / TICK)


class Usage:
    """What each of some trees of processes used since it was made, and what all that is none of ours used beside them."""

    def __init__(self, measured: dict[str, int], beside: list[int]):
        self._measured, self._beside = measured, beside
        self._before = {name: cpu_seconds(root) for name, root in measured.items()}
        self._machine, self._began, self._mine = Machine.now(), time.monotonic(), self._own()

    def _own(self) -> float:
        return sum(os.times()[:4]) + sum(cpu_seconds(root) for root in self._beside)

    def end(self) -> tuple[dict[str, float], float]:
        """CPU seconds by name, and the cores that others took."""
        used = {name: cpu_seconds(root) - self._before[name] for name, root in self._measured.items()}
        busy = Machine.now().busy - self._machine.busy
        others = busy - (self._own() - self._mine) - sum(used.values())
        return used, round(max(0.0, others / (time.monotonic() - self._began)), 2)


class Flushes:
    """Counts what processes ask the disk to make durable, with strace, which slows them."""

    CALLS = re.compile(r"^\d+ +(?:fsync|fdatasync|sync_file_range|msync|syncfs)\(", re.MULTILINE)

    @staticmethod
    def possible() -> bool:
        return shutil.which("strace") is not None

    def __init__(self, processes: list[int], log: Path):
        self._log = log
        attach = [word for root in processes for process in tree(root) for word in ("-p", str(process))]
        self._strace = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,msync,syncfs", "-o", str(log),
                                         *attach], stderr=subprocess.DEVNULL)
        time.sleep(2)

    def count(self) -> int:
        self._strace.terminate()
        self._strace.wait(20)
        return len(self.CALLS.findall(self._log.read_text()))

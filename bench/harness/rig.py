"""The programs of `bench/rig` at work: the sink, the load, and the filler."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench/lost-answer/adapters"))
from processes import Child, call, free_port, wait_for


@dataclass
class Door:
    """Where requests go."""

    urls: list[str]
    headers: list[str] = field(default_factory=list)
    body: str = '{"key":"{key}","payload":"{payload}"}'


class Sink:
    """The destination that counts."""

    def __init__(self, rig: Path, folder: Path, delay_ms: int = 0):
        self.port = free_port()
        self._child = Child([str(rig / "sink"), "--port", str(self.port), "--delay-ms", str(delay_ms)], folder / "sink.log")
        wait_for(self.port)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reset(self) -> None:
        call("POST", f"{self.base}/reset")

    def seen(self) -> dict:
        return call("GET", f"{self.base}/stats")

    def arrived(self, count: int, patience: float = 600) -> dict:
        """What was counted, once so many keys came, or after the patience."""
        return until(self.seen, lambda seen: seen["distinct"] >= count, patience)

    def stop(self) -> None:
        self._child.stop()


def load(rig: Path, door: Door, prefix: str, *, connections: int, count: int, rate: float | None = None, payload: int = 256,
         spread: int = 1, tokens: Path | None = None, patience: float = 3600) -> dict:
    """What the load generator says of its run."""
    command = load_command(rig, door, prefix, connections=connections, count=count, rate=rate, payload=payload, spread=spread, tokens=tokens)
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=patience).stdout)


def load_command(rig: Path, door: Door, prefix: str, *, connections: int, count: int, rate: float | None = None, payload: int = 256,
                 spread: int = 1, tokens: Path | None = None) -> list[str]:
    command = [str(rig / "load"), "--connections", str(connections), "--count", str(count), "--prefix", prefix, "--body", door.body,
               "--payload", str(payload), "--spread", str(spread)]
    command += [word for url in door.urls for word in ("--url", url)]
    command += [word for header in door.headers for word in ("--header", header)]
    command += ["--rate", str(rate)] if rate else []
    return command + (["--tokens", str(tokens)] if tokens else [])


def until(ask, enough, patience: float = 600, pause: float = 0.02):
    """Asks until the answer is enough, or patience ends; the last answer."""
    end = time.monotonic() + patience
    while not enough(answer := ask()) and time.monotonic() < end:
        time.sleep(pause)
    return answer


def fill(rig: Path, data: Path, prefix: str, count: int, stands: str, *, destination: str = "sink", operation: str = "effect.perform",
         tenants: int = 1, marked_ago: int = 0) -> float:
    """Fills the store of a server that was stopped: seconds."""
    command = [str(rig / "fill"), "--data", str(data), "--prefix", prefix, "--count", str(count), "--stands", stands, "--destination", destination,
               "--operation", operation, "--tenants", str(tenants), "--marked-ago", str(marked_ago)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["seconds"]

"""One run of the load against one server, and what it cost."""

from pathlib import Path

from accounts import Usage, forget_peak, peak_resident_mb, resident_mb
from rig import Door, Sink, load
from server import Server


def closed(rig: Path, server: Server, sink: Sink, door: Door, name: str, count: int, *, connections: int = 64, payload: int = 256, spread: int = 1,
           tokens: Path | None = None) -> dict:
    """A closed loop: its rate, its latency, CPU per 1,000 and memory."""
    forget_peak(server.pid)
    usage = Usage({"factum": server.pid}, [sink.pid])
    found = load(rig, door, name, connections=connections, count=count, payload=payload, spread=spread, tokens=tokens)
    used, others = usage.end()
    accepted = max(found["accepted"], 1)
    return {
        "effects_per_s": round(accepted / found["seconds"], 1), "cpu_s_per_1000": round(used["factum"] / accepted * 1000, 3),
        "latency_ms": {name: value / 1000 for name, value in found["latency_us"].items()}, "accepted": found["accepted"],
        "refused": found["refused"], "lost": found["lost"], "first_refusal": found["first_refusal"],
        "peak_resident_mb": round(peak_resident_mb(server.pid), 1), "resident_mb": round(resident_mb(server.pid), 1), "other_cores": others,
    }

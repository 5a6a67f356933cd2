"""What a store holds: settled actions, unsettled ones, and what retention takes away again."""

import json
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from accounts import resident_mb
from measure import closed
from outcome import Verdicts, say
from rig import Sink, fill, load, until
from server import Server, destination


def filled(chosen, folder: Path, sink: Sink, count: int, stands: str, more: str = "") -> tuple[Server, dict]:
    """A stopped server on a store with so many actions, and how that store was made."""
    server = Server(chosen.factum, folder, destination("sink", sink.base) + destination("beside", sink.base), more=more)
    server.start()
    load(chosen.target, server.door("sync"), "first", connections=4, count=20)
    server.stop()
    empty = server.bytes_on_disk()
    seconds = fill(chosen.target, server.data, "filled", count, stands, marked_ago=300) if count else 0
    say(f"{count:,} {stands} in {seconds:.0f} s")
    return server, {"actions": count, "fill_s": round(seconds, 1), "bytes_per_action": round((server.bytes_on_disk() - empty) / count) if count else None}


def settled(chosen, folder: Path, sink: Sink, verdicts: Verdicts) -> list[dict]:
    """A server on stores that hold more and more of what is done, in interleaved rounds."""
    stores = [filled(chosen, folder / str(size), sink, size, "settled") for size in chosen.settled]
    for number in range(chosen.rounds):
        for server, about in stores:
            started = server.start()
            closed(chosen.target, server, sink, server.door("sync"), f"warm-{number}", max(20, chosen.count // 20))
            found = closed(chosen.target, server, sink, server.door("sync"), f"round-{number}", chosen.count)
            server.stop()
            about.setdefault("rounds", []).append({"start_s": round(started, 2), **found})
    empty = stores[0][1]
    for _, about in stores[1:]:
        about["ratio"] = ratio(about["rounds"], empty["rounds"])
        if not chosen.lenient:
            verdicts.at_least(f"rate with {about['actions']:,} settled, against {empty['actions']:,}", about["ratio"], 0.9)
    return [about for _, about in stores]


def ratio(rounds: list[dict], others: list[dict], member: str = "effects_per_s") -> float:
    """The median of the rounds' own ratios."""
    return round(median(one[member] / other[member] for one, other in zip(rounds, others, strict=True)), 3)


def unsettled(chosen, folder: Path, sink: Sink, verdicts: Verdicts) -> list[dict]:
    """A server starts on a store in which everything is due at one destination, is killed when a third is done, and starts again."""
    found = []
    for stands in ("pending", "unknown"):
        server, about = filled(chosen, folder / stands, sink, chosen.unsettled, stands, f"limits.unsettled_max = {chosen.unsettled * 2 + 1_000_000}")
        sink.reset()
        about |= {"stands": stands, "start_s": round(server.start(7_200), 2), "resident_mb": round(resident_mb(server.pid), 1)}
        began = time.monotonic()
        about["beside"] = closed(chosen.target, server, sink, server.door("sync", "beside"), "beside", 20, connections=1)["latency_ms"]
        sink.arrived(chosen.unsettled // 3, 36_000)
        server.kill()
        about |= {"start_after_kill_s": round(server.start(7_200), 2), "resident_after_kill_mb": round(resident_mb(server.pid), 1)}
        seen = sink.arrived(chosen.unsettled + 20, 36_000)
        left = until(server.unsettled, lambda open_actions: open_actions == 0, 600)
        took = time.monotonic() - began
        about |= {"settled_s": round(took, 1), "effects_per_s": round(chosen.unsettled / took, 1), "peak_resident_mb": round(resident_mb(server.pid), 1),
                  "repeated_after_kill": seen["posts"] - seen["distinct"]}
        server.stop()
        verdicts.equal(f"effects of {stands} actions that never came", max(0, chosen.unsettled + 20 - seen["distinct"]), 0)
        verdicts.equal(f"{stands} actions that are not settled in the end", left, 0)
        found.append(about)
    return found


def purge(chosen, folder: Path, sink: Sink, verdicts: Verdicts) -> dict:
    """Everything that a store holds goes, while callers go on."""
    server, about = filled(chosen, folder / "purge", sink, chosen.purged, "settled")
    server.start()
    closed(chosen.target, server, sink, server.door("sync"), "warm", max(20, chosen.count // 20))
    before = closed(chosen.target, server, sink, server.door("sync"), "before", chosen.count)
    server.stop()
    size = server.bytes_on_disk()
    server.more = '[retention]\naction = "1 s"'
    restarted = time.time()
    server.start()
    swept: dict = {}
    purging = threading.Thread(target=lambda: swept.update(purged(chosen, server)))
    purging.start()
    during = []
    while purging.is_alive():
        during.append(closed(chosen.target, server, sink, server.door("sync"), f"during-{len(during)}", chosen.count))
    purging.join()
    # Room is given back in short steps.
    smallest = until(server.bytes_on_disk, lambda now: now < size * 0.5, 120, 1)
    server.stop()
    rate = round(median(one["effects_per_s"] for one in during), 1)
    about |= {"before": before, "effects_per_s_meanwhile": rate, "p99_ms_meanwhile": max(one["latency_ms"]["p99"] for one in during), **swept,
              "bytes_before": size, "bytes_after": min(smallest, server.bytes_on_disk()), "ratio_meanwhile": round(rate / before["effects_per_s"], 3)}
    verdicts.equal("actions that are left, and were to go", rows(server, restarted), 0)
    verdicts.at_most("size of the file after the purge, against before", about["bytes_after"] / size, 0.7)
    return about


def rows(server: Server, made_before: float) -> int:
    """The actions in the file of a server that was stopped, of those that were made before an instant: ids begin with the time."""
    first = int(made_before * 1_000).to_bytes(6, "big") + bytes(10)
    with closing(sqlite3.connect(f"file:{server.data}/factum.db?mode=ro", uri=True)) as file:
        return file.execute("select count(*) from action where id < ?", (first,)).fetchone()[0]


def purged(chosen, server: Server) -> dict:
    """What `factum admin purge` took away, and how long it took beside the server's own sweep."""
    began = time.monotonic()
    command = [str(chosen.factum), "--json", "admin", "purge"]
    done = subprocess.run(command, cwd=server.folder, capture_output=True, text=True, check=True)
    return {"purge_s": round(time.monotonic() - began, 1), "purged_by_command": json.loads(done.stdout)["actions"]}

"""Whom a server serves: many tenants, many destinations of which some hang, large payloads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import closed
from outcome import Verdicts, say
from rig import Door, Sink, load
from server import Server, destination
from stores import ratio


def tenants(chosen, folder: Path, sink: Sink, verdicts: Verdicts) -> dict:
    """Callers of as many tenants as there are, each with a destination and a token of its own, against callers of one."""
    own = "".join(f'[tenants.t{number}.destinations.sink]\nprovider = "sink"\nbase = "{sink.base}"\naccount = "t{number}"\n' for number in range(chosen.tenants))
    server = Server(chosen.factum, folder / "tenants", destination("sink", sink.base) + own)
    started = server.start(3_600)
    with ThreadPoolExecutor(16) as pool:
        tokens = list(pool.map(lambda number: token(server, f"t{number}"), range(chosen.tenants)))
    file = folder / "tokens"
    file.write_text("\n".join(tokens) + "\n")
    one, many = [], []
    door = server.door("sync")
    theirs = Door(door.urls, [header for header in door.headers if not header.startswith("authorization")], door.body)
    for number in range(chosen.rounds):
        one.append(closed(chosen.target, server, sink, door, f"one-{number}", chosen.count))
        many.append(closed(chosen.target, server, sink, theirs, f"many-{number}", chosen.count, spread=chosen.tenants, tokens=file))
    restarted = (server.stop(), server.start(3_600))[1]
    server.stop()
    found = {"tenants": chosen.tenants, "start_s": round(started, 2), "start_with_all_s": round(restarted, 2), "one": one, "many": many,
             "ratio": ratio(many, one)}
    verdicts.equal("requests of tenants that were refused", sum(run["refused"] for run in many), 0)
    if not chosen.lenient:
        verdicts.at_least(f"rate of {chosen.tenants:,} tenants, against one", found["ratio"], 0.9)
    return found


def token(server: Server, tenant: str) -> str:
    """A token of a new tenant."""
    server.post("/v1/tenants", {"name": tenant})
    server.post(f"/v1/principals?tenant={tenant}", {"name": "bench"})
    made = server.post(f"/v1/tokens?tenant={tenant}", {"principal": "bench", "scopes": ["submit", "read"]})
    return made["token"]


def hanging(chosen, folder: Path, sink: Sink, verdicts: Verdicts) -> dict:
    """Callers of many destinations, before and while some others hang with all that they may hold."""
    good = chosen.destinations - chosen.hanging
    places = "".join(destination(f"d{number}", sink.base) for number in range(good))
    places += "".join(destination(f"h{number}", f"{sink.base}/hang") for number in range(chosen.hanging))
    before, during = [], []
    for number in range(chosen.rounds):
        server = Server(chosen.factum, folder / str(number), places)
        server.start()
        door = server.door("sync", "d{part}")
        closed(chosen.target, server, sink, door, "warm", max(20, chosen.count // 20), spread=good)
        before.append(closed(chosen.target, server, sink, door, "before", chosen.count, spread=good))
        stuck = load(chosen.target, server.door("send", "h{part}"), "stuck", connections=16, count=chosen.hanging * 40, spread=chosen.hanging)
        during.append({**closed(chosen.target, server, sink, door, "during", chosen.count, spread=good), "stuck": stuck["accepted"]})
        say(f"{before[-1]['effects_per_s']} /s, and {during[-1]['effects_per_s']} /s while {chosen.hanging} hang")
        server.stop()
    found = {"destinations": chosen.destinations, "hanging": chosen.hanging, "before": before, "during": during, "ratio": ratio(during, before)}
    verdicts.equal("effects at destinations that do not hang, and that did not come", sum(chosen.count - run["accepted"] for run in during), 0)
    if not chosen.lenient:
        verdicts.at_least("rate at the others while some hang, against before", found["ratio"], 0.95)
    return found


def payloads(chosen, folder: Path, sink: Sink, verdicts: Verdicts) -> list[dict]:
    """Larger and larger payloads: fewer of the large ones, so that each run takes about as long."""
    found = []
    for size in chosen.payloads:
        server = Server(chosen.factum, folder / str(size), destination("sink", sink.base), more=f"server.body_max_bytes = {2 * size + 1_048_576}")
        server.start()
        count = max(20, chosen.count // max(1, size // 4_096))
        closed(chosen.target, server, sink, server.door("sync"), "warm", max(10, count // 20), payload=size)
        # A log that is not copied into the file yet would count.
        server.stop()
        empty = server.bytes_on_disk()
        server.start()
        run = closed(chosen.target, server, sink, server.door("sync"), "payload", count, payload=size)
        server.stop()
        found.append({"payload": size, **run, "mb_per_s": round(run["effects_per_s"] * size / 1e6, 2),
                      "bytes_per_action": round((server.bytes_on_disk() - empty) / max(run["accepted"], 1))})
        verdicts.equal(f"requests with {size:,} bytes that were refused or lost", run["refused"] + run["lost"], 0)
    return found

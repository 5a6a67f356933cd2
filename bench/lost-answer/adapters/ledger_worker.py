"""effect-ledger with a recovery policy for what the destination lets one find out.

The package runs a handler at most once per claim and then waits for a decision. A policy may decide by the destination's
evidence; it is asked here every few seconds for what stands unresolved since longer than any call can last, and at start,
when no earlier worker lives. With a key, one more attempt with the same key is safe; with a complete search, what it shows
decides; nothing else does.
"""

import os
import threading
import time
from pathlib import Path

import door
from effect import TIMEOUT, create, found, perform
from effect_ledger import EffectExecutor, RecoveryDecision

asked_at: dict[tuple[str, int], float] = {}
#: What the policy had nothing to say about: it stands in `unresolved` for an operator.
for_a_person: set[str] = set()


def policy(operation):
    kind, id = operation.request["kind"], operation.operation_id
    decision = f"{id}-{operation.version}"
    if kind == "key":
        return RecoveryDecision("retry", decision, "the destination honours the key")
    if kind == "lookup":
        if found(id, kind):
            return RecoveryDecision("complete", decision, "the search shows it", result="found")
        return RecoveryDecision("retry", decision, "a complete search shows nothing")
    if kind == "lagging" and found(id, kind):
        return RecoveryDecision("complete", decision, "the search shows it", result="found")
    return None


executor = EffectExecutor(Path(os.environ["FOLDER"]) / "effects.sqlite", scope="bench", recovery=policy)


def handler(operation):
    perform(operation.operation_id, operation.request["kind"])
    return "created"


def execute(id: str, kind: str) -> None:
    executor.execute(id, f"create.{kind}:v1", {"kind": kind}, handler)


def submit(id: str, kind: str) -> None:
    threading.Thread(target=execute, args=(id, kind), daemon=True).start()
    # The claim is what makes the submission durable.
    while executor.get(id) is None:
        time.sleep(0.005)


def recover(id: str) -> None:
    before = executor.get(id)
    first = asked_at.setdefault((id, before.version), time.monotonic())
    if before.state == "in_flight" and before.created_at is not None and time.monotonic() - first < 2 * TIMEOUT:
        return
    try:
        after = executor.recover(id, workers_stopped=True)
    except Exception:
        return
    if after.state == before.state:
        for_a_person.add(id)
    if after.state == "ready":
        execute(id, after.request["kind"])


def recover_always() -> None:
    while True:
        for operation in executor.unresolved(limit=1000):
            threading.Thread(target=recover, args=(operation.operation_id,), daemon=True).start()
        time.sleep(2)


def status(id: str) -> str:
    operation = executor.get(id)
    if operation is None:
        return "unknown"
    if operation.state in ("in_flight", "indeterminate") and id in for_a_person:
        return "asked"
    return {"completed": "done", "in_flight": "pending", "ready": "pending", "indeterminate": "asked"}[operation.state]


threading.Thread(target=recover_always, daemon=True).start()
door.serve(int(os.environ["PORT"]), submit, status)

"""Remote work without I/O: claiming, beginning and reporting, as steps that a client drives.

The order is the point. A begin is durable before the first byte of the caller's own call; it is handed out once; and a report is a fact,
which is repeated until the engine has it.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from .errors import FactumError, Refused
from .exchanges import GRACE, LATER, Call, Patience, Reply, Sleep, Steps, ask, problem_of
from .status import Part, Status

#: The longest `why` that the engine takes.
_WHY_MAX = 2_000


class NotSent(FactumError):
    """Raised by a caller's own function where certainly nothing left this program: the action is tried again."""


@dataclass(frozen=True)
class Report:
    """What became of a call, or what a lookup found. Made by the functions of `work`."""

    outcome: str
    members: dict[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        return {"outcome": self.outcome, **{name: value for name, value in self.members.items() if value is not None}}


def because(outcome: str, why: object, **members: Any) -> Report:
    """A report with a reason, in the length that the engine takes."""
    text = str(why).strip() or type(why).__name__
    return Report(outcome, {"why": text[:_WHY_MAX], **members})


class Task(Part):
    """Something for a worker to do, held for it until its lease ends."""

    claim: str
    kind: Literal["send", "look_up"]
    action: str
    destination: str
    operation: str
    acts_for: str = Field(alias="for")
    summary: str | None = None
    subject: str | None = None
    params: dict[str, Any]
    payload: Any
    #: To be passed on so that the system recognises a repeat. A send's is final with its begin.
    key: str
    #: To be written into the system's record, so that a lookup finds it. It never changes.
    reference: str
    trace: str | None = None
    #: Begun so far.
    attempts: int
    #: What a lookup asks by; `None` for a send.
    by: Literal["reference", "key"] | None = None


class Begun(Part):
    """The permission to make one call."""

    attempt: int
    permission: str
    key: str
    reference: str
    valid_until: datetime
    valid_for_ms: int
    limit_ms: int
    leased_until: datetime
    #: When the begin was asked for, on this program's own monotonic clock.
    asked_at: float = 0.0

    @property
    def limit(self) -> float:
        """Seconds that the call may take: the timeout for the system's library."""
        return self.limit_ms / 1000

    @property
    def seconds_left(self) -> float:
        """Seconds within which the call's first byte has to leave."""
        return self.asked_at + self.valid_for_ms / 1000 - time.monotonic()

    @property
    def lease(self) -> float:
        """Seconds until it counts as lost, if no word comes."""
        return (self.leased_until - self.valid_until).total_seconds() + self.valid_for_ms / 1000


def claim(destinations: Iterable[str], operations: Iterable[str], *, kind: str | None, most: int, lease: float, wait: float,
          patience: float, action: str | None = None) -> Steps[list[Task]]:
    """Takes what waits, or of that one action alone. A claim whose answer is lost is free again when its lease ends."""
    wish = {"destinations": list(destinations), "operations": list(operations), "max": most, "lease_s": max(1, round(lease))}
    if kind is not None:
        wish["kind"] = kind
    if action is not None:
        wish["actions"] = [action]
    call = Call("POST", "/v1/work/claim", wish, query={"wait": f"{wait:g}"}, timeout=wait + GRACE)
    claimed = yield from ask(call, patience)
    return [Task.model_validate(item) for item in claimed["items"]]


def give_back(task: Task) -> Steps[None]:
    """Frees a claim under which nothing was begun. If that fails, its lease ends by itself."""
    yield Call("POST", f"/v1/work/{task.claim}/return", {})


def begin(task: Task, patience: float) -> Steps[Begun | None]:
    """Marks an attempt, durably. `None` where there is no permission; then nothing may be sent, and whatever there was to say is said."""
    again = Patience(patience)
    while True:
        # The time counts from before the begin is sent.
        asked_at = time.monotonic()
        reply = yield Call("POST", f"/v1/work/{task.claim}/begin", {})
        if isinstance(reply, Reply) and reply.status == 200:
            return Begun.model_validate_json(reply.content).model_copy(update={"asked_at": asked_at})
        if isinstance(reply, Reply) and reply.status < 500 and reply.status not in LATER:
            if problem_of(reply).code == "F1102":
                # The permission went astray with an answer. This program makes a call only after a begin that it saw succeed.
                yield from report(task, because("not_sent", "the answer to the begin was lost"), patience)
            return None
        pause = again.pause(reply if isinstance(reply, Reply) else None)
        if pause is None:
            yield from _withdraw(task, patience)
            return None
        yield Sleep(pause)


def _withdraw(task: Task, patience: float) -> Steps[None]:
    """Says that nothing was sent, where nobody knows whether the begin was recorded."""
    try:
        yield from report(task, because("not_sent", "the begin was not answered"), patience)
    except Refused:
        # Nothing was begun.
        return


def report(task: Task, said: Report, patience: float) -> Steps[Status | None]:
    """Says what became of it, until the engine has it or the patience ends (`None`). Raises `Refused` where the report is not taken."""
    again = Patience(patience)
    while True:
        reply = yield Call("POST", f"/v1/work/{task.claim}/report", said.body())
        if isinstance(reply, Reply) and reply.status == 200:
            return Status.model_validate(reply.json()["action"])
        if isinstance(reply, Reply) and reply.status < 500 and reply.status not in LATER:
            raise Refused(problem_of(reply))
        pause = again.pause(reply if isinstance(reply, Reply) else None)
        if pause is None:
            return None
        yield Sleep(pause)

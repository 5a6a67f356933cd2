"""Effects that the caller makes in its own code: the intent is durable first, and what is not said counts as unknown.

    with attempt(factum, "post", "letter.send", {"to": "ana"}, key="order/77/letter") as letter:
        if letter.begin():
            letter.report(done(printer.print_letter("ana")))
    match letter.outcome: ...

The operation is one of a destination with the provider `work`. A program that is killed inside the block and calls again with the same key
is not told to print a second letter: it joins, and learns what the engine can prove.
"""

import time
from types import TracebackType
from typing import Any

from typing_extensions import Self

from . import exchanges, work_steps
from .client import Factum
from .exchanges import WAIT
from .outcome import Done, NotDone, Outcome, PossibleDuplicate, Unknown, outcome_of
from .work import Finder, Heart, not_sent, raised, unknown
from .work_steps import Begun, NotSent, Report, Task

_LEASE = 60.0


class Attempt:
    """One such effect, between the two ends of its block."""

    def __init__(self, factum: Factum, body: dict[str, Any], wait: float, look: Finder | None):
        self._factum, self._body, self._wait, self._look = factum, body, wait, look
        self._task: Task | None = None
        self._heart: Heart | None = None
        #: The permission, once `begin` has given it: `limit` seconds for the call, and the `key` and `reference` to pass on.
        self.begun: Begun | None = None
        self._is_told = False

    def __enter__(self) -> Self:
        self.outcome: Outcome = self._factum.drive(exchanges.perform(self._body, 0, self._factum.patience))
        end = time.monotonic() + self._wait
        while self._is_open() and self._task is None:
            self._take(min(1.0, max(0.0, end - time.monotonic())))
            if self._task is None and time.monotonic() >= end:
                break
        return self

    def _is_open(self) -> bool:
        """Whether a worker may be asked to do something about it."""
        status = self.outcome.status
        if isinstance(self.outcome, (Done, NotDone, PossibleDuplicate)) or status is None:
            return False
        return status.next.do in ("send", "look_up", "wait")

    def _take(self, wait: float) -> None:
        """Claims this action."""
        steps = work_steps.claim([self._body["destination"]], [self._body["operation"]], kind=None, most=1, lease=_LEASE, wait=wait,
                                 patience=self._factum.patience, action=self.outcome.id)
        for task in self._factum.drive(steps):
            if task.kind == "send":
                self._task = task
            elif self._look is None:
                self._factum.drive(work_steps.give_back(task))
            else:
                self._say(task, self._look(task))
        if self._task is None and self.outcome.id is not None:
            self.outcome = self._factum.wait(self.outcome.id, 0)

    def begin(self) -> bool:
        """Marks the attempt, durably. Only where this is true may the call be made, once, and its first byte within the permission."""
        if self._task is None or self.begun is not None:
            return False
        begun = self._factum.drive(work_steps.begin(self._task, self._factum.patience))
        if begun is None:
            self._task = None
            return False
        self.begun = begun
        if begun.seconds_left <= 0:
            self.report(not_sent("the permission ran out before the call"))
            return False
        self._heart = Heart(self._factum, self._task, begun.lease).__enter__()
        return True

    def report(self, said: Report) -> Outcome:
        """What became of the call: `done(receipt)`, `rejected(why)`, `not_sent(why)` and so on, of `work`."""
        if self._task is None or self.begun is None:
            raise RuntimeError("nothing was begun: make the call and report it only after `begin()` was true")
        self._say(self._task, said)
        self._is_told = True
        return self.outcome

    def _say(self, task: Task, said: Report) -> None:
        status = self._factum.drive(work_steps.report(task, said, self._factum.patience))
        # An engine that does not answer finds by itself that no word came: the lease ends, and the outcome is unknown.
        self.outcome = outcome_of(status) if status is not None else Unknown(key=self.outcome.key)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._heart is not None:
            self._heart.__exit__()
        if self._task is None:
            return
        if self.begun is None:
            self._factum.drive(work_steps.give_back(self._task))
        elif not self._is_told:
            self._say(self._task, _unsaid(error))


def _unsaid(error: BaseException | None) -> Report:
    """What is reported for a block that ended without a word."""
    if error is None:
        return unknown("the block ended without a report")
    return not_sent(error) if isinstance(error, NotSent) else raised("unknown", error)


def attempt(factum: Factum, destination: str, operation: str, payload: Any, *, key: str, wait: float = WAIT, look: Finder | None = None,
            **members: Any) -> Attempt:
    """An effect of the caller's own making, as a block.

    `begin()` is false where nothing may be sent: it was done before, is being done, was withdrawn, or a person has to say what became of an
    earlier try. `outcome` says which. A block that ends after `begin()` without a report, or that raises, leaves it unknown; one that raises
    `NotSent` says that certainly nothing left. `look` finds out whether an earlier try exists, where the operation says that this can be done.
    `wait` is how long to wait until the action is free, in seconds. Give such operations to no other worker.
    """
    body = exchanges.submission(destination, operation, payload, key=key, event=None, effect=None, another=False, members=members)
    return Attempt(factum, body, wait, look)

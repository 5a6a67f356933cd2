"""A worker: it makes a system's calls in its own code, and the engine keeps what is known about each of them.

    worker = Worker(Factum(), "crm")

    @worker.sends("contact.create")
    def create(task: Task, begun: Begun) -> Report:
        answer = crm.create(task.payload, reference=begun.reference, timeout=begun.limit)
        return done(answer.id)

    @worker.looks_up("contact.create")
    def find(task: Task) -> Report:
        found = crm.search(reference=task.reference)
        return found_as(*found) if found else absent()

    worker.run()

One begin is one call: turn off retries, redirects and queues in the system's library.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import Self

from . import exchanges, work_steps
from .client import Factum
from .errors import FactumError, Refused
from .exchanges import Call
from .work_steps import Begun, NotSent, Report, Task, because

__all__ = ["Begun", "NotSent", "Report", "Task", "Worker", "absent", "accepted", "answered", "busy", "declined", "done", "found_as",
           "inconclusive", "not_sent", "queued_as", "rejected", "unknown"]

_log = logging.getLogger(__name__)
#: The longest that a worker holds back after preparations that failed, in seconds.
PAUSE_MAX = 30.0


def done(receipt: object, *aliases: str) -> Report:
    """The effect exists. `receipt` is the system's own reference for it."""
    return Report("done", {"receipt": str(receipt), "aliases": list(aliases) or None})


def accepted(reference: str | None = None) -> Report:
    """Queued there; a later `done` completes it."""
    return Report("accepted", {"object": reference})


def rejected(why: object) -> Report:
    """Refused before doing anything, for good. Only where that is certain."""
    return because("rejected", why)


def declined(why: object) -> Report:
    """Refused, and recorded there, as a declined card is."""
    return because("declined", why)


def busy(after: float | None = None) -> Report:
    """Refused for now, before doing anything; to be tried again after so many seconds."""
    return Report("busy", {"retry_after_s": None if after is None else max(0, round(after))})


def not_sent(why: object) -> Report:
    """Certainly nothing left this program."""
    return because("not_sent", why)


def unknown(why: object) -> Report:
    """It may or may not have happened. When in doubt, this is right."""
    return because("unknown", why)


def answered(status: int, body: str | None = None, headers: dict[str, str] | None = None) -> Report:
    """The system's answer as it came; the operation's contract reads it."""
    answer = {"status": status, "body": body, "headers": headers}
    return Report("answered", {"answer": {name: value for name, value in answer.items() if value is not None}})


def found_as(*receipts: object) -> Report:
    """A lookup found it. Several are a suspected duplicate."""
    return Report("found", {"receipts": [str(receipt) for receipt in receipts]})


def queued_as(reference: str) -> Report:
    """A lookup found it, still queued."""
    return Report("queued", {"object": reference})


def absent() -> Report:
    """A lookup was complete, and found nothing of ours."""
    return Report("absent")


def inconclusive(why: object) -> Report:
    """A lookup failed, or says nothing."""
    return because("inconclusive", why)


Sender = Callable[[Task, Begun], Report]
Finder = Callable[[Task], Report]
Preparation = Callable[[Task], object]


class Heart:
    """Says from a thread of its own that the work goes on, for as long as its block lasts."""

    def __init__(self, factum: Factum, task: Task, lease: float):
        self._factum, self._task, self._every = factum, task, max(lease / 3, 0.2)
        self._over = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._beat, name=f"factum-{self._task.action}", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(self._every):
            try:
                self._factum.drive(exchanges.ask(Call("POST", f"/v1/work/{self._task.claim}/heartbeat", {}), patience=0))
            except Refused:
                return
            except FactumError:
                continue


class Worker:
    """Claims what waits at some destinations, and has it done by functions. One thing at a time: run more of them for more."""

    def __init__(self, factum: Factum, *destinations: str, lease: float = 60.0):
        """`lease` is how long a claim is held without word, in seconds; heartbeats extend it."""
        self._factum, self._destinations, self._lease = factum, destinations, lease
        self._senders: dict[str, tuple[Sender, Preparation | None]] = {}
        self._finders: dict[str, Finder] = {}
        self._stopped = threading.Event()
        self._failed = 0

    def sends(self, *operations: str, prepare: Preparation | None = None) -> Callable[[Sender], Sender]:
        """The function that makes an operation's call, after its begin.

        What it raises is reported as `unknown`, but for `NotSent`. `prepare` runs before the begin (a login, a download): if it raises,
        nothing was begun, and the task is given back.
        """
        def kept(function: Sender) -> Sender:
            self._senders |= {operation: (function, prepare) for operation in operations}
            return function
        return kept

    def looks_up(self, *operations: str) -> Callable[[Finder], Finder]:
        """The function that finds out whether an effect exists. What it raises is reported as `inconclusive`."""
        def kept(function: Finder) -> Finder:
            self._finders |= dict.fromkeys(operations, function)
            return function
        return kept

    def stop(self) -> None:
        """Ends `run` once what is being done is done. May be called from a signal handler."""
        self._stopped.set()

    def run(self, idle: float | None = None) -> None:
        """Works until it is stopped, or until there was nothing to do for `idle` seconds."""
        last = time.monotonic()
        while not self._stopped.is_set() and (idle is None or time.monotonic() - last < idle):
            if self.once(wait=20 if idle is None else min(idle, 20)):
                last = time.monotonic()

    def once(self, wait: float = 0) -> bool:
        """Does the next thing that waits, and says whether there was one."""
        for operations, kind, share in wishes(self._senders, self._finders, wait):
            tasks = self._factum.drive(work_steps.claim(self._destinations, operations, kind=kind, most=1, lease=self._lease, wait=share,
                                                        patience=self._factum.patience))
            for task in tasks:
                self._do(task)
                return True
        return False

    def _do(self, task: Task) -> None:
        if task.kind == "look_up":
            with Heart(self._factum, task, self._lease):
                said = _told(lambda: self._finders[task.operation](task), "inconclusive")
            self._report(task, said)
            return
        sender, prepare = self._senders[task.operation]
        if prepare is not None and not self._prepared(task, prepare):
            return
        begun = self._factum.drive(work_steps.begin(task, self._factum.patience))
        if begun is None:
            return
        if begun.seconds_left <= 0:
            self._report(task, not_sent("the permission ran out before the call"))
            return
        with Heart(self._factum, task, begun.lease):
            said = _told(lambda: sender(task, begun), "unknown")
        self._report(task, said)

    def _prepared(self, task: Task, prepare: Preparation) -> bool:
        try:
            with Heart(self._factum, task, self._lease):
                prepare(task)
        except Exception:  # noqa: BLE001 (it is logged, and nothing follows from it)
            _log.exception("preparing %s %s failed; nothing was begun", task.operation, task.action)
            self._factum.drive(work_steps.give_back(task))
            # It is free at once, for others too: this worker holds back for a while.
            self._failed += 1
            self._stopped.wait(min(2.0 ** self._failed / 2, PAUSE_MAX))
            return False
        self._failed = 0
        return True

    def _report(self, task: Task, said: Report) -> None:
        """A report is a fact: it is repeated until the engine has it."""
        try:
            self._factum.drive(work_steps.report(task, said, patience=float("inf")))
        except Refused as refused:
            _log.error("the report %s of %s was refused: %s", said.outcome, task.action, refused)
            if said.outcome != "unknown" and task.kind == "send":
                self._report(task, unknown(f"the worker's report was refused: {refused}"))


def wishes(senders: Iterable[str], finders: Iterable[str], wait: float) -> list[tuple[list[str], str | None, float]]:
    """What is claimed: in one request where both kinds are known of every operation, else in one for each kind."""
    senders, finders = sorted(senders), sorted(finders)
    if senders == finders:
        return [(senders, None, wait)]
    kinds = [(names, kind) for names, kind in ((senders, "send"), (finders, "look_up")) if names]
    share = wait if len(kinds) == 1 else min(wait, 1.0)
    return [(names, kind, share) for names, kind in kinds]


def _told(function: Callable[[], Any], otherwise: str) -> Report:
    """What a function says, or raises."""
    try:
        return heard(function(), otherwise)
    except Exception as error:  # noqa: BLE001 (it is logged and reported)
        return heard(error, otherwise)


def heard(said: object, otherwise: str) -> Report:
    """The report about what a function gave or raised. What it raised speaks for nothing, unless it is `NotSent`."""
    if isinstance(said, NotSent):
        return because("not_sent" if otherwise == "unknown" else otherwise, said)
    if isinstance(said, Exception):
        _log.error("a worker's function raised; reported as %s", otherwise, exc_info=said)
        return raised(otherwise, said)
    if isinstance(said, Report):
        return said
    return because(otherwise, f"the worker's function gave {type(said).__name__}, and no report")


def raised(outcome: str, error: BaseException) -> Report:
    """A report about an exception."""
    return because(outcome, f"{type(error).__name__}: {error}")



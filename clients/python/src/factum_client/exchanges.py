"""The conversation with the engine, without I/O: generators that yield what is to be done, and are sent what came of it.

`client` and `aio` drive them. That way the two cannot differ in when they repeat a request.
"""

import json
import random
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from .errors import Refused, Unreachable
from .outcome import Done, NotDone, Outcome, PossibleDuplicate, Unknown, outcome_of
from .status import Problem, Status

#: Seconds that a request may take beyond what the engine was asked to wait.
GRACE = 10.0
#: How long the engine is asked for before an answer is given anyway.
WAIT = 4.0


@dataclass(frozen=True)
class Call:
    """One HTTP request."""

    method: str
    path: str
    body: Any = None
    query: dict[str, str] | None = None
    headers: dict[str, str] | None = None
    timeout: float = GRACE


@dataclass(frozen=True)
class Sleep:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    content: bytes
    headers: dict[str, str]

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Broken:
    """No whole answer. `sent` is false only where no byte of the request can have arrived."""

    sent: bool
    why: str


T = TypeVar("T")
Step: TypeAlias = Call | Sleep
Steps: TypeAlias = Generator[Step, Reply | Broken | None, T]

#: Statuses with which the engine says that it recorded nothing, and that the same request may come again.
LATER = {429, 503}


class Patience:
    """How long the same request is made again: soon, then less often, until the patience ends."""

    def __init__(self, seconds: float):
        self._left, self._attempt = seconds, 0

    def pause(self, reply: Reply | Broken | None = None) -> float | None:
        """Seconds until the next try, as the engine asks for where it does; `None` where the patience has ended."""
        self._attempt += 1
        asked = _retry_after(reply) if isinstance(reply, Reply) else None
        pause = asked if asked is not None else min(2.0 ** min(self._attempt, 8) / 10, 2.0) * random.uniform(0.5, 1.0)
        self._left -= pause
        return pause if self._left >= 0 else None


def submission(destination: str, operation: str, payload: Any, *, key: str | None, event: tuple[str, str] | None, effect: str | None,
               another: bool, members: dict[str, Any]) -> dict[str, Any]:
    """The body of `POST /v1/actions`. Members that are `None` are left out."""
    if (key is None) == (event is None):
        raise ValueError("name the intent: either `key`, built from what causes it, or `event` with `effect`")
    body: dict[str, Any] = {"destination": destination, "operation": operation, "payload": payload}
    if key is not None:
        body["key"] = key
    if event is not None:
        body["event"], body["effect"] = {"source": event[0], "id": event[1]}, effect
    if another:
        body["another"] = True
    body |= {("for" if name == "acts_for" else name): value for name, value in members.items() if value is not None}
    return body


def perform(body: dict[str, Any], wait: float, patience: float) -> Steps[Outcome]:
    """Submits, and waits for the outcome as long as it is told to.

    A request whose answer is lost is made again with the same key, which joins, until the patience ends. What then is not known is
    returned as `Unknown`; it is never raised.
    """
    name = body.get("key") or f'{body["event"]["source"]}/{body["event"]["id"]}/{body["effect"]}'
    again, maybe_sent = Patience(patience), False
    while True:
        prefer = {"prefer": f"wait={wait:g}"} if wait > 0 else None
        reply = yield Call("POST", "/v1/actions", body, headers=prefer, timeout=wait + GRACE)
        if isinstance(reply, Reply) and reply.status not in LATER and reply.status < 500:
            return _submitted(reply, name)
        if isinstance(reply, Reply):
            why = _said(reply)
            maybe_sent = maybe_sent or reply.status not in LATER
        else:
            assert isinstance(reply, Broken)
            why, maybe_sent = reply.why, maybe_sent or reply.sent
        pause = again.pause(reply)
        if pause is None:
            if maybe_sent:
                return Unknown(key=name)
            return NotDone(key=name, because=f"the engine takes nothing on at the moment ({why})", try_again=True)
        yield Sleep(pause)


def _submitted(reply: Reply, name: str) -> Outcome:
    if reply.status in (200, 201, 202):
        return outcome_of(Status.model_validate_json(reply.content))
    problem = problem_of(reply)
    if problem.type.endswith(":possible-duplicate"):
        return PossibleDuplicate(key=name, earlier=problem.action)
    raise Refused(problem)


def ask(call: Call, patience: float) -> Steps[Any]:
    """A request that may come twice without harm, repeated while the engine does not answer."""
    again = Patience(patience)
    while True:
        reply = yield call
        if isinstance(reply, Reply) and reply.status not in LATER:
            return _answer(reply)
        pause = again.pause(reply)
        if pause is None:
            why = _said(reply) if isinstance(reply, Reply) else reply.why if isinstance(reply, Broken) else ""
            raise Unreachable(f"{call.method} {call.path}: {why}")
        yield Sleep(pause)


def wait_for(action: str, wait: float, patience: float) -> Steps[Outcome]:
    """Long polls until the action is settled, a person is needed, or the time is over."""
    slice_ = 25.0
    left = wait
    while True:
        now = min(left, slice_)
        query = {"wait": f"{now:g}"} if now > 0 else None
        status = Status.model_validate((yield from ask(Call("GET", f"/v1/actions/{action}", query=query, timeout=now + GRACE), patience)))
        left -= now
        outcome = outcome_of(status)
        if isinstance(outcome, (Done, NotDone)) or status.settled or status.next.do == "review" or left <= 0:
            return outcome


def _answer(reply: Reply) -> Any:
    if reply.status < 400:
        return reply.json() if reply.content else None
    raise Refused(problem_of(reply))


def problem_of(reply: Reply) -> Problem:
    """Why the engine did not carry a request out."""
    try:
        return Problem.model_validate_json(reply.content)
    except ValueError:
        text = reply.content[:200].decode(errors="replace")
        return Problem(title="not an answer of Factum's", status=reply.status, rule=f"status {reply.status}: {text}",
                       remedy="check the address in FACTUM_URL")


def _said(reply: Reply) -> str:
    problem = problem_of(reply)
    return f"{problem.title}: {problem.rule}"


def _retry_after(reply: Reply) -> float | None:
    try:
        return float(reply.headers.get("retry-after", ""))
    except ValueError:
        return None

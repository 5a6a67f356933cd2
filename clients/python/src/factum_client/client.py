"""The client for threads. `aio` has the same for tasks."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, cast

import httpx
from typing_extensions import Self

from . import exchanges
from .exchanges import WAIT, Broken, Call, Reply, Sleep, Steps, T
from .outcome import Outcome
from .requests import Requests, base_url, headers_for
from .status import Decided, Event, EventPage, Status

#: Errors before which no byte of a request can have arrived.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.LocalProtocolError)


def broken(error: httpx.HTTPError) -> Broken:
    return Broken(sent=not isinstance(error, _NOT_SENT), why=f"{type(error).__name__}: {error}")


def request_of(call: Call) -> dict[str, Any]:
    """The arguments for httpx."""
    return {"method": call.method, "url": call.path, "json": call.body, "params": call.query, "headers": call.headers,
            "timeout": httpx.Timeout(call.timeout, connect=5.0)}


def reply_of(response: httpx.Response) -> Reply:
    return Reply(response.status_code, response.content, dict(response.headers))


class Factum(Requests):
    """A connection to an engine: `FACTUM_URL` and `FACTUM_TOKEN` where nothing else is said. Safe to share between threads."""

    def __init__(self, url: str | None = None, token: str | None = None, *, patience: float = 20.0, locale: str | None = None,
                 transport: httpx.BaseTransport | None = None):
        self.patience = patience
        # No retries and no redirects below: when a request is repeated is decided in `exchanges`.
        self._http = httpx.Client(base_url=base_url(url), headers=headers_for(token, locale), follow_redirects=False, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def perform(self, destination: str, operation: str, payload: Any, *, key: str | None = None, event: tuple[str, str] | None = None,
                effect: str | None = None, wait: float = WAIT, another: bool = False, **members: Any) -> Outcome:
        """Has something done, once, and comes back after `wait` seconds at most with what is known then.

        `key` names the intent: the same for every repeat, another for a second effect. `members` are the other members of a submission:
        `params`, `summary`, `acts_for`, `conversation`, `deadline`, `not_before`, `intent_at`, `subject`, `locale`, `trace`.

        Raises `Refused` where the request itself is wrong. Pending and unknown outcomes are returned, and so is an engine that does not answer.
        """
        body = exchanges.submission(destination, operation, payload, key=key, event=event, effect=effect, another=another, members=members)
        return self.drive(exchanges.perform(body, wait, self.patience))

    def wait(self, action: str, wait: float = WAIT) -> Outcome:
        """How an action stands, once it is settled or needs a person, or after so many seconds."""
        return self.drive(exchanges.wait_for(action, wait, self.patience))

    def status(self, action: str) -> Status:
        """How an action stands."""
        return Status.model_validate(self.ask(self.of_action(action)))

    def propose(self, destination: str, operation: str, payload: Any, *, key: str | None = None, event: tuple[str, str] | None = None,
                effect: str | None = None, **members: Any) -> Decided:
        """Records content for people to decide on; nothing of it is sent before they approve. The same key and content join.

        `members` are those of `perform`, with `expires_at`, and `supersedes` to put this in another proposal's place. `action` is there at once
        where the operation's policy approves by itself.
        """
        body = exchanges.submission(destination, operation, payload, key=key, event=event, effect=effect, another=False, members=members)
        return Decided.model_validate(self.ask(Call("POST", "/v1/proposals", body)))

    def approve(self, proposal: str, digest: str, reason: str | None = None) -> Decided:
        """Approves what was looked at, by its digest; `action` is what is done then. Content that was edited meanwhile is refused."""
        return Decided.model_validate(self.ask(self.approval(proposal, digest, reason)))

    def decline(self, proposal: str, reason: str) -> Decided:
        """Declines a proposal, or withdraws one's own."""
        return Decided.model_validate(self.ask(self.refusal(proposal, reason)))

    def events(self, after: str = "start", *, types: Iterable[str] = (), destination: str | None = None, conversation: str | None = None,
               wait: float = 25.0, follow: bool = True) -> Iterator[Event]:
        """What has changed behind a cursor, in order, and then what changes; without `follow` until there is nothing more.

        Keep the `cursor` of the last event that was dealt with, and go on `after` it. An event may come twice, with the same `id`. Raises
        `Unreachable` once the patience is over, and `Refused` (F1120) where the cursor is older than what is kept.
        """
        types = list(types)
        while True:
            call = self.events_page(after, types=types, destination=destination, conversation=conversation, wait=wait if follow else 0)
            page = EventPage.model_validate(self.ask(call))
            yield from page.events
            after = page.next
            if not (follow or page.more):
                return

    def ask(self, call: Call) -> Any:
        """Makes a request of `Requests`, and gives the JSON of its answer. Raises `Refused` and `Unreachable`."""
        return self.drive(exchanges.ask(call, self.patience))

    def drive(self, steps: Steps[T]) -> T:
        """Carries out the steps of an exchange."""
        reply: Reply | Broken | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            if isinstance(step, Sleep):
                time.sleep(step.seconds)
                reply = None
            else:
                try:
                    reply = reply_of(self._http.request(**request_of(step)))
                except httpx.HTTPError as error:
                    reply = broken(error)

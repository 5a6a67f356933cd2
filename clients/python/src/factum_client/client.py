"""The client for threads. `aio` has the same for tasks."""

import time
from typing import Any, cast

import httpx
from typing_extensions import Self

from . import exchanges
from .exchanges import WAIT, Broken, Call, Reply, Sleep, Steps, T
from .outcome import Outcome
from .requests import Requests, base_url, headers_for
from .status import Status

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
        return self._drive(exchanges.perform(body, wait, self.patience))

    def wait(self, action: str, wait: float = WAIT) -> Outcome:
        """How an action stands, once it is settled or needs a person, or after so many seconds."""
        return self._drive(exchanges.wait_for(action, wait, self.patience))

    def status(self, action: str) -> Status:
        """How an action stands."""
        return Status.model_validate(self.ask(self.of_action(action)))

    def ask(self, call: Call) -> Any:
        """Makes a request of `Requests`, and gives the JSON of its answer. Raises `Refused` and `Unreachable`."""
        return self._drive(exchanges.ask(call, self.patience))

    def _drive(self, steps: Steps[T]) -> T:
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

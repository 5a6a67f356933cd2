"""The client for tasks of asyncio; `client` has the same for threads."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, cast

import httpx
from typing_extensions import Self

from . import exchanges
from .client import broken, reply_of, request_of
from .exchanges import WAIT, Broken, Call, Reply, Sleep, Steps, T
from .outcome import Outcome
from .requests import Requests, base_url, headers_for
from .status import Decided, Event, EventPage, Status


class AsyncFactum(Requests):
    """As `Factum`, with `await`. A cancelled task ends the waiting, and never the action."""

    def __init__(self, url: str | None = None, token: str | None = None, *, patience: float = 20.0, locale: str | None = None,
                 transport: httpx.AsyncBaseTransport | None = None):
        self.patience = patience
        self._http = httpx.AsyncClient(base_url=base_url(url), headers=headers_for(token, locale), follow_redirects=False,
                                       transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def perform(self, destination: str, operation: str, payload: Any, *, key: str | None = None, event: tuple[str, str] | None = None,
                      effect: str | None = None, wait: float = WAIT, another: bool = False, **members: Any) -> Outcome:
        """As `Factum.perform`."""
        body = exchanges.submission(destination, operation, payload, key=key, event=event, effect=effect, another=another, members=members)
        return await self.drive(exchanges.perform(body, wait, self.patience))

    async def wait(self, action: str, wait: float = WAIT) -> Outcome:
        """As `Factum.wait`."""
        return await self.drive(exchanges.wait_for(action, wait, self.patience))

    async def status(self, action: str) -> Status:
        """As `Factum.status`."""
        return Status.model_validate(await self.ask(self.of_action(action)))

    async def propose(self, destination: str, operation: str, payload: Any, *, key: str | None = None, event: tuple[str, str] | None = None,
                effect: str | None = None, **members: Any) -> Decided:
        """As `Factum.propose`."""
        body = exchanges.submission(destination, operation, payload, key=key, event=event, effect=effect, another=False, members=members)
        return Decided.model_validate(await self.ask(Call("POST", "/v1/proposals", body)))

    async def approve(self, proposal: str, digest: str, reason: str | None = None) -> Decided:
        """As `Factum.approve`."""
        return Decided.model_validate(await self.ask(self.approval(proposal, digest, reason)))

    async def decline(self, proposal: str, reason: str) -> Decided:
        """As `Factum.decline`."""
        return Decided.model_validate(await self.ask(self.refusal(proposal, reason)))

    async def events(self, after: str = "start", *, types: Iterable[str] = (), destination: str | None = None, conversation: str | None = None,
               wait: float = 25.0, follow: bool = True) -> AsyncIterator[Event]:
        """As `Factum.events`."""
        types = list(types)
        while True:
            call = self.events_page(after, types=types, destination=destination, conversation=conversation, wait=wait if follow else 0)
            page = EventPage.model_validate(await self.ask(call))
            for event in page.events:
                yield event
            after = page.next
            if not (follow or page.more):
                return

    async def ask(self, call: Call) -> Any:
        """As `Factum.ask`."""
        return await self.drive(exchanges.ask(call, self.patience))

    async def drive(self, steps: Steps[T]) -> T:
        """Carries out the steps of an exchange."""
        reply: Reply | Broken | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return cast("T", end.value)
            if isinstance(step, Sleep):
                await asyncio.sleep(step.seconds)
                reply = None
            else:
                try:
                    reply = reply_of(await self._http.request(**request_of(step)))
                except httpx.HTTPError as error:
                    reply = broken(error)

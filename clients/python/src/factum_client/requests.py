"""The requests of the API beside submitting, as values; both clients make them with `ask`."""

import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from .exchanges import GRACE, Call

DEFAULT_URL = "http://127.0.0.1:7420"


def base_url(url: str | None) -> str:
    return (url or os.environ.get("FACTUM_URL") or DEFAULT_URL).rstrip("/")


def headers_for(token: str | None, locale: str | None) -> dict[str, str]:
    token = token or os.environ.get("FACTUM_TOKEN")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return headers | ({"accept-language": locale} if locale else {})


def _given(members: Mapping[str, str | None]) -> dict[str, str]:
    """The members that are there."""
    return {name: value for name, value in members.items() if value is not None}


class Requests:
    """Builds requests; makes none."""

    @staticmethod
    def of_action(action: str) -> Call:
        """One action's status."""
        return Call("GET", f"/v1/actions/{quote(action, safe='')}")

    @staticmethod
    def of_key(key: str) -> Call:
        """The actions that a key names."""
        return Call("GET", "/v1/actions", query={"key": key})

    @staticmethod
    def recent(conversation: str | None = None, state: str | None = None, limit: int = 20) -> Call:
        """The newest actions, of one conversation or state."""
        return Call("GET", "/v1/actions", query=_given({"conversation": conversation, "state": state, "limit": str(limit)}))

    @staticmethod
    def evidence(action: str) -> Call:
        """All that is known about an action, in the order in which it was recorded."""
        return Call("GET", f"/v1/actions/{quote(action, safe='')}/evidence")

    @staticmethod
    def events_page(after: str = "start", *, types: Iterable[str] = (), destination: str | None = None, conversation: str | None = None,
                    wait: float = 0, limit: int = 100) -> Call:
        """A page of what has changed behind a cursor, `start` or `now`; an empty one after `wait` seconds (60 at the most)."""
        query = {"from": after, "types": ",".join(types) or None, "destination": destination, "conversation": conversation,
                 "wait": f"{wait:g}", "limit": str(limit)}
        return Call("GET", "/v1/events", query=_given(query), timeout=wait + GRACE)

    @staticmethod
    def of_proposal(proposal: str) -> Call:
        """One proposal, with exactly what would be sent (`request`)."""
        return Call("GET", f"/v1/proposals/{quote(proposal, safe='')}")

    @staticmethod
    def proposals(state: str | None = None, destination: str | None = None, conversation: str | None = None) -> Call:
        """Proposals, oldest first."""
        return Call("GET", "/v1/proposals", query=_given({"state": state, "destination": destination, "conversation": conversation}))

    @staticmethod
    def approval(proposal: str, digest: str, reason: str | None = None, until: str | None = None) -> Call:
        """Approves what the digest names. A repeat is answered with the same action."""
        return Call("POST", f"/v1/proposals/{quote(proposal, safe='')}/approve", _given({"digest": digest, "reason": reason, "until": until}))

    @staticmethod
    def refusal(proposal: str, reason: str) -> Call:
        """Declines a proposal, or withdraws one's own. A repeat changes nothing."""
        return Call("POST", f"/v1/proposals/{quote(proposal, safe='')}/decline", {"reason": reason})

    @staticmethod
    def cancel(action: str, why: str) -> Call:
        """No more sends. What may have happened stays unknown until there is evidence."""
        return Call("POST", f"/v1/actions/{quote(action, safe='')}/cancel", {"why": why})

    @staticmethod
    def conversation(conversation: str) -> Call:
        """What was asked in a conversation, and what may be said now."""
        return Call("GET", f"/v1/conversations/{quote(conversation, safe='')}")

    @staticmethod
    def told(conversation: str, action: str, version: int, statement: str, **more: Any) -> Call:
        """Which statement about an action was passed on, as it was read at which version."""
        body = {"action": action, "version": version, "statement": statement, **more}
        return Call("POST", f"/v1/conversations/{quote(conversation, safe='')}/told", body)

    @staticmethod
    def corrections(conversation: str | None = None) -> Call:
        """What has to be put right."""
        return Call("GET", "/v1/corrections", query={"conversation": conversation} if conversation else None)

"""The status object of the HTTP API, as types.

A newer engine may send members that are not named here; they are kept, and ignored.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

State = Literal[
    "pending", "dispatching", "accepted", "succeeded", "retryable_failure", "terminal_failure", "outcome_unknown", "cancelled", "expired"
]
Happened = Literal["yes", "no", "not_yet", "unknown"]
Doing = Literal["send", "look_up", "poll", "cancel_by_key", "wait", "review", "none"]


class Part(BaseModel):
    """What the engine says, in the members that are named."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)


class Next(Part):
    """What the engine will do by itself, when, and why."""

    do: Doing
    at: datetime | None = None
    why: str


class Statement(Part):
    """What may be said as it stands, and what may not."""

    key: str
    say: str
    never_say: list[str]
    locale: str


class Receipt(Part):
    """The destination's own reference for the effect."""

    reference: str
    aliases: list[str] = []


class Contact(Part):
    """The customer's route while a person has to decide."""

    say: str
    by: datetime | None = None
    late: bool = False


class Closed(Part):
    """Who ended the search, and why."""

    by: str
    why: str
    at: datetime


class Status(Part):
    """One action as it stands."""

    id: str
    joined: bool = False
    created_at: datetime
    key: str
    destination: str
    operation: str
    acts_for: str | None = Field(default=None, alias="for")
    summary: str | None = None
    conversation: str | None = None
    state: State
    happened: Happened
    #: Speaks of a new key. The same key always joins, and is always safe.
    safe_to_call_again: bool
    next: Next
    statement: Statement
    receipt: Receipt | None = None
    because: str | None = None
    version: int
    attempts: int
    revised: bool = False
    duplicate_suspected: bool = False
    closed: Closed | None = None
    contact: Contact | None = None

    @property
    def settled(self) -> bool:
        """Nothing more happens by itself, and no person is waited for."""
        return self.next.do == "none"


class Approval(Part):
    """One approval; `by` is `None` where the operation's policy gave it."""

    by: str | None
    at: datetime
    until: datetime | None = None
    reason: str | None = None


class Proposal(Part):
    """Content to be decided on before anything is sent. `digest` names exactly what would be sent."""

    id: str
    state: Literal["pending", "approved", "declined", "superseded", "expired"]
    digest: str
    key: str
    destination: str
    operation: str
    acts_for: str | None = Field(default=None, alias="for")
    asked_by: str
    summary: str | None = None
    created_at: datetime
    expires_at: datetime
    #: How many have to approve.
    people: int
    approvals: list[Approval]
    statement: Statement
    #: The id of what became of it.
    action: str | None = None
    superseded_by: str | None = None
    #: Why it cannot be approved as it is; known where one proposal was asked for.
    stale: str | None = None


class Decided(Part):
    """A proposal as it stands, and its action once there is one."""

    proposal: Proposal
    action: Status | None = None


class Event(Part):
    """Something has changed. It may come twice: `id` stays the same then, and `cursor` is the place behind it."""

    id: str
    cursor: str
    type: str
    timestamp: datetime
    tenant: str
    data: dict[str, Any]

    @property
    def action(self) -> Status | None:
        """The action that it is about, with state, receipt and version as they were at the change."""
        said = self.data.get("action")
        return Status.model_validate(said) if said is not None else None


class EventPage(Part):
    """Events in their order. `next` leads on, also where nothing was found."""

    events: list[Event]
    next: str
    more: bool


class Problem(Part):
    """Why a request was not carried out (RFC 9457)."""

    title: str
    status: int
    rule: str
    remedy: str
    code: str | None = None
    type: str = ""
    member: str | None = None
    action: str | None = None
    retry_after: int | None = None

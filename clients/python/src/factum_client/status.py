"""The status object of the HTTP API, as types.

A newer engine may send members that are not named here; they are kept, and ignored.
"""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

State = Literal[
    "pending", "dispatching", "accepted", "succeeded", "retryable_failure", "terminal_failure", "outcome_unknown", "cancelled", "expired"
]
Happened = Literal["yes", "no", "not_yet", "unknown"]
Doing = Literal["send", "look_up", "poll", "cancel_by_key", "wait", "review", "none"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)


class Next(_Part):
    """What the engine will do by itself, when, and why."""

    do: Doing
    at: datetime | None = None
    why: str


class Statement(_Part):
    """What may be said as it stands, and what may not."""

    key: str
    say: str
    never_say: list[str]
    locale: str


class Receipt(_Part):
    """The destination's own reference for the effect."""

    reference: str
    aliases: list[str] = []


class Contact(_Part):
    """The customer's route while a person has to decide."""

    say: str
    by: datetime | None = None
    late: bool = False


class Closed(_Part):
    """Who ended the search, and why."""

    by: str
    why: str
    at: datetime


class Status(_Part):
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


class Problem(_Part):
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

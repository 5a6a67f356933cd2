"""What a call comes back with: one of five, to be told apart with `match`. None of them is an exception.

    match factum.perform("helpdesk", "ticket.create", payload, key="order/77/ticket"):
        case Done(receipt=receipt): ...      # it exists
        case NotDone(because=why): ...       # proven: nothing happened
        case Pending() | Unknown() as open: reply(open.say)
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from .status import Status
from .words import ForModel, words_for_done, words_for_not_done, words_for_pending, words_for_possible_duplicate, words_for_unknown


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    #: The caller's name for the intent. Calling again with it joins, and never sends twice.
    key: str
    #: The action as the engine shows it; `None` where it could not be asked.
    status: Status | None = None

    @property
    def id(self) -> str | None:
        return self.status.id if self.status else None

    @property
    def say(self) -> str:
        """What may be said to whoever asked."""
        return self.status.statement.say if self.status else self.for_model().text

    @property
    def never_say(self) -> list[str]:
        """What must not be said."""
        return self.status.statement.never_say if self.status else []

    def for_model(self) -> ForModel:
        """The text for a language model, and whether it may be flagged as an error."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Done(_Outcome):
    """The effect exists."""

    #: The destination's reference. A person's verdict can do without one.
    receipt: str | None

    def for_model(self) -> ForModel:
        return words_for_done(self.status, self.receipt)


@dataclass(frozen=True, kw_only=True)
class NotDone(_Outcome):
    """Proven: nothing happened, and nothing will by itself."""

    because: str
    #: The same call, with the same key, may be made again: nothing was recorded.
    try_again: bool = False

    def for_model(self) -> ForModel:
        return words_for_not_done(self.status, self.because, self.try_again)


@dataclass(frozen=True, kw_only=True)
class Pending(_Outcome):
    """Recorded, and not finished; nothing speaks for a lost answer."""

    def for_model(self) -> ForModel:
        return words_for_pending(self.status)


@dataclass(frozen=True, kw_only=True)
class Unknown(_Outcome):
    """It may have happened. The engine is finding out, a person is, or nobody can any more.

    Without a `status` the engine itself did not answer, and whether it recorded the request is open: the same key settles that.
    """

    @property
    def asks_a_person(self) -> bool:
        return self.status is not None and self.status.next.do == "review"

    def for_model(self) -> ForModel:
        return words_for_unknown(self.status, self.key)


@dataclass(frozen=True, kw_only=True)
class PossibleDuplicate(_Outcome):
    """Nothing was recorded: the same was asked for under another key a moment ago, and its `status` is given. `another=True` overrides."""

    earlier: str | None = field(default=None)

    def for_model(self) -> ForModel:
        return words_for_possible_duplicate(self.earlier)


Outcome: TypeAlias = Done | NotDone | Pending | Unknown | PossibleDuplicate

_NOT_DONE = {"terminal_failure": "it was declined", "cancelled": "it was withdrawn", "expired": "it was not done in time"}


def outcome_of(status: Status) -> Outcome:
    """What a status amounts to."""
    if status.state == "succeeded":
        return Done(key=status.key, status=status, receipt=status.receipt.reference if status.receipt else None)
    if status.state in _NOT_DONE:
        return NotDone(key=status.key, status=status, because=status.because or _NOT_DONE[status.state])
    if status.state == "outcome_unknown" or status.next.do == "review":
        return Unknown(key=status.key, status=status)
    return Pending(key=status.key, status=status)

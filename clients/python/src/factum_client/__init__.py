"""Factum's client: has things done elsewhere, once, and says what can be proved about them."""

from .aio import AsyncFactum
from .aio_work import AsyncWorker
from .client import Factum
from .errors import FactumError, Refused, Unreachable
from .outcome import Done, NotDone, Outcome, Pending, PossibleDuplicate, Unknown
from .own import Attempt, attempt
from .status import Decided, Event, Problem, Proposal, Status
from .tool import Tool, tool
from .words import ForModel
from .work import Worker

__all__ = [
    "AsyncFactum", "AsyncWorker", "Attempt", "Decided", "Done", "Event", "Factum", "FactumError", "ForModel", "NotDone", "Outcome", "Pending",
    "PossibleDuplicate", "Problem", "Proposal", "Refused", "Status", "Tool", "Unknown", "Unreachable", "Worker", "attempt", "tool",
]

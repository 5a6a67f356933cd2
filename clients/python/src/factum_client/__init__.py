"""Factum's client: has things done elsewhere, once, and says what can be proved about them."""

from .aio import AsyncFactum
from .client import Factum
from .errors import FactumError, Refused, Unreachable
from .outcome import Done, NotDone, Outcome, Pending, PossibleDuplicate, Unknown
from .status import Problem, Status
from .tool import Tool, tool
from .words import ForModel

__all__ = [
    "AsyncFactum", "Done", "Factum", "FactumError", "ForModel", "NotDone", "Outcome", "Pending", "PossibleDuplicate", "Problem", "Refused",
    "Status", "Tool", "Unknown", "Unreachable", "tool",
]

"""Tools for agents: a typed function whose call becomes an action. Its body is never run."""

import functools
import inspect
import re
import string
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError, create_model

from .client import Factum
from .errors import Refused
from .exchanges import WAIT
from .outcome import Outcome
from .words import ForModel

#: Says what a request key is for, in words that do not make a model invent a new one per call.
REQUEST_KEY = (
    "Identifies this one intended action. Use the same value every time you try or retry this same action. "
    "Use a different value only if the user wants another, separate one."
)
#: Says what `another` is for.
ANOTHER = "Only true if the user has said that a second one, just like an earlier one, is wanted."
_PART = re.compile(r"[%/{}]")


def fill(template: str, values: dict[str, Any]) -> str:
    """A key from a template like `ticket/{scope}/{order}`. Parts are escaped, so that no two sets of values give one key."""
    parts = []
    for text, name, _, _ in string.Formatter().parse(template):
        parts.append(text)
        if name is None:
            continue
        value = values.get(name)
        if value is None or str(value) == "":
            raise ValueError(f"the key template {template!r} needs {name!r}, which is missing or empty")
        parts.append(_PART.sub(lambda found: f"%{ord(found.group()):02X}", str(value)))
    return "".join(parts)


class Tool:
    """A function's name, description and parameters, and what carries its calls out."""

    def __init__(self, factum: Factum, function: Callable[..., Any], destination: str, operation: str, key: str | None,
                 payload: Callable[..., Any] | None, wait: float, members: dict[str, Any]):
        functools.update_wrapper(self, function)
        self.factum, self.destination, self.operation = factum, destination, operation
        self.template, self.wait, self.members = key, wait, members
        self.name: str = getattr(function, "__name__", operation)
        self.description = inspect.getdoc(function) or operation
        self.signature = inspect.signature(function)
        self._payload = payload
        fields: dict[str, Any] = {}
        for parameter in self.signature.parameters.values():
            kind = Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation
            fields[parameter.name] = (kind, ... if parameter.default is inspect.Parameter.empty else parameter.default)
        self.arguments = create_model(self.name, **fields)
        self._check_template()

    def _check_template(self) -> None:
        """A template that cannot be filled is found when the program starts, and not when a customer waits."""
        if self.template is None:
            return
        names = {name for _, name, _, _ in string.Formatter().parse(self.template) if name is not None}
        if unknown := names - set(self.signature.parameters) - {"scope"}:
            raise ValueError(f"{self.name}: the key template {self.template!r} names {sorted(unknown)}; the function has "
                             f"{sorted(self.signature.parameters)}, and `scope` is given by the caller")

    def schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema. There is one more, `another`; and without a key template `request_key`."""
        schema: dict[str, Any] = self.arguments.model_json_schema()
        schema.setdefault("properties", {})["another"] = {"type": "boolean", "description": ANOTHER}
        if self.template is None:
            schema["properties"]["request_key"] = {"type": "string", "minLength": 1, "description": REQUEST_KEY}
            schema["required"] = [*schema.get("required", []), "request_key"]
        return schema

    def perform(self, arguments: dict[str, Any], *, scope: str | None = None, key: str | None = None, another: bool = False,
                **members: Any) -> Outcome:
        """Carries out one call. `scope` says whose it is (a conversation, a thread), for templates that name it."""
        return self.factum.perform(**self.submission(arguments, scope=scope, key=key, another=another, **members))

    def submission(self, arguments: dict[str, Any], *, scope: str | None = None, key: str | None = None, another: bool = False,
                   **members: Any) -> dict[str, Any]:
        """What `perform` is called with."""
        arguments = dict(arguments)
        asked, another = arguments.pop("request_key", None), bool(arguments.pop("another", another))
        checked = self.arguments.model_validate(arguments)
        values = {name: getattr(checked, name) for name in self.signature.parameters}
        if key is None:
            key = fill(self.template, {**values, "scope": scope}) if self.template else asked
        if not key:
            raise ValueError(f"{self.name}: `request_key` is missing. {REQUEST_KEY}")
        if self._payload is not None:
            payload = self._payload(**values)
        else:
            payload = TypeAdapter(type(checked)).dump_python(checked, mode="json")
        return {"destination": self.destination, "operation": self.operation, "payload": payload, "key": key, "wait": self.wait,
                "another": another, **self.members, **members}

    def answer(self, arguments: dict[str, Any], *, scope: str | None = None) -> tuple[ForModel, Outcome | None]:
        """What a model is told about a call of its own making, and the outcome. Raises nothing: frameworks repeat what raises."""
        try:
            outcome = self.perform(arguments, scope=scope)
        except Refused as refused:
            # Nothing was recorded, and the model can put its arguments right.
            return ForModel(f"Not sent: {refused}", is_error=True), None
        except (ValidationError, ValueError) as wrong:
            return ForModel(f"Not sent: {wrong}", is_error=True), None
        return outcome.for_model(), outcome

    def __call__(self, *args: Any, scope: str | None = None, request_key: str | None = None, another: bool = False, **kwargs: Any) -> Outcome:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return self.perform(dict(bound.arguments), scope=scope, key=request_key, another=another)


def tool(factum: Factum, destination: str, operation: str, *, key: str | None = None, payload: Callable[..., Any] | None = None,
         wait: float = WAIT, **members: Any) -> Callable[[Callable[..., Any]], Tool]:
    """Makes a tool of a typed function with a docstring.

        @tool(factum, "helpdesk", "ticket.create", key="ticket/{scope}/{order}",
              payload=lambda order, text: {"ticket": {"subject": f"Order {order}", "comment": {"body": text}}})
        def create_ticket(order: str, text: str):
            "Opens a ticket at the help desk."
    """

    def made(function: Callable[..., Any]) -> Tool:
        return Tool(factum, function, destination, operation, key, payload, wait, members)

    return made

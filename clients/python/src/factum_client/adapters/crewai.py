"""CrewAI, whose tools are called up to three times when they raise: this one does not.

    agent = Agent(role="support", tools=[as_tool(create_ticket, scope="conv-91")])
"""

from typing import Any

from crewai.tools import BaseTool
from pydantic import Field, create_model

from ..tool import ANOTHER, REQUEST_KEY, Tool


class FactumTool(BaseTool):
    """A tool of CrewAI's."""

    made: Any
    scope: str | None = None

    def _run(self, **arguments: Any) -> str:
        words, _ = self.made.answer({name: value for name, value in arguments.items() if value is not None}, scope=self.scope)
        return str(words)


def as_tool(tool: Tool, scope: str | None = None) -> FactumTool:
    """`scope` is the conversation that the crew works for, for key templates that name it."""
    more: dict[str, Any] = {"another": (bool, Field(default=False, description=ANOTHER))}
    if tool.template is None:
        more["request_key"] = (str, Field(description=REQUEST_KEY))
    arguments = create_model(tool.name, __base__=tool.arguments, **more)
    return FactumTool(name=tool.name, description=tool.description, args_schema=arguments, made=tool, scope=scope)

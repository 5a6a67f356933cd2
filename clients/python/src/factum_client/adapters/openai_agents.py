"""OpenAI Agents SDK.

    agent = Agent(name="support", tools=[as_tool(create_ticket, scope=lambda context: context.context.conversation)])
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from ..tool import Tool


def as_tool(tool: Tool, scope: Callable[[ToolContext[Any]], str | None] = lambda _: None) -> FunctionTool:
    """`scope` gives the conversation of a run, for key templates that name it."""

    async def call(context: ToolContext[Any], arguments: str) -> str:
        try:
            named = json.loads(arguments or "{}")
        except json.JSONDecodeError as error:
            return f"Not sent: the arguments are no JSON: {error}"
        # A run that is cancelled meanwhile ends the waiting, and never the action.
        words, _ = await asyncio.to_thread(tool.answer, named, scope=scope(context))
        return words.text

    return FunctionTool(name=tool.name, description=tool.description, params_json_schema=tool.schema(), on_invoke_tool=call,
                        strict_json_schema=False)

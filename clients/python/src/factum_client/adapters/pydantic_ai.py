"""Pydantic AI. Its own time limit for tools tells the model to call again: with the same key that joins.

    agent = Agent(model, deps_type=Deps, tools=[as_tool(create_ticket, scope=lambda context: context.deps.conversation)])
"""

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai import Tool as PydanticTool

from ..tool import Tool


def as_tool(tool: Tool, scope: Callable[[RunContext[Any]], str | None] = lambda _: None) -> PydanticTool[Any]:
    """`scope` gives the conversation of a run, for key templates that name it."""

    async def call(context: RunContext[Any], **arguments: Any) -> str:
        words, _ = await asyncio.to_thread(tool.answer, arguments, scope=scope(context))
        return words.text

    return PydanticTool.from_schema(call, name=tool.name, description=tool.description, json_schema=tool.schema(), takes_ctx=True)

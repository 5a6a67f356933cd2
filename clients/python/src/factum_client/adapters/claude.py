"""Claude Agent SDK: the tools as a server inside the program.

    options = ClaudeAgentOptions(mcp_servers={"factum": create_sdk_mcp_server("factum", tools=[as_tool(create_ticket, scope="conv-91")])})
"""

import asyncio
from typing import Any

from claude_agent_sdk import SdkMcpTool

from ..tool import Tool


def as_tool(tool: Tool, scope: str | None = None) -> SdkMcpTool[Any]:
    """`scope` is the conversation that the agent works for, for key templates that name it."""

    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        words, _ = await asyncio.to_thread(tool.answer, arguments, scope=scope)
        return {"content": [{"type": "text", "text": words.text}], "is_error": words.is_error}

    return SdkMcpTool(name=tool.name, description=tool.description, input_schema=tool.schema(), handler=call)

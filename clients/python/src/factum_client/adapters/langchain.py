"""LangChain and LangGraph. The scope is the thread's id.

    agent = create_agent(model, [as_tool(create_ticket)])
"""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException

from ..outcome import Outcome
from ..tool import Tool


class FactumTool(BaseTool):
    """A tool of LangChain's. The outcome is the message's artifact."""

    made: Any
    response_format: Any = "content_and_artifact"
    # What certainly did not happen becomes a message with the status "error", and is not raised to retries.
    handle_tool_error: Any = True

    def _run(self, config: RunnableConfig, **arguments: Any) -> tuple[str, Outcome]:
        words, outcome = self.made.answer(arguments, scope=(config.get("configurable") or {}).get("thread_id"))
        if words.is_error:
            raise ToolException(words.text)
        return words.text, outcome


def as_tool(tool: Tool) -> FactumTool:
    """For agents, tool nodes and `bind_tools`."""
    return FactumTool(name=tool.name, description=tool.description, args_schema=tool.schema(), made=tool)

"""A tool in a server of the Claude Agent SDK, called as that server calls it."""

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import create_sdk_mcp_server
from conftest import effects

from factum_client.adapters.claude import as_tool


async def test_a_second_call_joins_and_what_did_not_happen_is_an_error(ground, create_ticket):
    create_ticket.wait = 30
    ground.lose_next_answer()
    tool = as_tool(create_ticket, scope="conv-1")
    assert create_sdk_mcp_server("factum", tools=[tool])["name"] == "factum"
    first = await tool.handler({"order": "cl-1"})
    again = await tool.handler({"order": "cl-1"})
    assert not first["is_error"] and again["content"][0]["text"].startswith("This was already done")
    assert effects(ground, "cl-1") == 1
    ground.faults("reject_4xx=422,p=1,class=effect")
    declined = await tool.handler({"order": "cl-2"})
    assert declined["is_error"] and effects(ground, "cl-2") == 0


async def test_unknown_is_no_error(ground, announce):
    ground.faults("close_fin,p=1,class=effect")
    told = await as_tool(announce, scope="conv-1").handler({"text": "cl-3"})
    assert not told["is_error"] and "act_" in told["content"][0]["text"]

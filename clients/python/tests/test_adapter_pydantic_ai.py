"""A tool in Pydantic AI, whose own time limit tells the model to call again. The model is a function."""

import pytest

pytest.importorskip("pydantic_ai")

from conftest import effects
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from factum_client.adapters.pydantic_ai import as_tool


async def run(tool, name, *arguments):
    """The model calls the tool with each of the arguments, and ends; what the tool said."""
    script, told = list(arguments), []

    def model(messages, info):
        told[:] = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        return ModelResponse(parts=[ToolCallPart(name, script.pop(0)) if script else TextPart("end")])

    agent = Agent(FunctionModel(model), deps_type=str, tools=[as_tool(tool, scope=lambda context: context.deps)])
    await agent.run("go", deps="conv-1")
    return told


async def test_a_second_call_joins(ground, create_ticket):
    ground.lose_next_answer()
    create_ticket.wait = 30
    told = await run(create_ticket, "create_ticket", {"order": "pa-1"}, {"order": "pa-1"})
    assert told[0].startswith("Done") and told[1].startswith("This was already done")
    assert effects(ground, "pa-1") == 1


async def test_unknown_is_an_ordinary_answer_with_the_id(ground, announce):
    ground.faults("close_fin,p=1,class=effect")
    (told,) = await run(announce, "announce", {"text": "pa-2"})
    assert "act_" in told and "Do not call this tool again" in told
    assert effects(ground, "pa-2") == 1

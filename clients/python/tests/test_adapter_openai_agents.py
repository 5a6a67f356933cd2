"""A tool in the OpenAI Agents SDK. The model is a script."""

import json

import pytest

pytest.importorskip("agents")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from conftest import effects
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from factum_client.adapters.openai_agents import as_tool


class Scripted(Model):
    """Calls a tool with the given arguments, each time under a new id, then ends."""

    def __init__(self, name, *arguments):
        self.name, self.arguments, self.seen = name, list(arguments), []

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.seen.append(input)
        if self.arguments:
            call = ResponseFunctionToolCall(type="function_call", name=self.name, arguments=self.arguments.pop(0),
                                            call_id=f"call-{len(self.seen)}")
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        said = ResponseOutputText(type="output_text", text="end", annotations=[])
        message = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[said])
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError

    def told(self):
        return [item["output"] for item in self.seen[-1] if item.get("type") == "function_call_output"]


async def run(tool, model, conversation):
    agent = Agent(name="support", tools=[as_tool(tool, scope=lambda context: context.context)], model=model)
    await Runner.run(agent, "go", context=conversation, run_config=RunConfig(tracing_disabled=True))
    return model.told()


async def test_a_second_call_with_a_new_id_joins(ground, create_ticket):
    ground.lose_next_answer()
    create_ticket.wait = 30
    arguments = json.dumps({"order": "oa-1"})
    told = await run(create_ticket, Scripted("create_ticket", arguments, arguments), "conv-1")
    assert told[0].startswith("Done") and told[1].startswith("This was already done")
    assert effects(ground, "oa-1") == 1


async def test_unknown_is_an_ordinary_answer_with_the_id(ground, announce):
    ground.faults("close_fin,p=1,class=effect")
    (told,) = await run(announce, Scripted("announce", json.dumps({"text": "oa-2"})), "conv-1")
    assert "act_" in told and "Do not call this tool again" in told
    assert effects(ground, "oa-2") == 1


async def test_arguments_that_are_no_json_are_said_to_the_model(ground, create_ticket):
    (told,) = await run(create_ticket, Scripted("create_ticket", "{order:"), "conv-1")
    assert told.startswith("Not sent")

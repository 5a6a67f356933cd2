"""The eight checks that an adapter has to pass, each through the framework's own tool: docs/adapters.md. Effects are counted at the destination.

The models of the other files call a tool once or twice; here it is called as the worst of frameworks calls it.
"""

import asyncio
import json

import pytest
from conftest import effects

from factum_client import tool
from factum_client.testing import Playground

SETTINGS = """
operations."key.sync".twin_guard = "10 min"
operations."lookup.sync".approval = { required = "always", self = true }
"""
#: What a model is told of whatever is open.
CHECK_AGAIN = "Do not call this tool again"


@pytest.fixture(scope="module")
def ground():
    with Playground(settings=SETTINGS) as playground:
        yield playground


async def langchain(made, scope, arguments):
    from factum_client.adapters.langchain import as_tool

    call = {"name": made.name, "args": arguments, "id": f"call-{id(arguments)}", "type": "tool_call"}
    told = await as_tool(made).ainvoke(call, {"configurable": {"thread_id": scope}})
    return told.content, told.status == "error"


async def openai_agents(made, scope, arguments):
    from test_adapter_openai_agents import Scripted, run

    (told,) = await run(made, Scripted(made.name, json.dumps(arguments)), scope)
    return told, told.startswith(("Not done", "Not sent"))


async def pydantic_ai(made, scope, arguments):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from factum_client.adapters.pydantic_ai import as_tool

    script, told = [arguments], []

    def model(messages, info):
        parts = [part for message in messages for part in message.parts]
        told[:] = [(str(part.content), isinstance(part, RetryPromptPart)) for part in parts
                   if isinstance(part, (ToolReturnPart, RetryPromptPart))]
        return ModelResponse(parts=[ToolCallPart(made.name, script.pop(0)) if script else TextPart("end")])

    agent = Agent(FunctionModel(model), deps_type=str, tools=[as_tool(made, scope=lambda context: context.deps)])
    await agent.run("go", deps=scope)
    return told[0]


async def claude(made, scope, arguments):
    from factum_client.adapters.claude import as_tool

    told = await as_tool(made, scope=scope).handler(arguments)
    return told["content"][0]["text"], told["is_error"]


async def crewai(made, scope, arguments):
    from factum_client.adapters.crewai import as_tool

    told = await asyncio.to_thread(as_tool(made, scope=scope).run, **arguments)
    return told, told.startswith(("Not done", "Not sent"))


NEEDS = {langchain: "langchain", openai_agents: "agents", pydantic_ai: "pydantic_ai", claude: "claude_agent_sdk", crewai: "crewai"}


@pytest.fixture(params=NEEDS, ids=lambda call: call.__name__)
def call(request, ground):
    pytest.importorskip(NEEDS[request.param])
    ground.faults("")
    return request.param


@pytest.fixture
def factum(ground):
    with ground.factum(patience=60) as client:
        yield client


def made_tool(factum, operation, wait, key="ticket/{scope}/{order}"):
    @tool(factum, "bed", operation, key=key, wait=wait, payload=lambda order: {"business": order})
    def create_ticket(order: str):
        """Opens a ticket for an order."""

    return create_ticket


async def test_1_a_slow_effect_is_pending_and_the_models_next_call_joins(ground, factum, call):
    order = f"slow-{call.__name__}"
    ground.faults("late_answer=1500,n=1,class=effect")
    text, is_error = await call(made_tool(factum, "key.sync", 0.2), "c", {"order": order})
    assert not is_error and CHECK_AGAIN in text
    text, is_error = await call(made_tool(factum, "key.sync", 30), "c", {"order": order})
    assert not is_error and text.startswith("This was already done")
    assert effects(ground, order) == 1


async def test_2_the_same_under_a_new_name_is_not_sent(ground, factum, call):
    order, made = f"twin-{call.__name__}", made_tool(factum, "key.sync", 30, key=None)
    text, _ = await call(made, "c", {"order": order, "request_key": f"{order}/1"})
    assert text.startswith("Done")
    text, _ = await call(made, "c", {"order": order, "request_key": f"{order}/2"})
    assert text.startswith("Not sent: the same was already asked for")
    assert effects(ground, order) == 1
    text, _ = await call(made, "c", {"order": order, "request_key": f"{order}/3", "another": True})
    assert text.startswith("Done") and effects(ground, order) == 2


async def test_3_and_6_eager_repeats_of_an_unknown_outcome_make_one_effect(ground, factum, call):
    order, made = f"eager-{call.__name__}", made_tool(factum, "neither.sync", 20)
    ground.faults("close_fin,p=1,class=effect")
    for _ in range(5):
        text, is_error = await call(made, "c", {"order": order})
        assert not is_error and CHECK_AGAIN in text and "act_" in text
    assert effects(ground, order) == 1


async def test_4_a_node_that_is_run_again_gets_the_same_action(ground, factum, call):
    order, made = f"resumed-{call.__name__}", made_tool(factum, "key.sync", 30)
    told = [await call(made, "c", {"order": order}) for _ in range(2)]
    named = {text.partition("act_")[2][:26] for text, _ in told}
    assert len(named) == 1 and "" not in named
    assert effects(ground, order) == 1


async def test_5_what_a_kill_interrupts_is_joined_by_the_replay(ground, factum, call):
    order, made = f"killed-{call.__name__}", made_tool(factum, "key.sync", 20)
    ground.faults("late_answer=3000,n=1,class=effect")
    interrupted = asyncio.create_task(call(made, "c", {"order": order}))
    while effects(ground, order) == 0:
        await asyncio.sleep(0.02)
    ground.kill_engine()
    ground.start_engine()
    told = [await interrupted, await call(made, "c", {"order": order})]
    assert not any(is_error for _, is_error in told)
    assert told[1][0].startswith("This was already done"), told
    assert effects(ground, order) == 1


async def test_7_a_call_that_its_caller_cancels_goes_on(ground, factum, call):
    order, made = f"gone-{call.__name__}", made_tool(factum, "key.sync", 20)
    ground.faults("late_answer=1000,n=1,class=effect")
    given_up = asyncio.create_task(call(made, "c", {"order": order}))
    while effects(ground, order) == 0:
        await asyncio.sleep(0.02)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    text, _ = await call(made, "c", {"order": order})
    assert text.startswith("This was already done")
    assert effects(ground, order) == 1


async def test_8_an_approval_that_comes_twice_makes_one_effect(ground, factum, call):
    order, made = f"approved-{call.__name__}", made_tool(factum, "lookup.sync", 30)
    text, _ = await call(made, "c", {"order": order})
    assert text.startswith("Not sent") and effects(ground, order) == 0
    asked = {name: value for name, value in made.submission({"order": order}, scope="c").items() if name not in ("wait", "another")}
    proposal = factum.propose(**asked).proposal
    assert {factum.approve(proposal.id, proposal.digest).action.id for _ in range(2)} == {factum.approve(proposal.id, proposal.digest).action.id}
    text, _ = await call(made, "c", {"order": order})
    assert text.startswith("This was already done")
    assert effects(ground, order) == 1

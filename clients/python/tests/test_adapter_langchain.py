"""A tool in LangChain's agents, with its retries at their most eager, and in LangGraph after a resume. The model is a script."""

import pytest

pytest.importorskip("langchain")

from conftest import effects
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from factum_client.adapters.langchain import as_tool


class Scripted(BaseChatModel):
    """Says what it is told to, one message after the other, and then nothing more."""

    script: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.script.pop(0) if self.script else AIMessage(content="end"))])


def calls(name, **arguments):
    """The model calls a tool; each time under a new id, as models do."""
    calls.made = getattr(calls, "made", 0) + 1
    return AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": f"call-{calls.made}"}])


def run(tool, *script, thread, **options):
    agent = create_agent(Scripted(script=list(script)), [tool], **options)
    state = agent.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": thread}})
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def test_the_model_calls_again_with_a_new_id_and_one_effect_comes_of_it(ground, create_ticket):
    # B146: a node that is run again without what its tools answered
    ground.lose_next_answer()
    create_ticket.wait = 0.05
    first = as_tool(create_ticket)
    told = run(first, calls("create_ticket", order="lc-1"), thread="t")
    create_ticket.wait = 30
    told += run(first, calls("create_ticket", order="lc-1"), thread="t")
    assert [message.status for message in told] == ["success", "success"]
    assert told[1].content.startswith("This was already done")
    assert effects(ground, "lc-1") == 1


def test_eager_retries_around_an_unknown_outcome_make_one_effect(ground, announce):
    # B134
    ground.faults("close_fin,p=1,class=effect")
    retries = ToolRetryMiddleware(max_retries=5, initial_delay=0.0, jitter=False)
    told = run(as_tool(announce), calls("announce", text="lc-2"), calls("announce", text="lc-2"), thread="t", middleware=[retries])
    assert len(told) == 2
    for message in told:
        assert message.status == "success" and message.artifact.id in message.content
        assert "Do not call this tool again" in message.content
    assert effects(ground, "lc-2") == 1


def test_what_certainly_did_not_happen_is_an_error(ground, create_ticket):
    ground.faults("reject_4xx=422,p=1,class=effect")
    create_ticket.wait = 30
    (told,) = run(as_tool(create_ticket), calls("create_ticket", order="lc-3"), thread="t")
    assert told.status == "error" and told.content.startswith("Not done")
    assert effects(ground, "lc-3") == 0


def test_a_resume_runs_the_node_again_and_joins(ground, create_ticket):
    # B137, and B143 with the framework's own approval
    create_ticket.wait = 30
    tool = as_tool(create_ticket)
    agent = create_agent(Scripted(script=[calls("create_ticket", order="lc-4")]), [tool], checkpointer=InMemorySaver(),
                         middleware=[HumanInTheLoopMiddleware(interrupt_on={"create_ticket": True})])
    thread = {"configurable": {"thread_id": "resumed"}}
    agent.invoke({"messages": [("user", "go")]}, thread)
    before = next(state.config for state in agent.get_state_history(thread))
    for resumed in (thread, before):
        state = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), resumed)
    assert state["messages"][-2].content.startswith("This was already done")
    assert effects(ground, "lc-4") == 1


async def test_the_same_for_tasks(ground, create_ticket):
    create_ticket.wait = 30
    told = await as_tool(create_ticket).ainvoke(
        {"name": "create_ticket", "args": {"order": "lc-5"}, "id": "call-a", "type": "tool_call"}, {"configurable": {"thread_id": "t"}})
    assert told.content.startswith("Done") and told.artifact.key == "ticket/t/lc-5"
    assert effects(ground, "lc-5") == 1


def test_missing_arguments_are_said_to_the_model_and_nothing_is_sent(ground, create_ticket):
    (told,) = run(as_tool(create_ticket), calls("create_ticket"), thread="t")
    assert told.status == "error" and "order" in told.content

"""A tool in CrewAI, whose agents call a tool again when it raises. The model is a script."""

import pytest

pytest.importorskip("crewai")

from conftest import effects
from crewai import Agent, BaseLLM, Crew, Task

from factum_client.adapters.crewai import as_tool


class Scripted(BaseLLM):
    """Speaks the text protocol of CrewAI's agents: calls the tool twice, and ends."""

    def __init__(self, call):
        super().__init__(model="scripted")
        self.script = [call, call, "Thought: I now know the final answer\nFinal Answer: end"]
        self.seen = []

    def call(self, messages, *args, **kwargs):
        self.seen.append(messages)
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def supports_function_calling(self):
        return False


def run(tool, call):
    model = Scripted(call)
    agent = Agent(role="support", goal="help", backstory="none", tools=[tool], llm=model, cache=False)
    task = Task(description="go", expected_output="end", agent=agent)
    Crew(agents=[agent], tasks=[task], tracing=False).kickoff()
    return str(model.seen[-1])


def test_calls_that_are_repeated_join(ground, create_ticket):
    create_ticket.wait = 30
    ground.lose_next_answer()
    tool = as_tool(create_ticket, scope="conv-1")
    said = run(tool, 'Thought: open it\nAction: create_ticket\nAction Input: {"order": "cr-1"}')
    assert "Done" in said
    assert effects(ground, "cr-1") == 1


def test_unknown_is_an_ordinary_answer_with_the_id(ground, announce):
    ground.faults("close_fin,p=1,class=effect")
    said = run(as_tool(announce, scope="conv-1"), 'Thought: tell\nAction: announce\nAction Input: {"text": "cr-2"}')
    assert "act_" in said and "Do not call this tool again" in said
    assert effects(ground, "cr-2") == 1

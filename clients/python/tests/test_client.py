"""The client against a real engine and a destination that loses answers. Effects are counted at the destination."""

import asyncio
import json
import threading
import time

import httpx
import pytest
from conftest import effects

from factum_client import AsyncFactum, Done, Factum, NotDone, Pending, Refused, Unknown, tool
from factum_client.testing import Playground


@pytest.fixture(autouse=True)
def no_faults(ground):
    ground.faults("")


def test_a_lost_answer_makes_no_second_effect(ground):
    ground.lose_next_answer()
    with ground.factum() as factum:
        first = factum.perform("bed", "key.sync", {"business": "lost"}, key="lost/1", wait=0.5)
        again = factum.perform("bed", "key.sync", {"business": "lost"}, key="lost/1", wait=30)
    assert isinstance(first, (Pending, Unknown, Done))
    assert isinstance(again, Done) and again.receipt
    assert "nothing was sent again" in again.for_model().text
    assert effects(ground, "lost") == 1


def test_an_open_outcome_is_returned_and_its_words_make_no_claim(ground):
    # B109: it acts without an acknowledgement; nothing is repeated because time has passed
    ground.faults("close_fin,p=1,class=effect")
    with ground.factum() as factum:
        outcome = factum.perform("bed", "neither.sync", {"business": "open"}, key="open/1", wait=30)
    assert isinstance(outcome, Unknown) and outcome.asks_a_person
    words = outcome.for_model()
    assert not words.is_error and outcome.id in words.text and "Do not call this tool again" in words.text
    assert outcome.never_say and outcome.say == outcome.status.statement.say
    assert outcome.status.next.do == "review" and effects(ground, "open") == 1


def test_declined_is_not_done_and_an_error_for_the_model(ground):
    ground.faults("reject_4xx=422,p=1,class=effect")
    with ground.factum() as factum:
        outcome = factum.perform("bed", "key.sync", {"business": "declined"}, key="declined/1", wait=30)
    assert isinstance(outcome, NotDone) and outcome.for_model().is_error
    assert effects(ground, "declined") == 0


def test_what_is_wrong_with_a_request_is_raised_with_member_rule_and_remedy(ground):
    with ground.factum() as factum:
        with pytest.raises(Refused) as wrong:
            factum.perform("nowhere", "key.sync", {}, key="wrong/1")
        factum.perform("bed", "key.sync", {"business": "other"}, key="conflict/1", wait=30)
        with pytest.raises(Refused) as conflict:
            factum.perform("bed", "key.sync", {"business": "another"}, key="conflict/1")
    assert wrong.value.problem.member == "/destination" and wrong.value.problem.remedy
    assert conflict.value.problem.code == "F1007" and conflict.value.problem.action
    with pytest.raises(ValueError, match="name the intent"):
        Factum("http://127.0.0.1:1").perform("bed", "key.sync", {})


def test_an_engine_that_is_not_there_recorded_nothing(ground):
    with Factum("http://127.0.0.1:9", "x", patience=0.3) as factum:
        outcome = factum.perform("bed", "key.sync", {}, key="nobody/1", wait=0)
    assert isinstance(outcome, NotDone) and outcome.try_again and outcome.for_model().is_error


class _LosesAnswers(httpx.HTTPTransport):
    """Passes requests on, and loses the answers to the first few."""

    def __init__(self, lost):
        super().__init__()
        self.lost = lost

    def handle_request(self, request):
        answer = super().handle_request(request)
        if self.lost > 0:
            self.lost -= 1
            answer.close()
            raise httpx.ReadError("the answer was lost", request=request)
        return answer


def test_a_lost_answer_of_the_engine_itself_is_repeated_with_the_same_key_and_joins(ground):
    with ground.factum(transport=_LosesAnswers(2)) as factum:
        outcome = factum.perform("bed", "key.sync", {"business": "behind"}, key="behind/1", wait=30)
    assert isinstance(outcome, Done) and outcome.status.joined
    assert effects(ground, "behind") == 1


def test_an_engine_that_never_answers_leaves_it_unknown(ground):
    with ground.factum(transport=_LosesAnswers(99), patience=0.5) as factum:
        outcome = factum.perform("bed", "key.sync", {"business": "silent"}, key="silent/1", wait=0)
    assert isinstance(outcome, Unknown) and outcome.status is None
    assert "silent/1" in outcome.for_model().text and not outcome.for_model().is_error


def test_a_killed_engine_comes_back_and_the_same_call_joins():
    with Playground() as own:
        own.faults("late_answer=3000,n=1,class=effect")
        with own.factum(patience=60) as factum:
            called = []
            caller = threading.Thread(target=lambda: called.append(
                factum.perform("bed", "key.sync", {"business": "killed"}, key="killed/1", wait=20)))
            caller.start()
            while own.counts()["by_business"].get("killed", 0) == 0:
                time.sleep(0.02)
            own.kill_engine()
            own.start_engine()
            caller.join(90)
            assert isinstance(called[0], Done)
            assert own.counts()["by_business"]["killed"] == 1


async def test_tasks_do_the_same_and_a_cancelled_wait_ends_nothing(ground):
    ground.faults("late_answer=1000,n=1,class=effect")
    async with ground.async_factum() as factum:
        call = asyncio.create_task(factum.perform("bed", "key.sync", {"business": "task"}, key="task/1", wait=30))
        while effects(ground, "task") == 0:
            await asyncio.sleep(0.02)
        call.cancel()
        outcome = await factum.perform("bed", "key.sync", {"business": "task"}, key="task/1", wait=30)
    assert isinstance(outcome, Done)
    assert effects(ground, "task") == 1


def test_waiting_ends_with_the_outcome(ground):
    with ground.factum() as factum:
        begun = factum.perform("bed", "key.queued", {"business": "queued"}, key="queued/1", wait=0)
        ended = factum.wait(begun.id, 60)
        assert isinstance(ended, Done)
        assert factum.status(begun.id).receipt.reference == ended.receipt
        assert [action["id"] for action in factum.ask(factum.of_key("queued/1"))["actions"]] == [begun.id]


def test_a_tool_fills_its_key_and_never_runs_its_body(ground):
    with ground.factum() as factum:
        @tool(factum, "bed", "key.sync", key="ticket/{scope}/{order}", wait=30,
              payload=lambda order, text="": {"business": f"tool {order}", "text": text})
        def create_ticket(order: str, text: str = ""):
            """Opens a ticket."""
            raise AssertionError("the body of a tool is not run")

        first = create_ticket("77", text="printer", scope="conv-1")
        again = create_ticket("77", text="printer", scope="conv-1")
        other = create_ticket("77", text="printer", scope="conv-2")
    assert first.id == again.id != other.id
    assert first.key == "ticket/conv-1/77"
    assert effects(ground, "tool 77") == 2


def test_a_template_escapes_and_refuses_what_is_missing():
    from factum_client.tool import fill

    assert fill("t/{a}/{b}", {"a": "x/y", "b": "z"}) != fill("t/{a}/{b}", {"a": "x", "b": "y/z"})
    for empty in (None, ""):
        with pytest.raises(ValueError, match="missing or empty"):
            fill("t/{a}", {"a": empty})
    with pytest.raises(ValueError, match="names \\['ordr'\\]"):
        tool(Factum("http://127.0.0.1:9"), "bed", "key.sync", key="{ordr}")(lambda order: None)


def test_a_tool_without_a_template_asks_for_a_request_key(ground):
    with ground.factum() as factum:
        made = tool(factum, "bed", "key.sync")(lambda business: None)
    schema = made.schema()
    assert "request_key" in schema["required"]
    assert "unique" not in json.dumps(schema)
    with pytest.raises(ValueError, match="request_key"):
        made.perform({"business": "x"})


def test_the_async_client_has_what_the_other_has():
    def public(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(AsyncFactum) == public(Factum)

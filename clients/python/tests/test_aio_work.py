"""Workers of asyncio against a real engine; their calls go to a system that loses answers. Effects are counted there."""

import asyncio

import httpx
import pytest
from conftest import effects

from factum_client import AsyncWorker, Done, NotDone, Unknown
from factum_client.testing import Playground
from factum_client.work import NotSent, absent, done, found_as, rejected

SETTINGS = """
[destinations.crm]
provider = "work"
limits = { send_wait = "5 s", work_lease = "5 s" }

[destinations.crm.work."contact.create"]
limit = "10 s"
processing_max = "2 s"
look_up = { complete = true }
by = "crm-team"
reason = "the search shows every contact at once"

[destinations.crm.work."letter.send"]
limit = "30 s"
"""


@pytest.fixture(scope="module")
def ground():
    with Playground(settings=SETTINGS) as playground:
        yield playground


@pytest.fixture
async def factum(ground):
    ground.faults("")
    async with ground.async_factum() as client:
        yield client


async def made_at(ground, path, body):
    """The call of a worker: one request, and the system's reference for what it made."""
    async with httpx.AsyncClient(timeout=20) as http:
        answer = await http.post(f"{ground.destination}/{path}/effects", json=body)
    answer.raise_for_status()
    return answer.json()["id"]


async def test_a_worker_is_given_its_call_once_and_finds_what_a_lost_answer_made(ground, factum):
    worker, called = AsyncWorker(factum, "crm"), []

    @worker.sends("contact.create")
    async def create(task, begun):
        called.append(begun.attempt)
        return done(await made_at(ground, "lookup/sync", {**task.payload, "reference": begun.reference}))

    @worker.looks_up("contact.create")
    async def find(task):
        async with httpx.AsyncClient() as http:
            answer = await http.get(f"{ground.destination}/lookup/sync/effects", params={"reference": task.reference, "limit": 50})
        ours = [row["id"] for row in answer.json()["items"] if row["reference"] == task.reference]
        return found_as(*ours) if ours else absent()

    ground.lose_next_answer()
    begun = await factum.perform("crm", "contact.create", {"business": "ana"}, key="ana/contact", wait=0)
    await worker.run(idle=8)
    assert isinstance(await factum.wait(begun.id, 0), Done)
    assert called == [1] and effects(ground, "ana") == 1


async def test_several_things_are_done_at_once_and_each_as_its_function_says(ground, factum):
    worker, inside, most, tries = AsyncWorker(factum, "crm", at_once=4), 0, 0, []
    together = asyncio.Event()

    @worker.sends("letter.send")
    async def print_letter(task, begun):
        nonlocal inside, most
        business = task.payload["business"]
        tries.append(business)
        inside, most = inside + 1, max(most, inside + 1)
        if most >= 4:
            together.set()
        await together.wait()
        inside -= 1
        if business == "no paper":
            return rejected("there is no paper of this size")
        if business == "off" and tries.count("off") == 1:
            raise NotSent("the printer is switched off")
        letter = await made_at(ground, "neither/sync", task.payload)
        if business == "torn":
            raise ValueError("the printer's answer makes no sense")
        return done(letter)

    ids = {}
    for business in ("fine", "off", "no paper", "torn"):
        ids[business] = (await factum.perform("crm", "letter.send", {"business": business}, key=f"letter/{business}", wait=0)).id
    await worker.run(idle=8)
    kinds = {business: type(await factum.wait(action, 0)) for business, action in ids.items()}
    assert kinds == {"fine": Done, "off": Done, "no paper": NotDone, "torn": Unknown}
    assert most == 4 and tries.count("torn") == 1
    assert [effects(ground, business) for business in ids] == [1, 1, 0, 1]


async def test_a_worker_that_is_cancelled_in_a_call_has_said_that_it_is_unknown(ground, factum):
    worker, begun = AsyncWorker(factum, "crm"), asyncio.Event()

    @worker.sends("letter.send")
    async def print_letter(task, _):
        await made_at(ground, "neither/sync", task.payload)
        begun.set()
        await asyncio.Event().wait()

    asked = await factum.perform("crm", "letter.send", {"business": "cancelled"}, key="letter/cancelled", wait=0)
    running = asyncio.create_task(worker.run())
    await asyncio.wait_for(begun.wait(), 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    outcome = await factum.wait(asked.id, 0)
    assert isinstance(outcome, Unknown) and outcome.asks_a_person
    assert "told to end" in str(await factum.ask(factum.evidence(asked.id)))
    assert effects(ground, "cancelled") == 1

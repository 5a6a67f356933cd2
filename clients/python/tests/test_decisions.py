"""Proposals that people decide on, and the feed of what changed."""

import pytest
from conftest import effects

from factum_client import Done, Refused


def test_what_is_approved_is_done_once_and_twice_approved_is_approved(ground):
    ground.faults("")
    with ground.factum() as factum:
        asked = factum.propose("bed", "key.sync", {"business": "approved"}, key="approved/1", summary="A refund")
        again = factum.propose("bed", "key.sync", {"business": "approved"}, key="approved/1", summary="A refund")
        assert asked.proposal.state == "pending" and asked.action is None and again.proposal.id == asked.proposal.id
        assert effects(ground, "approved") == 0
        shown = factum.ask(factum.of_proposal(asked.proposal.id))
        assert '"approved"' in shown["request"]["body"]
        with pytest.raises(Refused):
            factum.approve(asked.proposal.id, "0" * len(asked.proposal.digest))
        first = factum.approve(asked.proposal.id, shown["digest"], reason="the goods came back")
        second = factum.approve(asked.proposal.id, shown["digest"])
        assert first.action.id == second.action.id and first.proposal.approvals[0].reason == "the goods came back"
        assert isinstance(factum.wait(first.action.id, 30), Done)
    assert effects(ground, "approved") == 1


def test_what_is_declined_is_never_sent(ground):
    # B127: the call is withdrawn while a person is asked, and then the person says yes
    with ground.factum() as factum:
        asked = factum.propose("bed", "key.sync", {"business": "declined later"}, key="declined/2")
        declined = factum.decline(asked.proposal.id, "not this month")
        assert declined.proposal.state == "declined" and declined.action is None
        with pytest.raises(Refused):
            factum.approve(asked.proposal.id, asked.proposal.digest)
        listed = factum.ask(factum.proposals(state="declined"))["proposals"]
    assert asked.proposal.id in [row["id"] for row in listed]
    assert effects(ground, "declined later") == 0


def test_events_go_on_behind_a_cursor_and_miss_nothing(ground):
    ground.faults("")
    with ground.factum() as factum:
        places = factum.ask(factum.events_page("now"))["next"]
        names = [f"event {number}" for number in range(3)]
        ids = [factum.perform("bed", "key.sync", {"business": name}, key=name, wait=30).id for name in names]
        feed = factum.events(places, types=["action.succeeded"])
        first = next(feed)
        rest = list(factum.events(first.cursor, types=["action.succeeded"], follow=False))
    assert [event.action.id for event in (first, *rest)] == ids
    assert first.action.state == "succeeded" and first.type == "action.succeeded"


async def test_tasks_have_the_same(ground):
    ground.faults("")
    async with ground.async_factum() as factum:
        place = (await factum.ask(factum.events_page("now")))["next"]
        asked = await factum.propose("bed", "key.sync", {"business": "task approved"}, key="approved/2")
        decided = await factum.approve(asked.proposal.id, asked.proposal.digest)
        assert isinstance(await factum.wait(decided.action.id, 30), Done)
        async for event in factum.events(place, types=["action.succeeded"]):
            assert event.action.id == decided.action.id
            break
        late = await factum.propose("bed", "key.sync", {"business": "task declined"}, key="declined/3")
        assert (await factum.decline(late.proposal.id, "no")).proposal.state == "declined"

"""Jobs that go wrong in the middle and are run again, in their most natural form. Effects are counted at the destination."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from conftest import effects

from factum_client import Done, NotDone, Pending, Unknown
from factum_client.testing import Playground


@pytest.fixture(autouse=True)
def no_faults(ground):
    ground.faults("")


def test_a_mailing_whose_seventh_recipient_fails_mails_the_others_once(ground):
    # B104: a list is twenty actions; B107: the job that broke off is run again with its whole list
    def job(factum, recipients):
        return [factum.perform("bed", "key.sync", {"business": f"mail-{n}"}, key=f"mailing-9/{n}", wait=30) for n in recipients]

    with ground.factum() as factum:
        first = job(factum, range(7))
        ground.faults("reject_4xx=422,n=1,class=effect")
        job(factum, [7])
        ground.faults("")
        again = job(factum, range(20))
    assert all(outcome.status.joined for outcome in again[:8]) and not any(outcome.status.joined for outcome in again[8:])
    assert [type(outcome) for outcome in again] == [Done] * 7 + [NotDone] + [Done] * 12
    assert [outcome.receipt for outcome in again[:7]] == [outcome.receipt for outcome in first]
    assert [effects(ground, f"mail-{n}") for n in range(20)] == [1] * 7 + [0] + [1] * 12


def test_a_watchdog_that_fires_while_a_send_is_slow_starts_nothing(ground):
    # B110
    ground.faults("late_answer=1500,n=1,class=effect")
    with ground.factum() as factum:
        seen = [factum.perform("bed", "key.sync", {"business": "campaign"}, key="campaign/1", wait=0.1) for _ in range(6)]
        assert {outcome.id for outcome in seen} == {seen[0].id}
        # That it is being worked on can be seen.
        assert isinstance(seen[0], (Pending, Unknown)) and seen[0].status.next.do != "none"
        assert isinstance(factum.wait(seen[0].id, 60), Done)
    assert effects(ground, "campaign") == 1


def test_a_client_that_repeats_every_server_error_has_nothing_to_repeat(ground):
    # B131
    ground.faults("close_fin,p=1,class=effect")
    body = {"destination": "bed", "operation": "neither.sync", "key": "ambiguous/1", "payload": {"business": "ambiguous"}}
    headers = {"authorization": f"Bearer {ground.token}", "prefer": "wait=20"}
    statuses = []
    for _ in range(3):
        answer = httpx.post(f"{ground.url}/v1/actions", json=body, headers=headers, timeout=60)
        statuses.append(answer.status_code)
    assert statuses == [201, 200, 200] and answer.json()["state"] == "outcome_unknown"
    assert effects(ground, "ambiguous") == 1


def test_a_billing_loop_over_many_accounts_charges_each_once():
    # B133: the provider answers later than the loop waits, or loses the answer; whoever catches an error would charge again
    accounts = [f"account-{n}" for n in range(60)]
    with Playground() as own, own.factum(patience=60) as factum:
        own.faults("late_answer=1500,p=0.2,class=effect;close_fin,p=0.2,class=effect")

        def charge(account, wait):
            return factum.perform("bed", "key.sync", {"business": account}, key=f"march/{account}", wait=wait)

        def loop(wait):
            with ThreadPoolExecutor(8) as pool:
                return list(pool.map(lambda account: charge(account, wait), accounts))

        first, second = loop(0.2), loop(0.2)
        assert set(Counter(map(type, first + second))) <= {Done, Pending, Unknown}
        own.faults("")
        assert Counter(map(type, loop(120))) == {Done: len(accounts)}
        assert [effects(own, account) for account in accounts] == [1] * len(accounts)

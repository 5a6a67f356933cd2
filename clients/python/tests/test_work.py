"""Workers and attempts against a real engine; their calls go to a system that loses answers. Effects are counted there."""

import json
import subprocess
import sys
import textwrap
import time

import httpx
import pytest
from conftest import effects

from factum_client import Done, Factum, NotDone, Pending, Refused, Unknown, Worker, attempt
from factum_client.testing import Playground
from factum_client.work import NotSent, absent, done, found_as, rejected

SETTINGS = """
[destinations.crm]
provider = "work"
limits = { send_wait = "2 s", work_lease = "2 s" }

[destinations.crm.work."contact.create"]
limit = "10 s"
processing_max = "2 s"
look_up = { complete = true }
by = "crm-team"
reason = "the search shows every contact at once"

[destinations.crm.work."invoice.create"]
limit = "10 s"
processing_max = "2 s"
key = { floor = "24 h", concurrent = true }
by = "crm-team"
reason = "the key is kept for a day, and a repeat beside the first is answered 409"

[destinations.crm.work."letter.send"]
limit = "10 s"
"""


@pytest.fixture(scope="module")
def ground():
    with Playground(settings=SETTINGS) as playground:
        yield playground


@pytest.fixture
def factum(ground):
    ground.faults("")
    with ground.factum() as client:
        yield client


def made_at(ground, path, body, headers=None):
    """The call of a worker: one request, and the system's reference for what it made."""
    answer = httpx.post(f"{ground.destination}/{path}/effects", json=body, headers=headers, timeout=5)
    answer.raise_for_status()
    return answer.json()["id"]


def was_given_up(factum, action):
    """Whether a lease ended without word of its worker."""
    return "lease_over" in json.dumps(factum.ask(factum.evidence(action)))


def test_a_worker_is_given_its_call_once_and_finds_what_a_lost_answer_made(ground, factum):
    worker = Worker(factum, "crm")
    called = []

    @worker.sends("contact.create")
    def create(task, begun):
        called.append(begun.attempt)
        return done(made_at(ground, "lookup/sync", {**task.payload, "reference": begun.reference}))

    @worker.looks_up("contact.create")
    def find(task):
        answer = httpx.get(f"{ground.destination}/lookup/sync/effects", params={"reference": task.reference, "limit": 50}).json()
        ours = [row["id"] for row in answer["items"] if row["reference"] == task.reference]
        return found_as(*ours) if ours else absent()

    ground.lose_next_answer()
    begun = factum.perform("crm", "contact.create", {"business": "ana"}, key="ana/contact", wait=0)
    worker.run(idle=3)
    assert isinstance(factum.wait(begun.id, 0), Done)
    assert called == [1] and effects(ground, "ana") == 1


def test_what_raises_after_the_begin_is_unknown_and_waits_for_a_person(ground, factum):
    worker = Worker(factum, "crm")

    @worker.sends("letter.send")
    def print_letter(task, begun):
        made_at(ground, "neither/sync", task.payload)
        raise ValueError("the printer's answer makes no sense")

    begun = factum.perform("crm", "letter.send", {"business": "letter"}, key="letter/1", wait=0)
    worker.run(idle=1)
    outcome = factum.wait(begun.id, 0)
    assert isinstance(outcome, Unknown) and outcome.asks_a_person
    assert effects(ground, "letter") == 1


def test_what_raises_before_the_begin_marks_nothing(ground, factum):
    worker, asked = Worker(factum, "crm"), []

    def log_in(task):
        asked.append(task.attempts)
        if len(asked) == 1:
            raise OSError("the VPN is down")

    @worker.sends("letter.send", prepare=log_in)
    def print_letter(task, begun):
        return done(made_at(ground, "neither/sync", task.payload))

    begun = factum.perform("crm", "letter.send", {"business": "prepared"}, key="letter/2", wait=0)
    assert worker.once(wait=5)
    assert isinstance(factum.wait(begun.id, 0), Pending) and factum.status(begun.id).attempts == 0
    assert worker.once(wait=5)
    outcome = factum.wait(begun.id, 0)
    assert isinstance(outcome, Done) and outcome.status.attempts == 1 and asked == [0, 0]
    assert effects(ground, "prepared") == 1


def test_what_certainly_did_not_leave_is_tried_again_and_what_is_rejected_is_not(ground, factum):
    worker, tries = Worker(factum, "crm"), []

    @worker.sends("letter.send")
    def print_letter(task, begun):
        tries.append(task.payload["business"])
        if task.payload["business"] == "no paper":
            return rejected("there is no paper of this size")
        if len(tries) == 1:
            raise NotSent("the printer is switched off")
        return done(made_at(ground, "neither/sync", task.payload))

    switched_off = factum.perform("crm", "letter.send", {"business": "off"}, key="letter/3", wait=0)
    worker.run(idle=4)
    no_paper = factum.perform("crm", "letter.send", {"business": "no paper"}, key="letter/4", wait=0)
    worker.run(idle=1)
    assert isinstance(factum.wait(switched_off.id, 0), Done) and isinstance(factum.wait(no_paper.id, 0), NotDone)
    assert tries == ["off", "off", "no paper"]
    assert effects(ground, "off") == 1


def test_heartbeats_keep_what_takes_longer_than_its_lease(ground, factum):
    worker = Worker(factum, "crm")

    @worker.sends("letter.send")
    def print_slowly(task, begun):
        assert begun.lease < 4 < begun.limit
        time.sleep(4)
        return done(made_at(ground, "neither/sync", task.payload))

    begun = factum.perform("crm", "letter.send", {"business": "slow"}, key="letter/5", wait=0)
    assert worker.once(wait=5)
    assert isinstance(factum.wait(begun.id, 0), Done)
    assert not was_given_up(factum, begun.id)


class _LosesTheBegin(httpx.HTTPTransport):
    """Passes requests on, and loses the answer to the first begin."""

    lost = False

    def handle_request(self, request):
        answer = super().handle_request(request)
        if request.url.path.endswith("/begin") and not self.lost:
            self.lost = True
            answer.close()
            raise httpx.ReadError("the answer was lost", request=request)
        return answer


def test_a_lost_answer_to_the_begin_is_no_permission(ground):
    transport = _LosesTheBegin()
    with ground.factum(transport=transport) as factum:
        worker, attempts = Worker(factum, "crm"), []

        @worker.sends("letter.send")
        def print_letter(task, begun):
            attempts.append(begun.attempt)
            return done(made_at(ground, "neither/sync", task.payload))

        begun = factum.perform("crm", "letter.send", {"business": "astray"}, key="letter/6", wait=0)
        worker.run(idle=4)
        assert isinstance(factum.wait(begun.id, 0), Done)
    assert transport.lost and attempts == [2] and effects(ground, "astray") == 1


DIES = """
    import os, sys, httpx
    from factum_client import Factum, Worker
    worker = Worker(Factum(), "crm")

    @worker.sends("invoice.create")
    def create(task, begun):
        httpx.post(sys.argv[1] + "/key/sync/effects", json=task.payload, headers={"Idempotency-Key": begun.key}).raise_for_status()
        os._exit(7)

    worker.run(idle=10)
"""


def program(ground, text):
    """Runs a program against the engine, and gives its exit status."""
    environment = {"FACTUM_URL": ground.url, "FACTUM_TOKEN": ground.token, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(text), ground.destination]
    return subprocess.run(command, check=False, env=environment, timeout=60).returncode


def test_what_a_dead_worker_may_have_done_is_repeated_under_its_key(ground, factum):
    begun = factum.perform("crm", "invoice.create", {"business": "invoice"}, key="invoice/1", wait=0)
    assert program(ground, DIES) == 7
    keys, worker = [], Worker(factum, "crm")

    @worker.sends("invoice.create")
    def create(task, begun):
        keys.append(begun.key)
        return done(made_at(ground, "key/sync", task.payload, {"Idempotency-Key": begun.key}))

    worker.run(idle=8)
    assert isinstance(factum.wait(begun.id, 0), Done)
    assert was_given_up(factum, begun.id)
    assert len(keys) == 1 and effects(ground, "invoice") == 1


def test_an_attempt_makes_its_effect_once_and_joins_afterwards(ground, factum):
    for expected in (True, False):
        with attempt(factum, "crm", "letter.send", {"business": "own"}, key="own/1") as letter:
            begun = letter.begin()
            if begun:
                assert letter.begun.reference and not letter.begin()
                letter.report(done(made_at(ground, "neither/sync", {"business": "own"})))
        assert begun is expected and isinstance(letter.outcome, Done)
    assert effects(ground, "own") == 1


def test_an_attempt_that_ends_without_a_word_is_unknown_and_is_not_made_again(ground, factum):
    with pytest.raises(TimeoutError), attempt(factum, "crm", "letter.send", {"business": "mute"}, key="own/2") as letter:
        assert letter.begin()
        made_at(ground, "neither/sync", {"business": "mute"})
        raise TimeoutError("no answer")
    assert isinstance(letter.outcome, Unknown) and "Do not call this tool again" in letter.outcome.for_model().text
    with attempt(factum, "crm", "letter.send", {"business": "mute"}, key="own/2", wait=1) as again:
        assert not again.begin()
        with pytest.raises(RuntimeError, match="nothing was begun"):
            again.report(done("L-1"))
    assert isinstance(again.outcome, Unknown) and again.outcome.asks_a_person
    assert effects(ground, "mute") == 1


def test_an_attempt_that_was_not_begun_or_certainly_not_sent_may_be_made_later(ground, factum):
    for key, body in (("own/3", "left"), ("own/4", "not sent")):
        try:
            with attempt(factum, "crm", "letter.send", {"business": body}, key=key) as letter:
                if body == "not sent":
                    assert letter.begin()
                    raise NotSent("the printer is switched off")
        except NotSent:
            pass
        assert not isinstance(letter.outcome, (Done, NotDone))
        with attempt(factum, "crm", "letter.send", {"business": body}, key=key, wait=10) as letter:
            assert letter.begin()
            letter.report(done(made_at(ground, "neither/sync", {"business": body})))
        assert isinstance(letter.outcome, Done) and effects(ground, body) == 1


KILLED = """
    import os, sys, httpx
    from factum_client import Factum, attempt
    with attempt(Factum(), "crm", "letter.send", {"business": "killed"}, key="own/5") as letter:
        assert letter.begin()
        httpx.post(sys.argv[1] + "/neither/sync/effects", json={"business": "killed"}).raise_for_status()
        os._exit(7)
"""


def test_an_attempt_of_a_killed_program_is_not_made_a_second_time(ground, factum):
    assert program(ground, KILLED) == 7
    with attempt(factum, "crm", "letter.send", {"business": "killed"}, key="own/5", wait=4) as letter:
        assert not letter.begin()
    assert isinstance(letter.outcome, Unknown)
    assert effects(ground, "killed") == 1


def test_an_attempt_with_a_wrong_key_raises_before_anything(ground, factum):
    with pytest.raises(Refused) as conflict, attempt(factum, "crm", "letter.send", {"business": "other"}, key="own/1"):
        raise AssertionError("the block is not entered")
    assert conflict.value.problem.code == "F1007"
    with pytest.raises(ValueError, match="name the intent"), attempt(Factum("http://127.0.0.1:9"), "crm", "letter.send", {}, key=None):
        pass

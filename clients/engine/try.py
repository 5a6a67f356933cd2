"""Starts the engine that was installed beside the client, and loses an answer."""

from factum_client import Done
from factum_client.testing import Playground, program

with Playground() as ground, ground.factum() as factum:
    ground.lose_next_answer()
    outcome = factum.perform("bed", "key.sync", {"business": "order-77"}, key="order-77", wait=60)
    assert isinstance(outcome, Done) and ground.effects() == 1, outcome
    print(program(), outcome.receipt)

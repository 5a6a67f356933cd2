"""What the tests of adapters share: one playground, and a tool of the kind that support agents have."""

import pytest

from factum_client import tool
from factum_client.testing import Playground


@pytest.fixture(scope="module")
def ground():
    with Playground() as playground:
        yield playground


@pytest.fixture
def create_ticket(ground):
    """A tool that comes back before an outcome is known, and leaves nothing to lookups: its destination knows keys."""
    ground.faults("")
    with ground.factum() as factum:
        @tool(factum, "bed", "key.sync", key="ticket/{scope}/{order}", wait=0.3, payload=lambda order: {"business": order})
        def create_ticket(order: str):
            """Opens a ticket for an order."""

        yield create_ticket


@pytest.fixture
def announce(ground):
    """A tool whose destination cannot tell what became of a lost answer."""
    with ground.factum() as factum:
        @tool(factum, "bed", "neither.sync", key="announce/{scope}/{text}", wait=20, payload=lambda text: {"business": text})
        def announce(text: str):
            """Sends an announcement."""

        yield announce


def effects(ground, business):
    return ground.counts()["by_business"].get(business, 0)

"""Where answers are lost, and what the destination promises.

A scenario is a fault plan of the testbed and, where the worker is killed, the moment and the time that it stays down. Each
scenario runs every kind of destination at once, the same number of effects each.
"""

from dataclasses import dataclass

#: What a destination offers after a lost answer.
KINDS = {
    "key": "honours an idempotency key and replays the first answer",
    "lookup": "no key; a complete search by the caller's reference",
    "cancel": "no key; a request can be cancelled under the name it was given",
    "lagging": "no key; a search that lags and is not complete",
    "neither": "no key, no search",
}

#: Seconds until a caller gives up on an answer, the same for every system.
CALL_TIMEOUT = 2.0
#: How long after landing the lagging search shows an effect, in seconds.
SEARCH_LAG = 3


@dataclass(frozen=True)
class Kill:
    """The worker is killed with SIGKILL."""

    #: "submitted": once all effects are submitted; "in_flight": once all requests have arrived, while the answers are held
    #: back; "landed": once the first effects are in the ledger.
    when: str
    #: Seconds until it is started again.
    down: float = 1.0


@dataclass(frozen=True)
class Scenario:
    name: str
    says: str
    #: Rules of the testbed's fault plan; `per=reference` counts the requests of each effect.
    faults: str = ""
    kill: Kill | None = None
    #: How long the destination keeps a key, in seconds; none for a day.
    key_retention: int | None = None


FIRST = "n=1,per=reference,class=effect"

SCENARIOS = [
    Scenario("clean", "nothing is lost"),
    Scenario("before-act", "the first request is read and dropped", f"close_after_read,{FIRST}"),
    Scenario("after-act", "the first request acts, and its answer is lost", f"close_rst,{FIRST}"),
    Scenario("mid-answer", "the first answer is cut in its body", f"cut_body,{FIRST}"),
    Scenario("late", "the first answer comes after the caller gave up", f"late_answer=5000,{FIRST}"),
    Scenario("acts-late", "the connection is lost first, and the destination acts 4 s later", f"delayed_commit=4000,{FIRST}"),
    Scenario("error-after-act", "the first request acts, and a gateway answers 502", f"status=502,{FIRST}"),
    Scenario("killed-before", "the worker is killed when all effects are submitted", kill=Kill("submitted")),
    Scenario("killed-during", "the worker is killed while the answers are on their way", f"late_answer=1500,{FIRST}",
             kill=Kill("in_flight")),
    Scenario("killed-after", "the worker is killed when the first effects have landed", kill=Kill("landed")),
    Scenario("past-the-window", "the answer is lost, the worker is down until the key has expired", f"close_rst,{FIRST}",
             kill=Kill("landed", down=100), key_retention=90),
]

"""Blows at workers: which one, when, and whether it is killed, stopped or let go on, at random from a seed.

What is drawn follows from the seed alone; what it meets depends on the machine. Each blow is written to standard error, which is the
adapter's log.
"""

import random
import signal
import sys
import threading
from collections.abc import Callable

from processes import Child

#: Blows in one run, seconds from one to the next, and seconds that a worker stays away: also longer than others wait for its word.
COUNT, BETWEEN, AWAY = 10, (0.1, 1.5), (0.1, 14.0)


class Blows:
    """Workers by number, each of them up, killed or stopped."""

    def __init__(self, seed: str, count: int, start: Callable[[int], Child], ready: Callable[[int], None]):
        self._draws = random.Random(seed)
        self._start, self._ready = start, ready
        self._workers: list[Child] = []
        #: Who is away, and by what: SIGKILL or SIGSTOP.
        self._away: dict[int, signal.Signals] = {}
        self._lock, self._end = threading.RLock(), threading.Event()
        self._threads: list[threading.Thread] = []
        for number in range(count):
            self._workers.append(start(number))
            # The first one makes the keys.
            ready(number)
        self._tell(f"seed {seed}")

    def begin(self) -> None:
        """Blows fall beside whatever else is done, until there were enough."""
        plan = [(self._draws.uniform(*BETWEEN), self._draws.randrange(len(self._workers)), self._how(), self._draws.uniform(*AWAY))
                for _ in range(COUNT)]
        self._beside(self._fall, plan)

    def living(self) -> list[int]:
        with self._lock:
            return [number for number in range(len(self._workers)) if number not in self._away]

    def all_away(self) -> None:
        """Every worker goes away, each by what is drawn, and stays away; no further blow falls."""
        self._end_blows()
        for number in range(len(self._workers)):
            self._hit(number, self._how())

    def all_back(self) -> None:
        for number in range(len(self._workers)):
            self._back(number)

    def stop(self) -> None:
        self._end_blows()
        self.all_back()
        for worker in self._workers:
            worker.stop()

    def _end_blows(self) -> None:
        self._end.set()
        # One that is just falling may begin another one.
        while self._threads:
            self._threads.pop().join()

    def _how(self) -> signal.Signals:
        """One that is alone is killed: nobody could go on beside it."""
        if len(self._workers) == 1:
            return signal.SIGKILL
        return self._draws.choice([signal.SIGKILL, signal.SIGSTOP])

    def _fall(self, plan: list[tuple[float, int, signal.Signals, float]]) -> None:
        for wait, number, how, away in plan:
            if self._end.wait(wait):
                return
            with self._lock:
                # Somebody has to be there to be asked.
                hits = number not in self._away and len(self._away) < len(self._workers) - 1
                if hits:
                    self._hit(number, how)
            if hits:
                self._beside(self._after, away, number)

    def _after(self, away: float, number: int) -> None:
        if not self._end.wait(away):
            self._back(number)

    def _beside(self, what: Callable, *words) -> None:
        thread = threading.Thread(target=what, args=words, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _hit(self, number: int, how: signal.Signals) -> None:
        with self._lock:
            if number in self._away:
                return
            self._away[number] = how
            self._tell(f"worker {number}: {how.name}")
            if how == signal.SIGKILL:
                self._workers[number].kill()
            else:
                self._workers[number].send(how)

    def _back(self, number: int) -> None:
        with self._lock:
            how = self._away.get(number)
            if how is None:
                return
            if how == signal.SIGKILL:
                self._tell(f"worker {number}: started")
                self._workers[number] = self._start(number)
                self._ready(number)
            else:
                self._tell(f"worker {number}: SIGCONT")
                self._workers[number].send(signal.SIGCONT)
            del self._away[number]

    @staticmethod
    def _tell(text: str) -> None:
        print(f"blows: {text}", file=sys.stderr, flush=True)

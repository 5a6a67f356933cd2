"""A worker for tasks of asyncio; `work` has the same for threads, and the words for reports.

    worker = AsyncWorker(AsyncFactum(), "crm", at_once=8)

    @worker.sends("contact.create")
    async def create(task: Task, begun: Begun) -> Report:
        answer = await crm.create(task.payload, reference=begun.reference, timeout=begun.limit)
        return done(answer.id)

    await worker.run()

A function that is cancelled after its begin has said nothing: what it did is reported as unknown before the cancellation goes on.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from . import exchanges, work_steps
from .aio import AsyncFactum
from .errors import FactumError, Refused
from .exchanges import Call
from .work import PAUSE_MAX, heard, not_sent, unknown, wishes
from .work_steps import Begun, Report, Task

__all__ = ["AsyncWorker"]

_log = logging.getLogger(__name__)

Sender = Callable[[Task, Begun], Awaitable[Report]]
Finder = Callable[[Task], Awaitable[Report]]
Preparation = Callable[[Task], Awaitable[object]]


class AsyncWorker:
    """As `Worker`, with `await`, and `at_once` things at a time."""

    def __init__(self, factum: AsyncFactum, *destinations: str, lease: float = 60.0, at_once: int = 1):
        """`lease` is how long a claim is held without word, in seconds; heartbeats extend it."""
        self._factum, self._destinations, self._lease, self._at_once = factum, destinations, lease, at_once
        self._senders: dict[str, tuple[Sender, Preparation | None]] = {}
        self._finders: dict[str, Finder] = {}
        self._stopped = asyncio.Event()
        self._failed = 0

    def sends(self, *operations: str, prepare: Preparation | None = None) -> Callable[[Sender], Sender]:
        """As `Worker.sends`."""
        def kept(function: Sender) -> Sender:
            self._senders |= {operation: (function, prepare) for operation in operations}
            return function
        return kept

    def looks_up(self, *operations: str) -> Callable[[Finder], Finder]:
        """As `Worker.looks_up`."""
        def kept(function: Finder) -> Finder:
            self._finders |= dict.fromkeys(operations, function)
            return function
        return kept

    def stop(self) -> None:
        """Ends `run` once what is being done is done."""
        self._stopped.set()

    async def run(self, idle: float | None = None) -> None:
        """Works until it is stopped, or until there was nothing to do for `idle` seconds. What is under way when this is cancelled is reported."""
        clock = asyncio.get_running_loop().time
        last, busy = clock(), set[asyncio.Task[None]]()
        try:
            while not self._stopped.is_set() and (idle is None or busy or clock() - last < idle):
                tasks = await self._claim(self._at_once - len(busy), wait=1 if busy else 20 if idle is None else min(idle, 20))
                busy |= {asyncio.create_task(self._do(task)) for task in tasks}
                if tasks:
                    last = clock()
                if len(busy) >= self._at_once:
                    await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED)
                for ended in [one for one in busy if one.done()]:
                    busy.discard(ended)
                    ended.result()
                    last = clock()
            await asyncio.gather(*busy)
        finally:
            for one in busy:
                one.cancel()
            await asyncio.gather(*busy, return_exceptions=True)

    async def once(self, wait: float = 0) -> bool:
        """Does the next thing that waits, and says whether there was one."""
        tasks = await self._claim(1, wait)
        for task in tasks:
            await self._do(task)
        return bool(tasks)

    async def _claim(self, most: int, wait: float) -> list[Task]:
        for operations, kind, share in wishes(self._senders, self._finders, wait):
            steps = work_steps.claim(self._destinations, operations, kind=kind, most=most, lease=self._lease, wait=share,
                                     patience=self._factum.patience)
            if tasks := await self._factum.drive(steps):
                return tasks
        return []

    async def _do(self, task: Task) -> None:
        if task.kind == "look_up":
            await self._told(task, self._finders[task.operation](task), "inconclusive", self._lease)
            return
        sender, prepare = self._senders[task.operation]
        if prepare is not None and not await self._prepared(task, prepare):
            return
        # Whether a begin was recorded has to be known, and said, also by a program that is told to end.
        begun = await _to_its_end(self._factum.drive(work_steps.begin(task, self._factum.patience)))
        if begun is None:
            return
        if begun.seconds_left <= 0:
            await self._report(task, not_sent("the permission ran out before the call"))
            return
        await self._told(task, sender(task, begun), "unknown", begun.lease)

    async def _told(self, task: Task, call: Awaitable[Report], otherwise: str, lease: float) -> None:
        """Reports what a function says; what it raises speaks for nothing, unless it is `NotSent`."""
        try:
            async with self._heart(task, lease):
                said = heard(await call, otherwise)
        except asyncio.CancelledError:
            await _to_its_end(self._report(task, work_steps.because(otherwise, "the worker was told to end during the call")))
            raise
        except Exception as error:  # noqa: BLE001 (it is logged and reported)
            said = heard(error, otherwise)
        await _to_its_end(self._report(task, said))

    async def _prepared(self, task: Task, prepare: Preparation) -> bool:
        try:
            async with self._heart(task, self._lease):
                await prepare(task)
        except Exception:  # noqa: BLE001 (it is logged, and nothing follows from it)
            _log.exception("preparing %s %s failed; nothing was begun", task.operation, task.action)
            await self._factum.drive(work_steps.give_back(task))
            # It is free at once, for others too: this worker holds back for a while.
            self._failed += 1
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), min(2.0 ** self._failed / 2, PAUSE_MAX))
            return False
        self._failed = 0
        return True

    async def _report(self, task: Task, said: Report) -> None:
        """A report is a fact: it is repeated until the engine has it."""
        try:
            await self._factum.drive(work_steps.report(task, said, patience=float("inf")))
        except Refused as refused:
            _log.error("the report %s of %s was refused: %s", said.outcome, task.action, refused)
            if said.outcome != "unknown" and task.kind == "send":
                await self._report(task, unknown(f"the worker's report was refused: {refused}"))

    @contextlib.asynccontextmanager
    async def _heart(self, task: Task, lease: float) -> AsyncIterator[None]:
        """Says that the work goes on, for as long as its block lasts."""
        beating = asyncio.create_task(self._beat(task, max(lease / 3, 0.2)))
        try:
            yield
        finally:
            beating.cancel()

    async def _beat(self, task: Task, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            try:
                await self._factum.drive(exchanges.ask(Call("POST", f"/v1/work/{task.claim}/heartbeat", {}), patience=0))
            except Refused:
                return
            except FactumError:
                continue


async def _to_its_end(steps: Coroutine[Any, Any, exchanges.T]) -> exchanges.T:
    """Carries something out whole: a cancellation meanwhile goes on after it."""
    carried = asyncio.ensure_future(steps)
    try:
        return await asyncio.shield(carried)
    except asyncio.CancelledError:
        await asyncio.wait([carried])
        raise

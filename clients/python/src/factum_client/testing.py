"""An engine and a destination that loses answers, for tests: to see what an agent does when it meets an unknown outcome.

    with Playground(destinations={"helpdesk": "zendesk"}, stand_ins=["zendesk.ticket.create"]) as ground:
        ground.lose_next_answer()
        outcome = ground.factum().perform("helpdesk", "ticket.create", {...}, key="order/77")
        assert ground.effects() == 1

Needs the program `factum`: in `FACTUM_BIN`, on the path, or installed beside this package (`factum-engine`). Everything listens on loopback, on free ports.
"""

import json
import os
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from typing_extensions import Self

from .aio import AsyncFactum
from .client import Factum

#: Where keys and token are beside a store in a file.
_FOLDER = "factum-data"


def program() -> str:
    """Where the program `factum` is."""
    if found := os.environ.get("FACTUM_BIN") or shutil.which("factum") or shutil.which("factum", path=sysconfig.get_path("scripts")):
        return found
    raise FileNotFoundError("the program `factum` is not on the path: install it (`pip install factum-engine`), or name it in FACTUM_BIN")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Playground:
    """`factum testbed` and `factum serve` in a folder of their own, ended with the block."""

    def __init__(self, *, destinations: dict[str, str] | None = None, stand_ins: list[str] | None = None, settings: str = "",
                 store: str | None = None, store_folder: str | None = None):
        """`destinations` are names and providers, all served by the one testbed; `settings` is more text for `factum.toml`.

        `store` is another store's address than that of a file; one on PostgreSQL has its keys and token in `store_folder`, below `folder`.
        """
        self._destinations = destinations or {"bed": "testbed"}
        self._stand_ins, self._settings = stand_ins or [], settings
        self._store, self._store_folder = store or f"sqlite:./{_FOLDER}/factum.db", store_folder or _FOLDER
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="factum-playground"))
        try:
            self._start_testbed()
            self._port = _free_port()
            self._configure()
            self.start_engine()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for child in reversed(self._children):
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def token(self) -> str:
        return (self.folder / self._store_folder / "admin.token").read_text().strip()

    def factum(self, **options: Any) -> Factum:
        """A client of the engine."""
        return Factum(self.url, self.token, **options)

    def async_factum(self, **options: Any) -> AsyncFactum:
        """A client of the engine, for tasks."""
        return AsyncFactum(self.url, self.token, **options)

    def faults(self, rules: str) -> None:
        """Which requests are hit by what from now on, in the words of `factum testbed --help`; an empty text ends faults."""
        request = urllib.request.Request(f"{self._admin}/faults", data=rules.encode(), method="PUT")
        urllib.request.urlopen(request, timeout=10).close()

    def lose_next_answer(self) -> None:
        """The next effect request is carried out, and its answer does not arrive."""
        self.faults("close_fin,n=1,class=effect")

    def effects(self) -> int:
        """How many effects there are at the destination."""
        return int(self.counts()["total_effects"])

    def counts(self) -> dict[str, Any]:
        """What really happened at the destination."""
        with urllib.request.urlopen(f"{self._admin}/ledger/counts", timeout=10) as answer:
            counts: dict[str, Any] = json.load(answer)
        return counts

    def kill_engine(self) -> None:
        """As a power cut: the engine's process ends at once."""
        engine = self._children.pop()
        engine.kill()
        engine.wait()

    def start_engine(self) -> None:
        """Starts the engine on what it had recorded."""
        log = (self.folder / "factum.log").open("ab")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FACTUM_")}
        self._children.append(subprocess.Popen([program(), "serve"], cwd=self.folder, stdout=log, stderr=log, env=environment))
        log.close()
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/readyz", timeout=5).close()
                return
            except (OSError, urllib.error.URLError):
                if self._children[-1].poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the engine did not start:\n{(self.folder / 'factum.log').read_text()}") from None
                time.sleep(0.05)

    def _start_testbed(self) -> None:
        command = [program(), "--json", "testbed", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        command += [word for operation in self._stand_ins for word in ("--stand-in", operation)]
        log = (self.folder / "testbed.log").open("ab")
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        log.close()
        self._children.append(child)
        assert child.stdout is not None
        line = child.stdout.readline()
        if not line:
            raise RuntimeError(f"the testbed did not start:\n{(self.folder / 'testbed.log').read_text()}")
        started = json.loads(line)
        self.destination, self._admin = started["address"], started["admin"]

    def _configure(self) -> None:
        lines = [f'server.listen = "127.0.0.1:{self._port}"', f'store.url = "{self._store}"']
        if self._store_folder != _FOLDER:
            lines.append(f'store.folder = "{self._store_folder}"')
        for name, provider in self._destinations.items():
            lines += [f"[destinations.{name}]", f'provider = "{provider}"', f'base = "{self.destination}"', 'account = "playground"',
                      'limits.answer_wait = "2 s"']
        (self.folder / "factum.toml").write_text("\n".join([*lines, self._settings, ""]))

"""Factum: `factum serve` with the testbed's contracts of the built-in catalogue.

One process on SQLite; with `--store postgres`, four on a PostgreSQL of their own, of which two are killed where the worker is to be
killed, and two are stopped and go on where it is to be started again. Where the run's key retention is not a day, the contract says so, as an operator's own contract would.
"""

import argparse
import os
import re
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from postgres import Postgres
from processes import Child, call, free_port, wait_for
from protocol import serve
from scenarios import KINDS

SOURCE = Path(__file__).resolve().parents[3]


class Factum:
    def __init__(self, store: str):
        self.store = store
        self.postgres: Postgres | None = None

    def start(self, destination: str, folder: str, timeout: float, key_retention: int | None = None) -> None:
        self.folder = Path(folder)
        self.ids: dict[str, str] = {}
        self.turn = 0
        lines = []
        if key_retention:
            self._own_contracts(key_retention)
            lines.append('contracts = "./contracts"')
        if self.store == "postgres":
            self.postgres = Postgres(self.folder / "database", self.folder / "postgres.log")
            lines += [f'store.url = "{self.postgres.url}"', 'store.folder = "./factum-data"']
        else:
            lines.append('store.url = "sqlite:./factum-data/factum.db"')
        for kind in KINDS:
            lines += [f"[destinations.{kind}]", 'provider = "testbed"', f'base = "{destination}"', 'account = "testbed"',
                      f"limits.answer_wait = \"{int(timeout * 1000)} ms\""]
        (self.folder / "factum.toml").write_text("\n".join(lines) + "\n")
        self.ports = [free_port() for _ in range(4 if self.postgres else 1)]
        self.engines: list[Child] = []
        for number, port in enumerate(self.ports):
            self.engines.append(self._serve(number))
            # The first one makes the keys.
            self._ready(port)
        token = (self.folder / "factum-data" / "admin.token").read_text().strip()
        self.headers = {"authorization": f"bearer {token}"}

    def _serve(self, number: int) -> Child:
        env = {"FACTUM_SERVER__LISTEN": f"127.0.0.1:{self.ports[number]}"}
        log = self.folder / f"factum-{number}.log"
        return Child([os.environ["LOST_ANSWER_FACTUM"], "serve"], log, env=env, cwd=self.folder)

    def _own_contracts(self, key_retention: int) -> None:
        own = self.folder / "contracts" / "testbed"
        own.mkdir(parents=True)
        for file in (SOURCE / "contracts" / "testbed").glob("*.toml"):
            text = re.sub(r'retention = \{ floor = "24 h" \}', f'retention = {{ floor = "{key_retention} s" }}', file.read_text())
            (own / file.name).write_text(text)

    def _stopped(self) -> list[int]:
        """Those that stand still where the others are killed."""
        return [2, 3] if self.postgres else []

    def kill(self) -> None:
        for number, engine in enumerate(self.engines):
            if number in self._stopped():
                engine.send(signal.SIGSTOP)
            else:
                engine.kill()

    def restart(self) -> None:
        for number, engine in enumerate(self.engines):
            if number in self._stopped():
                engine.send(signal.SIGCONT)
            else:
                self.engines[number] = self._serve(number)
        for port in self.ports:
            self._ready(port)

    def _ready(self, port: int) -> None:
        wait_for(port)
        for attempt in range(300):
            try:
                call("GET", f"http://127.0.0.1:{port}/readyz")
                return
            except (OSError, RuntimeError):
                if attempt == 299:
                    raise
                time.sleep(0.1)

    def submit(self, id: str, kind: str) -> None:
        body = {"destination": kind, "operation": f"{kind}.sync", "key": id, "payload": {"business": id}}
        self.ids[id] = call("POST", f"{self._url()}/actions", body, self.headers)["id"]

    def status(self, ids: list[str]) -> dict:
        return {"says": {id: self._word(call("GET", f"{self._url()}/actions/{self.ids[id]}", None, self.headers)) for id in ids}}

    @staticmethod
    def _word(status: dict) -> str:
        if status["state"] == "succeeded":
            return "done"
        if status["state"] in ("terminal_failure", "cancelled", "expired"):
            return "not_done"
        if status["next"]["do"] == "review":
            return "asked"
        return "unknown" if status["next"]["do"] == "none" else "pending"

    def _url(self) -> str:
        """Of each worker in turn."""
        self.turn = (self.turn + 1) % len(self.ports)
        return f"http://127.0.0.1:{self.ports[self.turn]}/v1"

    def stop(self) -> None:
        try:
            for engine in self.engines:
                engine.stop()
        finally:
            if self.postgres:
                self.postgres.stop()


parser = argparse.ArgumentParser()
parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
serve(Factum(parser.parse_args().store))

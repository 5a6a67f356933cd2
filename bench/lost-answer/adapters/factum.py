"""Factum: `factum serve` with the testbed's contracts of the built-in catalogue.

One process on SQLite; with `--store postgres`, four on a PostgreSQL of their own, which are killed, stopped and let go on at random, in every
scenario in which anything is lost (`blows.py`). Where the worker is to be killed, all of them go away at once, each by what is drawn. Where the run's key retention is not a day, the contract says so, as an operator's own contract would.
"""

import argparse
import http.client
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from blows import Blows
from postgres import Postgres
from processes import Child, call, free_port, wait_for
from protocol import serve
from scenarios import KINDS

SOURCE = Path(__file__).resolve().parents[3]


class Factum:
    def __init__(self, store: str):
        self.store = store
        self.postgres: Postgres | None = None
        self.blows: Blows | None = None

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
        seed = os.environ.get("LOST_ANSWER_SEED", "")
        self.blows = Blows(seed, len(self.ports), self._serve, self._ready)
        token = (self.folder / "factum-data" / "admin.token").read_text().strip()
        self.headers = {"authorization": f"bearer {token}"}
        if self.postgres and seed:
            self.blows.begin()

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

    def kill(self) -> None:
        self.blows.all_away()

    def restart(self) -> None:
        self.blows.all_back()

    def _ready(self, number: int) -> None:
        port = self.ports[number]
        wait_for(port)
        for attempt in range(300):
            try:
                call("GET", f"http://127.0.0.1:{port}/readyz", timeout=5)
                return
            except (OSError, RuntimeError):
                if attempt == 299:
                    raise
                time.sleep(0.1)

    def submit(self, id: str, kind: str) -> None:
        body = {"destination": kind, "operation": f"{kind}.sync", "key": id, "payload": {"business": id}}
        self.ids[id] = self._ask("POST", "/actions", body)["id"]

    def status(self, ids: list[str]) -> dict:
        return {"says": {id: self._word(self._ask("GET", f"/actions/{self.ids[id]}")) for id in ids}}

    @staticmethod
    def _word(status: dict) -> str:
        if status["state"] == "succeeded":
            return "done"
        if status["state"] in ("terminal_failure", "cancelled", "expired"):
            return "not_done"
        if status["next"]["do"] == "review":
            return "asked"
        return "unknown" if status["next"]["do"] == "none" else "pending"

    def _ask(self, method: str, path: str, body: dict | None = None) -> dict:
        """Of each living worker in turn. Whoever goes away meanwhile is not waited for: the same key joins at another one."""
        for attempt in range(200):
            self.turn += 1
            living = self.blows.living()
            if living:
                port = self.ports[living[self.turn % len(living)]]
                try:
                    return call(method, f"http://127.0.0.1:{port}/v1{path}", body, self.headers, timeout=5)
                except (OSError, http.client.HTTPException):
                    pass
            time.sleep(0.05)
        raise RuntimeError(f"nobody answers {method} {path}")

    def stop(self) -> None:
        try:
            if self.blows:
                self.blows.stop()
        finally:
            if self.postgres:
                self.postgres.stop()


parser = argparse.ArgumentParser()
parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
serve(Factum(parser.parse_args().store))

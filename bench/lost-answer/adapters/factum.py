"""Factum: `factum serve` on SQLite, with the testbed's contracts of the built-in catalogue.

Where the run's key retention is not a day, the contract says so, as an operator's own contract would.
"""

import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from processes import Child, call, free_port, wait_for
from protocol import serve
from scenarios import KINDS

SOURCE = Path(__file__).resolve().parents[3]


class Factum:
    def start(self, destination: str, folder: str, timeout: float, key_retention: int | None = None) -> None:
        self.folder = Path(folder)
        self.ids: dict[str, str] = {}
        self.port = free_port()
        lines = []
        if key_retention:
            self._own_contracts(key_retention)
            lines.append('contracts = "./contracts"')
        lines += [f'server.listen = "127.0.0.1:{self.port}"', 'store.url = "sqlite:./factum-data/factum.db"']
        for kind in KINDS:
            lines += [f"[destinations.{kind}]", 'provider = "testbed"', f'base = "{destination}"', 'account = "testbed"',
                      f"limits.answer_wait = \"{int(timeout * 1000)} ms\""]
        (self.folder / "factum.toml").write_text("\n".join(lines) + "\n")
        self.restart()

    def _own_contracts(self, key_retention: int) -> None:
        own = self.folder / "contracts" / "testbed"
        own.mkdir(parents=True)
        for file in (SOURCE / "contracts" / "testbed").glob("*.toml"):
            text = re.sub(r'retention = \{ floor = "24 h" \}', f'retention = {{ floor = "{key_retention} s" }}', file.read_text())
            (own / file.name).write_text(text)

    def restart(self) -> None:
        self.engine = Child([os.environ["LOST_ANSWER_FACTUM"], "serve"], self.folder / "factum.log", cwd=self.folder)
        wait_for(self.port)
        self._ready()
        token = (self.folder / "factum-data" / "admin.token").read_text().strip()
        self.headers = {"authorization": f"bearer {token}"}

    def _ready(self) -> None:
        for attempt in range(300):
            try:
                call("GET", f"http://127.0.0.1:{self.port}/readyz")
                return
            except (OSError, RuntimeError):
                if attempt == 299:
                    raise
                time.sleep(0.1)

    def kill(self) -> None:
        self.engine.kill()

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
        return f"http://127.0.0.1:{self.port}/v1"

    def stop(self) -> None:
        self.engine.stop()


serve(Factum())

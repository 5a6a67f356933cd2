"""One `factum serve` in a folder of the run: configured, started, asked, killed, stopped."""

import json
import re
import time
import urllib.request
from pathlib import Path

from rig import Child, Door, call, free_port

CONTRACTS = Path(__file__).resolve().parent / "contracts"
#: What is not settled, or may still become so.
OPEN = ("pending", "dispatching", "retryable_failure", "outcome_unknown")


class Server:
    """A server on a store of its own. `destinations` is TOML; `more` is TOML that stands before it."""

    def __init__(self, program: Path, folder: Path, destinations: str, *, store: str | None = None, data: Path | None = None, more: str = ""):
        self.program, self.folder = program, folder
        self.data = data or folder / "factum-data"
        self.store = store or f"sqlite:{self.data}/factum.db"
        self.destinations, self.more = destinations, more
        self._child: Child | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def configure(self) -> None:
        self.port = free_port()
        (self.folder / "factum.toml").write_text("\n".join([
            f'contracts = "{CONTRACTS}"', f'server.listen = "127.0.0.1:{self.port}"', f'store.url = "{self.store}"',
            f'store.folder = "{self.data}"', self.more, self.destinations, ""]))

    def start(self, patience: float = 600) -> float:
        """Seconds until it is ready."""
        self.configure()
        began = time.monotonic()
        self._child = Child([str(self.program), "serve"], self.folder / "factum.log", cwd=self.folder)
        end = began + patience
        while True:
            try:
                self.get("/readyz")
                break
            except (OSError, RuntimeError) as error:
                if time.monotonic() > end:
                    raise RuntimeError(f"the server is not ready after {patience} s: {error}") from error
                time.sleep(0.02)
        took = time.monotonic() - began
        self.token = (self.data / "admin.token").read_text().strip()
        return took

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> dict:
        return self._call("GET", path)

    def post(self, path: str, body: dict, headers: dict[str, str] | None = None) -> dict:
        return self._call("POST", path, body, headers)

    def _call(self, method: str, path: str, body: dict | None = None, headers: dict[str, str] | None = None) -> dict:
        token = {"authorization": f"Bearer {self.token}"} if hasattr(self, "token") else {}
        return call(method, self.url + path, body, {**token, **(headers or {})})

    def door(self, mode: str, destination: str = "sink", operation: str = "effect.perform", wait: int = 60) -> Door:
        """Where submissions go: `sync` ones wait for their outcome."""
        headers = [f"authorization: Bearer {self.token}"] + ([f"prefer: wait={wait}"] if mode == "sync" else [])
        body = {"destination": destination, "operation": operation, "payload": {"key": "{key}", "payload": "{payload}"}}
        return Door([f"{self.url}/v1/actions"], headers, json.dumps(body))

    def unsettled(self, states: tuple[str, ...] = OPEN) -> int:
        """How many of these states have an action at all."""
        return sum(len(self.get(f"/v1/actions?state={state}&limit=1")["actions"]) for state in states)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's rows that have these labels."""
        request = urllib.request.Request(f"{self.url}/metrics", headers={"authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            page = answer.read().decode()
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        rows = re.findall(rf"^{name}(\{{[^}}]*\}})? ([0-9.e+-]+)$", page, re.MULTILINE)
        return sum(float(value) for row, value in rows if all(one in row for one in wanted))

    def kill(self) -> None:
        self._child.kill()

    def stop(self) -> None:
        if self._child:
            self._child.stop()

    def bytes_on_disk(self) -> int:
        return sum(file.stat().st_size for file in self.data.glob("factum.db*"))


def destination(name: str, base: str, provider: str = "sink", more: str = "") -> str:
    """TOML of a destination."""
    return f'[destinations.{name}]\nprovider = "{provider}"\nbase = "{base}"\naccount = "{name}"\n{more}\n'

"""An adapter for systems that live in a worker process with a small HTTP door: `POST /submit` and `POST /status`.

The worker is killed and restarted; a database or server beside it stays up. A subclass says which processes those are.
"""

import time
from pathlib import Path

from processes import Child, call, free_port, wait_for


class WorkerAdapter:
    #: None until the first start.
    worker: Child | None = None

    def start(self, destination: str, folder: str, timeout: float, key_retention: int | None = None) -> None:
        del key_retention  # a system that takes no account of it
        self.folder = Path(folder)
        self.port = free_port()
        self.env = {"DESTINATION": destination, "CALL_TIMEOUT": str(timeout), "PORT": str(self.port),
                    "FOLDER": folder, **self.services()}
        self.restart()
        self.ready()

    def services(self) -> dict[str, str]:
        """Starts what the worker needs; the environment that it finds it by."""
        return {}

    def command(self) -> list[str]:
        raise NotImplementedError

    def ready(self) -> None:
        """Once, after the first start."""

    def end_services(self) -> None:
        """The opposite of `services`."""

    def restart(self) -> None:
        self.worker = Child(self.command(), self.folder / "worker.log", self.env)
        wait_for(self.port)

    def kill(self) -> None:
        self.worker.kill()

    def submit(self, id: str, kind: str) -> None:
        # A caller that was not answered asks again, with the same id; every system here takes that.
        for attempt in range(5):
            try:
                call("POST", f"http://127.0.0.1:{self.port}/submit", {"id": id, "kind": kind})
                return
            except OSError:
                if attempt == 4:
                    raise
                time.sleep(0.2)

    def status(self, ids: list[str]) -> dict:
        return {"says": call("POST", f"http://127.0.0.1:{self.port}/status", {"ids": ids})}

    def stop(self) -> None:
        if self.worker is not None:
            self.worker.stop()
        self.end_services()

"""pg-boss and DBOS on a private PostgreSQL, Restate beside its own server: workers in Node."""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from postgres import Postgres
from processes import Child, call, free_port, wait_for
from protocol import serve
from worker import WorkerAdapter

PACKAGES = Path(os.environ["LOST_ANSWER_NODE"])


class OnPostgres(WorkerAdapter):
    #: None until it is started.
    postgres: Postgres | None = None

    def __init__(self, app: str):
        self.app = app

    def services(self) -> dict[str, str]:
        self.postgres = Postgres(self.folder, self.folder / "postgres.log")
        return {"PG_URL": self.postgres.url}

    def end_services(self) -> None:
        if self.postgres is not None:
            self.postgres.stop()

    def command(self) -> list[str]:
        return [str(PACKAGES / "node_modules/.bin/node"), str(PACKAGES / f"{self.app}.mjs")]


class OnRestate(OnPostgres):
    """The server keeps running when the worker is killed: it is the database here."""

    server: Child | None = None

    def services(self) -> dict[str, str]:
        ports = {name: free_port() for name in ("ingress", "admin", "node", "service")}
        server = str(PACKAGES / "node_modules/@restatedev/restate-server-linux-x64/bin/restate-server")
        self.server = Child([server], self.folder / "restate.log", {
            "RESTATE_BASE_DIR": str(self.folder / "restate"), "RESTATE_NODE_NAME": "bench", "RESTATE_DISABLE_TELEMETRY": "true",
            "DO_NOT_TRACK": "1", "RESTATE_BIND_IP": "127.0.0.1", "RESTATE_ADVERTISED_HOST": "127.0.0.1",
            "RESTATE_BIND_PORT": str(ports["node"]), "RESTATE_INGRESS__BIND_PORT": str(ports["ingress"]),
            "RESTATE_ADMIN__BIND_PORT": str(ports["admin"]), "RESTATE_DEFAULT_NUM_PARTITIONS": "1", "RUST_LOG": "warn",
        })
        wait_for(ports["admin"])
        self.admin, self.service = f"http://127.0.0.1:{ports['admin']}", ports["service"]
        return {"RESTATE_INGRESS": f"http://127.0.0.1:{ports['ingress']}", "RESTATE_ADMIN": self.admin,
                "SERVICE_PORT": str(self.service)}

    def ready(self) -> None:
        wait_for(self.service)
        for attempt in range(60):
            try:
                call("POST", f"{self.admin}/deployments", {"uri": f"http://127.0.0.1:{self.service}"})
                return
            except (OSError, RuntimeError):
                if attempt == 59:
                    raise
                time.sleep(0.5)

    def end_services(self) -> None:
        if self.server is not None:
            self.server.stop()


app = sys.argv[1]
serve(OnRestate(app) if app == "restate" else OnPostgres(app))

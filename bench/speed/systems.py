"""The systems that are measured: how each is started, addressed, and asked whether everything is recorded.

`sync` is answered after the effect's outcome is recorded, `send` when the request is.
"""

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "bench/lost-answer/adapters"))
from postgres import BIN, Postgres
from processes import Child, call, free_port, wait_for


@dataclass(frozen=True)
class Tools:
    """What was built or installed for a run."""

    factum: Path
    rig: Path
    node: Path


@dataclass
class Door:
    """Where a mode's requests go."""

    url: str
    headers: list[str] = field(default_factory=list)
    body: str = '{"key":"{key}","payload":"{payload}"}'


class System:
    """One system beside the sink. `processes` are the roots of its own processes, by name."""

    name: str
    modes = ("sync", "send")

    def __init__(self, tools: Tools, folder: Path, sink: int):
        self.tools, self.folder, self.sink = tools, folder, sink
        self.processes: dict[str, int] = {}
        self._ends: list = []
        folder.mkdir(parents=True)

    def start(self) -> None:
        raise NotImplementedError

    def door(self, mode: str) -> Door:
        raise NotImplementedError

    def unrecorded(self) -> int:
        """How many effects have no recorded outcome."""
        raise NotImplementedError

    def stop(self) -> None:
        for end in reversed(self._ends):
            end()

    def run(self, name: str, command: list[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        child = Child(command, self.folder / f"{name}.log", env, cwd)
        self._ends.append(child.stop)
        self.processes[name] = child.pid

    def postgres(self) -> Postgres:
        cluster = Postgres(self.folder, self.folder / "postgres.log")
        self._ends.append(cluster.stop)
        self.processes["postgres"] = cluster.pid
        return cluster

    def count(self, cluster: Postgres, query: str) -> int:
        command = [str(BIN / "psql"), "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "bench", "-Atc", query, "bench"]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Floor(System):
    """The least program that does the work: no product."""

    name = "floor"

    def start(self) -> None:
        self.port = free_port()
        self.run("floor", [str(self.tools.rig / "floor"), "--port", str(self.port), "--file", str(self.folder / "floor.db"),
                           "--sink", f"http://127.0.0.1:{self.sink}/effect"])
        wait_for(self.port)

    def door(self, mode: str) -> Door:
        return Door(f"http://127.0.0.1:{self.port}/{mode}")

    def unrecorded(self) -> int:
        return call("GET", f"http://127.0.0.1:{self.port}/pending")


class Factum(System):
    """`factum serve` on SQLite, everything as it is by default."""

    name = "factum"

    def start(self) -> None:
        self.port = free_port()
        self.configure(f"sqlite:{self.folder}/factum-data/factum.db")
        self.run("factum", [str(self.tools.factum), "serve"], cwd=self.folder)
        wait_for(self.port)
        self._ready()
        self.token = (self.folder / "factum-data/admin.token").read_text().strip()

    def configure(self, store: str) -> None:
        (self.folder / "factum.toml").write_text("\n".join([
            f'server.listen = "127.0.0.1:{self.port}"', f'store.url = "{store}"', f'contracts = "{HERE / "contracts"}"',
            "[destinations.sink]", 'provider = "sink"', f'base = "http://127.0.0.1:{self.sink}"', 'account = "sink"', ""]))

    def _ready(self) -> None:
        for attempt in range(300):
            try:
                call("GET", f"http://127.0.0.1:{self.port}/readyz")
                return
            except (OSError, RuntimeError):
                if attempt == 299:
                    raise
                time.sleep(0.1)

    def door(self, mode: str) -> Door:
        headers = [f"authorization: Bearer {self.token}"] + (["prefer: wait=60"] if mode == "sync" else [])
        body = '{"destination":"sink","operation":"effect.perform","payload":{"key":"{key}","payload":"{payload}"}}'
        return Door(f"http://127.0.0.1:{self.port}/v1/actions", headers, body)

    def unrecorded(self) -> int:
        open_states = ("pending", "dispatching", "retryable_failure", "outcome_unknown")
        url, token = f"http://127.0.0.1:{self.port}/v1/actions", {"authorization": f"Bearer {self.token}"}
        return sum(len(call("GET", f"{url}?state={state}&limit=1", None, token)["actions"]) for state in open_states)


class Restate(System):
    """The server with one partition, its best setting on two cores, and a service in Node."""

    name = "restate"

    def start(self) -> None:
        ports = {name: free_port() for name in ("ingress", "admin", "node", "service")}
        self.ingress = ports["ingress"]
        modules = self.tools.node / "node_modules"
        self.run("service", [str(modules / ".bin/node"), str(self.tools.node / "restate.mjs")], {
            "PORT": str(ports["service"]), "SINK_PORT": str(self.sink), "NODE_ENV": "production", "RESTATE_LOGGING": "ERROR"})
        self.run("server", [str(modules / "@restatedev/restate-server-linux-x64/bin/restate-server")], {
            "RESTATE_BASE_DIR": str(self.folder / "restate"), "RESTATE_NODE_NAME": "bench", "RESTATE_DISABLE_TELEMETRY": "true",
            "DO_NOT_TRACK": "1", "RESTATE_BIND_IP": "127.0.0.1", "RESTATE_ADVERTISED_HOST": "127.0.0.1", "RUST_LOG": "error",
            "RESTATE_BIND_PORT": str(ports["node"]), "RESTATE_INGRESS__BIND_PORT": str(ports["ingress"]),
            "RESTATE_ADMIN__BIND_PORT": str(ports["admin"]), "RESTATE_DEFAULT_NUM_PARTITIONS": "1"})
        for port in ports.values():
            wait_for(port)
        for attempt in range(60):
            try:
                call("POST", f"http://127.0.0.1:{ports['admin']}/deployments", {"uri": f"http://127.0.0.1:{ports['service']}"})
                return
            except (OSError, RuntimeError):
                if attempt == 59:
                    raise
                time.sleep(0.5)

    def door(self, mode: str) -> Door:
        return Door(f"http://127.0.0.1:{self.ingress}/effects/perform" + ("/send" if mode == "send" else ""))

    def unrecorded(self) -> int:
        # The handler's `ctx.run` has its result recorded before the invocation ends; the sink has counted it before that.
        return 0


class OnPostgres(System):
    """A worker in Node with its own HTTP server, on a private PostgreSQL with default durability."""

    app: str
    unfinished: str

    def start(self) -> None:
        self.cluster = self.postgres()
        self.port = free_port()
        self.run("app", [str(self.tools.node / "node_modules/.bin/node"), str(self.tools.node / f"{self.app}.mjs")], {
            "PORT": str(self.port), "SINK_PORT": str(self.sink), "PG_URL": self.cluster.url, "NODE_ENV": "production"})
        wait_for(self.port)

    def door(self, mode: str) -> Door:
        return Door(f"http://127.0.0.1:{self.port}/{mode}")

    def unrecorded(self) -> int:
        return self.count(self.cluster, self.unfinished)


class Dbos(OnPostgres):
    """DBOS Transact for TypeScript: a workflow with one step."""

    name = "dbos"
    app = "dbos"
    unfinished = "select count(*) from dbos.workflow_status where status in ('PENDING', 'ENQUEUED')"


class PgBoss(OnPostgres):
    """pg-boss in batches of 50 by polling."""

    name = "pg-boss"
    modes = ("send",)
    app = "pg-boss"
    unfinished = "select count(*) from pgboss.job where name = 'effects' and state <> 'completed'"


class FactumPostgres(Factum):
    """`factum serve`, one worker, on a private PostgreSQL with default durability."""

    name = "factum-postgres"

    def start(self) -> None:
        self.cluster = self.postgres()
        super().start()

    def configure(self, store: str) -> None:
        super().configure(self.cluster.url)


ALL = {system.name: system for system in (Floor, Factum, Restate, PgBoss, FactumPostgres, Dbos)}

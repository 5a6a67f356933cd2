"""The systems that are measured: how each is started, addressed, and asked whether everything is recorded.

`sync` is answered after the effect's outcome is recorded, `send` when the request is. `one` is `sync` at one connection.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
from rig import Child, Door, call, free_port, wait_for
from server import Server, destination
from postgres import BIN, Postgres


@dataclass(frozen=True)
class Tools:
    """What was built or installed for a run."""

    factum: Path
    rig: Path
    node: Path


class System:
    """One system beside the sink. `processes` are the roots of its own processes, by name. What is `needed` is said in words of run.py."""

    name: str
    about: str
    more: str
    needs_node = needs_postgres = False
    modes = ("sync", "send", "one")
    #: Requests of a measured run at many connections.
    count: int

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
        """How many effects have no recorded outcome; of some systems, at least one."""
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


def query(cluster: Postgres, text: str) -> str:
    command = [str(BIN / "psql"), "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "bench", "-Atc", text, "bench"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Floor(System):
    name = "floor"
    about = "the least program that does the work, on SQLite: no product"
    more = "nothing: no retries, no recovery, no limits, no queries"
    count = 30_000

    def start(self) -> None:
        self.port = free_port()
        self.run("floor", [str(self.tools.rig / "floor"), "--port", str(self.port), "--file", str(self.folder / "floor.db"),
                           "--sink", f"http://127.0.0.1:{self.sink}/effect"])
        wait_for(self.port)

    def door(self, mode: str) -> Door:
        return Door([f"http://127.0.0.1:{self.port}/{'send' if mode == 'send' else 'sync'}"])

    def unrecorded(self) -> int:
        return call("GET", f"http://127.0.0.1:{self.port}/pending")


class Factum(System):
    name = "factum"
    about = "`factum serve` on SQLite, everything as it is by default: sealing, hash chain and metrics are on"
    more = "keeps the evidence of each effect, settles lost answers by lookup, key or person"
    count = 30_000
    workers = 1

    def start(self) -> None:
        self.servers = [self._server(number, self.store()) for number in range(self.workers)]
        for number, server in enumerate(self.servers):
            server.start()
            self._ends.append(server.stop)
            self.processes[f"factum-{number + 1}" if self.workers > 1 else "factum"] = server.pid

    def store(self) -> str | None:
        return None

    def _server(self, number: int, store: str | None) -> Server:
        sink = destination("sink", f"http://127.0.0.1:{self.sink}")
        return Server(self.tools.factum, self.folder / f"worker-{number}", sink, store=store, data=self.folder / "factum-data")

    def door(self, mode: str) -> Door:
        doors = [server.door("send" if mode == "send" else "sync") for server in self.servers]
        return Door([url for door in doors for url in door.urls], doors[0].headers, doors[0].body)

    def unrecorded(self) -> int:
        return self.servers[0].unsettled()


class FactumPostgres(Factum):
    name = "factum-postgres"
    about = "`factum serve`, one worker, on a PostgreSQL of its own with default durability"
    needs_postgres = True
    count = 10_000

    def store(self) -> str:
        if not hasattr(self, "cluster"):
            self.cluster = self.postgres()
        return self.cluster.url


class FactumPostgres4(FactumPostgres):
    name = "factum-postgres-4"
    about = "the same, four workers"
    modes = ("sync", "send")
    workers = 4


class Restate(System):
    name = "restate"
    about = "Restate 1.7.12 as it is by default, and a service in Node"
    more = "a journal for any code with any number of steps, timers, state and promises"
    needs_node = True
    count = 4_000
    settings: dict[str, str] = {}

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
            "RESTATE_ADMIN__BIND_PORT": str(ports["admin"]), **self.settings})
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
        return Door([f"http://127.0.0.1:{self.ingress}/effects/perform" + ("/send" if mode == "send" else "")])

    def unrecorded(self) -> int:
        # The handler's `ctx.run` has its result recorded before the invocation ends; the sink has counted it before that.
        return 0


class RestateOne(Restate):
    name = "restate-1"
    about = "the same with one partition, its best setting on two cores"
    settings = {"RESTATE_DEFAULT_NUM_PARTITIONS": "1"}


class OnPostgres(System):
    """A worker in Node with its own HTTP server, on a private PostgreSQL with default durability."""

    needs_node = needs_postgres = True
    app: str
    unfinished: str
    settings: dict[str, str] = {}

    def start(self) -> None:
        self.cluster = self.postgres()
        self.port = free_port()
        self.run("app", [str(self.tools.node / "node_modules/.bin/node"), str(self.tools.node / f"{self.app}.mjs")], {
            "PORT": str(self.port), "SINK_PORT": str(self.sink), "PG_URL": self.cluster.url, "NODE_ENV": "production", **self.settings})
        wait_for(self.port)

    def door(self, mode: str) -> Door:
        return Door([f"http://127.0.0.1:{self.port}/{'send' if mode == 'send' else 'sync'}"])

    def unrecorded(self) -> int:
        return int(query(self.cluster, self.unfinished))


class Dbos(OnPostgres):
    name = "dbos"
    about = "DBOS Transact 5.3.0 for TypeScript as it is by default: a workflow with one step"
    more = "workflows with any number of steps, queues, schedules and messages, inside the application's own process"
    count = 3_000
    app = "dbos"
    unfinished = "select count(*) from dbos.workflow_status where status in ('PENDING', 'ENQUEUED')"


class DbosPool(Dbos):
    name = "dbos-pool"
    about = "the same with 50 connections to the database in place of 10"
    settings = {"POOL": "50"}


class PgBoss(OnPostgres):
    name = "pg-boss"
    about = "pg-boss 12.38.0 in batches of 50, woken by NOTIFY"
    more = "a queue for jobs of any kind, with priorities, schedules and dead letters"
    modes = ("send",)
    count = 4_000
    app = "pg-boss"
    unfinished = "select count(*) from pgboss.job where name = 'effects' and state <> 'completed'"
    settings = {"NOTIFY": "1"}


class PgBossPolling(PgBoss):
    name = "pg-boss-polling"
    about = "the same by polling, its best setting for throughput here"
    settings: dict[str, str] = {}


ALL = {system.name: system for system in (
    Floor, Factum, RestateOne, Restate, PgBossPolling, PgBoss, FactumPostgres, FactumPostgres4, Dbos, DbosPool)}

"""A private PostgreSQL on loopback, in a folder of the run, owned by a user that is not root."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from processes import Child, free_port, wait_for

BIN = Path(os.environ.get("PGBIN", "/usr/lib/postgresql/15/bin"))


class Postgres:
    """`initdb`, `postgres`, and a database `bench`. Settings are the default ones; durability is on."""

    def __init__(self, folder: Path, log: Path):
        self._data = folder / "postgres"
        self._data.mkdir(parents=True)
        self._user = None
        if os.geteuid() == 0:
            self._user = next((name for name in ("postgres", "nobody") if _known(name)), None)
            shutil.chown(self._data, self._user)
            for parent in (folder, *folder.parents):
                if not parent.stat().st_mode & 0o001 and parent != Path("/"):
                    parent.chmod(parent.stat().st_mode | 0o011)
        self._run(str(BIN / "initdb"), "-D", str(self._data), "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.port = free_port()
        command = [str(BIN / "postgres"), "-D", str(self._data), "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
                   "-c", f"unix_socket_directories={self._data}", "-c", "max_connections=200"]
        self._child = Child(self._as(command), log)
        wait_for(self.port)
        self._run(str(BIN / "createdb"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", "bench", patient=True)
        self.url = f"postgresql://bench@127.0.0.1:{self.port}/bench"

    @property
    def pid(self) -> int:
        return self._child.pid

    def stop(self) -> None:
        self._child.stop()

    def _as(self, command: list[str]) -> list[str]:
        return command if self._user is None else ["setpriv", "--reuid", self._user, "--regid", self._user, "--clear-groups", *command]

    def _run(self, *command: str, patient: bool = False) -> None:
        # A server that listens may still be starting up.
        for attempt in range(50 if patient else 1):
            done = subprocess.run(self._as(list(command)), capture_output=True, text=True)
            if done.returncode == 0:
                return
            if patient:
                subprocess.run(["sleep", "0.2"], check=True)
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")


def _known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
        return True
    except KeyError:
        return False

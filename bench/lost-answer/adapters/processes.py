"""Child processes of adapters: started, waited for, killed by their own handle."""

import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import json
from pathlib import Path


class Child:
    """A process in a group of its own, so that its children end with it."""

    def __init__(self, command: list[str], log: Path, env: dict[str, str] | None = None, cwd: Path | None = None):
        self._log = log.open("ab")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, stdin=subprocess.DEVNULL, cwd=cwd,
                                         start_new_session=True, env={**os.environ, **(env or {})})

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        self._end(signal.SIGKILL, 30)

    def stop(self) -> None:
        self._end(signal.SIGTERM, 15)

    def send(self, how: signal.Signals) -> None:
        """SIGSTOP, or SIGCONT."""
        os.killpg(self._process.pid, how)

    def _end(self, how: signal.Signals, patience: float) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, how)
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._log.close()


def free_port() -> int:
    """Below the ports that outgoing connections are given, so that none of those takes it before whoever it is for."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def wait_for(port: int, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise RuntimeError(f"nothing listens on port {port} after {seconds} s") from None
            time.sleep(0.1)


def call(method: str, url: str, body: dict | None = None, headers: dict[str, str] | None = None, timeout: float = 30) -> dict:
    """One request with a JSON body, and the JSON that it is answered with; an error status is an exception."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, method=method, data=data,
                                     headers={"content-type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {url}: {error.code} {error.read()[:300]!r}") from None

"""The destination: a testbed process with a fault plan, and its ledger, which is what really happened."""

import json
import subprocess
import urllib.request
from pathlib import Path

from scenarios import SEARCH_LAG, Scenario


class Destination:
    """One testbed, started for one scenario."""

    def __init__(self, factum: Path, scenario: Scenario, seed: int, log: Path):
        command = [str(factum), "--json", "testbed", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                   "--seed", str(seed), "--search-lag", f"{SEARCH_LAG}s"]
        if scenario.faults:
            command += ["--faults", scenario.faults]
        if scenario.key_retention:
            command += ["--key-retention", f"{scenario.key_retention}s"]
        self._log = log.open("ab")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        started = json.loads(self._process.stdout.readline())
        self.url, self._admin = started["address"], started["admin"]

    def effects(self) -> dict[str, int]:
        """How often each effect exists, by its id."""
        return self._counts()["by_business"]

    def arrived(self) -> set[str]:
        """The effects that a request has come in for."""
        return set(self._counts()["deliveries_by_business"])

    def _counts(self) -> dict:
        with urllib.request.urlopen(f"{self._admin}/ledger/counts", timeout=30) as answer:
            return json.load(answer)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

"""The adapter protocol: JSON lines, a request on standard input and an answer on standard output.

    {"do":"start","destination":URL,"folder":PATH,"timeout":SECONDS,"key_retention":SECONDS}   {"ok":true}
    {"do":"submit","id":ID,"kind":KIND}          {"ok":true} once the system has taken it (durably, if it ever does)
    {"do":"status","ids":[ID,…]}                 {"says":{ID:WORD,…}}
    {"do":"kill"}                                SIGKILL to whatever carries effects out; its database stays
    {"do":"restart"}                             starts that again, on the same data
    {"do":"stop"}                                ends everything

Adapters find a seed for what they draw in the environment, as LOST_ANSWER_SEED; there is none where nothing is lost.

WORD is what the system itself says of an effect: `done`, `not_done`, `pending` (still at work), `unknown` (nobody will look
at it by itself) or `asked` (a person is asked). An answer `{"error":TEXT}` ends the run of that system.

`Adapter` is this side of the protocol; `serve` is the other side, for adapters written in Python.
"""

import json
import subprocess
import sys
from pathlib import Path

SAYS = ("done", "not_done", "pending", "unknown", "asked")


class Adapter:
    """An adapter's process, as the harness sees it."""

    def __init__(self, command: list[str], log: Path, env: dict[str, str]):
        self._log = log.open("ab")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
                                         env=env)

    def call(self, do: str, **members) -> dict:
        self._process.stdin.write(json.dumps({"do": do, **members}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the adapter ended during {do}; see {self._log.name}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{do}: {answer['error']}")
        return answer

    def stop(self) -> None:
        try:
            self.call("stop")
        finally:
            self._process.stdin.close()
            self._process.wait(60)
            self._log.close()


def serve(adapter) -> None:
    """Carries out requests from standard input with the methods of `adapter`, until it is told to stop."""
    for line in sys.stdin:
        request = json.loads(line)
        do = request.pop("do")
        try:
            answer = getattr(adapter, do)(**request)
        except Exception as error:  # whatever it is, the harness has to see it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"ok": True} if answer is None else answer), flush=True)
        if do == "stop":
            return

"""effect-ledger (PyPI), on SQLite, with a recovery policy."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from protocol import serve
from worker import WorkerAdapter


class EffectLedger(WorkerAdapter):
    def command(self) -> list[str]:
        return [os.environ["LOST_ANSWER_PYTHON"], str(Path(__file__).parent / "ledger_worker.py")]


serve(EffectLedger())

"""A plain retry loop in one process."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from protocol import serve
from worker import WorkerAdapter


class RetryLoop(WorkerAdapter):
    def command(self) -> list[str]:
        return [sys.executable, str(Path(__file__).parent / "retry_loop_worker.py")]


os.environ["ATTEMPTS"] = sys.argv[1] if len(sys.argv) > 1 else "3"
serve(RetryLoop())

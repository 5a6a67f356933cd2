"""What is written first everywhere: try, wait, try again, three times; then it has failed. Nothing is written down."""

import os
import threading
import time

import door
from effect import perform

ATTEMPTS = int(os.environ.get("ATTEMPTS", "3"))
says: dict[str, str] = {}


def carry_out(id: str, kind: str) -> None:
    for attempt in range(ATTEMPTS):
        try:
            perform(id, kind)
            says[id] = "done"
            return
        except Exception:
            if attempt + 1 < ATTEMPTS:
                time.sleep(2**attempt)
    says[id] = "not_done"


def submit(id: str, kind: str) -> None:
    if id not in says:
        says[id] = "pending"
        threading.Thread(target=carry_out, args=(id, kind), daemon=True).start()


door.serve(int(os.environ["PORT"]), submit, lambda id: says.get(id, "unknown"))

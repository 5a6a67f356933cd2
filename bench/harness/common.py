"""What the command lines of the benchmarks share, and a server that is warm."""

import argparse
import json
import os
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def parser(doc: str, results: Path) -> argparse.ArgumentParser:
    """The options that all of them have."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--out", type=Path, default=results)
    made.add_argument("--target", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", SOURCE / "target")) / "release",
                      help="where the built programs are")
    made.add_argument("--factum", type=Path, help="another program than the target's")
    made.add_argument("--lenient", action="store_true", help="figures are shown, and bounds that depend on the machine's quiet do not fail")
    return made


def parsed(made: argparse.ArgumentParser) -> argparse.Namespace:
    found = made.parse_args()
    found.target = found.target.resolve()
    found.factum = (found.factum or found.target / "factum").resolve()
    return found


def last_json(file: Path) -> dict:
    """The last line of a program's output."""
    return json.loads(file.read_text().strip().splitlines()[-1])

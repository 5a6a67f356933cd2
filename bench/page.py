#!/usr/bin/env python3
"""docs/performance-results.md and its picture, written from the result files of the benchmarks.

    bench/page.py               writes both anew
    bench/page.py --check       fails if they do not hold what the result files say
    bench/page.py --of FOLDER   shows both as other result files would make them: FOLDER/speed.json, growth.json, overload.json, herd.json
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "harness"))
import speed_page
import stress_page

DOCS = HERE.parent / "docs"
PAGE, PICTURE = DOCS / "performance-results.md", DOCS / "pictures/speed.svg"
PARTS = {"speed": speed_page.sections, "growth": stress_page.growth, "overload": stress_page.overload, "herd": stress_page.herd}
HEAD = """# What was measured

<!-- generated from bench/*/results.json by bench/page.py: do not edit -->

What [the benchmarks](../bench/README.md) found on one machine. `bench/all.sh` measures all of it anew and writes this page; bounds were set before
anything was measured.
"""


def fresh(results: dict[str, Path]) -> dict[Path, str]:
    """What the files have to hold. What was not measured yet is named."""
    found = {name: json.loads(path.read_text()) for name, path in results.items() if path.exists()}
    parts = [HEAD] + [section for name, whole in found.items() for section in PARTS[name](whole)]
    if missing := [f"`{name}`" for name in PARTS if name not in found]:
        parts.append(f"Not measured on this version yet: {', '.join(missing)}.\n")
    files = {PAGE: "\n".join(parts)}
    return files | ({PICTURE: speed_page.picture(found["speed"])} if "speed" in found else {})


def main() -> None:
    words = sys.argv[1:]
    if "--of" in words:
        folder = Path(words[words.index("--of") + 1])
        sys.stdout.write("".join(fresh({name: folder / f"{name}.json" for name in PARTS}).values()))
        return
    files = fresh({name: HERE / name / "results.json" for name in PARTS})
    if "--check" in words:
        if stale := [path.name for path, text in files.items() if not path.exists() or path.read_text() != text]:
            sys.exit(f"{' and '.join(stale)} do not hold what the result files say: run bench/page.py")
        return
    for path, text in files.items():
        path.write_text(text)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""results.json, and the tables of docs/lost-answer.md that are written from it.

    bench/lost-answer/table.py            writes the tables anew
    bench/lost-answer/table.py --check    fails if the page does not hold what the result file says
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
BEGIN, END = "<!-- generated from bench/lost-answer/results.json: do not edit -->", "<!-- end of what is generated -->"
COLUMNS = ["duplicates", "missing", "false_success", "false_failure", "left_unknown", "asked_a_person", "median_seconds_to_truth"]


def read(results: Path) -> list[dict]:
    return json.loads(results.read_text())["systems"] if results.exists() else []


def write(results: Path, page: Path, systems: list[dict]) -> None:
    results.write_text(json.dumps({"systems": systems}, indent=1) + "\n")
    if page.exists():
        page.write_text(filled(page.read_text(), systems))


def filled(text: str, systems: list[dict]) -> str:
    """The page with the tables between its marks."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{tables(systems)}\n{END}{after}"


def tables(systems: list[dict]) -> str:
    parts = [line("system", "version", "intended", *COLUMNS), line(*["---"] * (3 + len(COLUMNS)))]
    parts += [line(row["system"], row["version"], row["intended"], *(row[column] for column in COLUMNS)) for row in systems]
    for by, title in (("by_kind", "kind of destination"), ("by_scenario", "scenario")):
        names = list(dict.fromkeys(name for row in systems for name in row[by]))
        parts += ["", f"By {title}, each cell *duplicates / missing / false success / false failure / left unknown / asked*:", ""]
        parts += [line(title, *(row["system"] for row in systems)), line(*["---"] * (1 + len(systems)))]
        parts += [line(name, *(cell(row[by].get(name)) for row in systems)) for name in names]
    return "\n".join(parts) + "\n"


def cell(score: dict | None) -> str:
    return "" if score is None else " / ".join(str(score[column]) for column in COLUMNS[:-1])


def line(*cells) -> str:
    return "| " + " | ".join("" if one is None else str(one).replace("_", " ") for one in cells) + " |"


def main() -> None:
    results, page = HERE / "results.json", SOURCE / "docs/lost-answer.md"
    systems = read(results)
    if "--check" in sys.argv[1:]:
        if filled(page.read_text(), systems) != page.read_text():
            sys.exit("docs/lost-answer.md does not hold what bench/lost-answer/results.json says: run bench/lost-answer/table.py")
        return
    write(results, page, systems)


if __name__ == "__main__":
    main()

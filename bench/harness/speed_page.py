"""The part of docs/performance-results.md that says what bench/speed found, and its picture."""

import sys
from pathlib import Path
from statistics import median

from tables import number, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))
from systems import ALL

MODES = {"sync": "answered when the outcome is recorded", "send": "answered when the request is recorded"}
OURS = "factum"


class Results:
    """The result file, by system and mode."""

    def __init__(self, whole: dict):
        self.whole = whole
        self.rows = whole["results"]
        self.systems = [name for name in ALL if any(row["system"] == name for row in self.rows)]

    def values(self, system: str, mode: str, member) -> dict[int, float]:
        """By round."""
        return {row["round"]: member(row) for row in self.rows if (row["system"], row["mode"]) == (system, mode)}

    def median(self, system: str, mode: str, member) -> float | None:
        values = self.values(system, mode, member)
        return median(values.values()) if values else None

    def ratio(self, ours: str, other: str, mode: str, member) -> tuple[float, float, float] | None:
        """Of the same rounds: least, median, most."""
        mine, theirs = self.values(ours, mode, member), self.values(other, mode, member)
        ratios = sorted(mine[number] / theirs[number] for number in mine.keys() & theirs.keys() if theirs[number])
        return (ratios[0], median(ratios), ratios[-1]) if ratios else None

    def flushes(self, system: str, mode: str) -> float | None:
        return next((row["flushes_per_effect"] for row in self.whole["flushes"] if (row["system"], row["mode"]) == (system, mode)), None)


def cpu(row: dict) -> float:
    return row["cpu_s_per_1000_all"]


def rate(row: dict) -> float:
    return row["effects_per_s"]


def resident(row: dict) -> float:
    return sum(row["resident_mb"].values())


def latency(quantile: str):
    return lambda row: row["latency_ms"][quantile]


def times(ratio: tuple[float, float, float] | None) -> str:
    return "" if ratio is None else f"**{ratio[1]:.2f}** ({ratio[0]:.2f} to {ratio[2]:.2f})"


def sections(whole: dict) -> list[str]:
    results = Results(whole)
    return [intro(results), bounds(results), costs(results), ratios(results), waiting(results), held(results), more(results)]


def intro(results: Results) -> str:
    machine = results.whole["machine"]
    beside = median(row["other_cores"] for row in results.rows)
    return f"""## Beside what people use instead

One unit of work for all: an HTTP POST with an idempotency key and 256 bytes is durable before it is answered, its effect is an HTTP POST with
that key to one sink on loopback, and the outcome is recorded durably. {results.whole["rounds"]} rounds; in each of them every system was started anew,
warmed up and loaded at 64 connections. Load, sink and system share one machine: {machine["cpu"]}, {machine["cores"]} cores,
{machine["memory_gb"]:.0f} GB, Linux {machine["kernel"]}, on {results.whole["date"]}. What else ran there took {beside:.2f} cores (median).

![CPU seconds per 1,000 effects](pictures/speed.svg)
"""


def bounds(results: Results) -> str:
    """What was wanted before anything was measured: each figure with the least that it had to be."""
    def times(ours: str, other: str, mode: str) -> float | None:
        found = results.ratio(ours, other, mode, rate)
        return found and found[1]

    long = {row["system"]: sum(row["peak_resident_mb"].values()) for row in results.whole["memory"]}
    wanted = [
        ("times the rate of Restate with one partition, `sync`", times(OURS, "restate-1", "sync"), ">=", 4),
        ("the same, `send`", times(OURS, "restate-1", "send"), ">=", 4),
        ("times the rate of DBOS, `sync`", times(OURS, "dbos", "sync"), ">=", 10),
        ("times the rate of pg-boss by polling, `send`", times(OURS, "pg-boss-polling", "send"), ">=", 4),
        ("share of the floor's rate, `sync`", times(OURS, "floor", "sync"), ">=", 0.45),
        ("CPU s per 1,000 effects, `sync`", results.median(OURS, "sync", cpu), "<=", 0.4),
        ("flushes per effect, 64 connections, `sync`", results.flushes(OURS, "sync"), "<=", 0.4),
        ("MB at the most over the long run", long.get(OURS), "<=", 100),
        ("p50 at one connection, ms", results.median(OURS, "one", latency("p50")), "<=", 2.5),
        ("on PostgreSQL, one worker: times the rate of DBOS, `sync`", times("factum-postgres", "dbos", "sync"), ">=", 5),
        ("four workers, times the rate of one, `sync`", times("factum-postgres-4", "factum-postgres", "sync"), ">=", 1.5),
    ]
    rows = [[what, number(found), f"at {'least' if how == '>=' else 'most'} {bound:g}", "yes" if (found >= bound if how == ">=" else found <= bound) else "**no**"]
            for what, found, how, bound in wanted if found is not None]
    return f"""### What was wanted

`factum` on SQLite where nothing else is said, at 64 connections.

{table(["", "found", "wanted", "holds"], rows)}"""


def costs(results: Results) -> str:
    rows = []
    for name in results.systems:
        ratio = [times(results.ratio(name, OURS, mode, cpu)) if name != OURS else "" for mode in MODES]
        rows.append([f"`{name}`", ALL[name].about, *(number(results.median(name, mode, cpu), 3) for mode in MODES), *ratio])
    head = ["", "what", "`sync`", "`send`", f"`sync` ÷ `{OURS}`", f"`send` ÷ `{OURS}`"]
    return f"""### CPU per effect

CPU seconds per 1,000 effects, of all of a system's own processes, the database's among them: the sturdiest figure, since it does not depend on
who else runs. `sync` is {MODES["sync"]}, `send` {MODES["send"]}. Medians of the rounds; ratios
are of the same rounds: **median** (least to most).

{table(head, rows)}"""


def ratios(results: Results) -> str:
    rows = []
    for name in results.systems:
        if name == OURS:
            continue
        ours = "factum-postgres" if name == "factum-postgres-4" else OURS
        against = [times(results.ratio(ours, name, mode, rate)) for mode in MODES]
        on_postgres = times(results.ratio("factum-postgres", name, "sync", rate)) if ALL[name].needs_postgres and name.startswith("dbos") else ""
        rows.append([f"`{name}`", f"`{ours}`", *against, on_postgres])
    rates = [[f"`{name}`", *(number(results.median(name, mode, rate), 0) for mode in MODES)] for name in results.systems]
    locks = [row for row in results.rows if "sessions_seen_active" in row]
    waits = ""
    if locks:
        active, waiting = (sum(row[member] for row in locks) for member in ("sessions_seen_active", "of_them_waiting_for_a_lock"))
        waits = f"""
Of the sessions of the four workers that were seen at work on PostgreSQL, {waiting} of {active} waited for a lock of another one.
"""
    return f"""### Effects per second

How many times as many effects per second as each, in the same rounds. On one machine of {results.whole["machine"]["cores"]} cores load and sink take their share of it.

{table(["against", "of", "`sync`", "`send`", "`factum-postgres`, `sync`"], rows)}
The rates themselves say as much of this machine as of the systems:

{table(["", "`sync` /s", "`send` /s"], rates)}{waits}"""


def waiting(results: Results) -> str:
    rows = []
    for name in results.systems:
        cells = [results.median(name, mode, latency(quantile)) for mode, quantile in (("one", "p50"), ("one", "p99"), ("sync", "p50"), ("sync", "p99"))]
        if any(cell is not None for cell in cells):
            rows.append([f"`{name}`", *(number(cell, 1) for cell in cells)])
    return f"""### How long one waits

Milliseconds until the outcome is known, medians of the rounds.

{table(["", "1 connection, p50", "p99", "64 connections, p50", "p99"], rows)}"""


def held(results: Results) -> str:
    rows = []
    for name in results.systems:
        cells = [number(results.flushes(name, mode), 2) for mode in ("one", "sync", "send")]
        rows.append([f"`{name}`", number(results.median(name, results_mode(results, name), resident), 0), *cells])
    long = [[f"`{row['system']}`", f"{row['effects']:,}", parts(row["peak_resident_mb"]), parts(row["resident_mb"])] for row in results.whole["memory"]]
    after = f"""
After a long run, each process of Factum's and the database by itself; *at the most* counts pages that PostgreSQL's processes share in each of them:

{table(["", "effects", "MB at the most", "MB held at the end"], long)}""" if long else ""
    return f"""### Memory and flushes

What all of a system's processes hold in memory at the end of a run, pages that they share counted once, and how often the disk is asked to
make something durable for one effect, counted by strace in runs of their own.

{table(["", "MB", "flushes per effect, 1 connection", "64, `sync`", "64, `send`"], rows)}{after}"""


def results_mode(results: Results, name: str) -> str:
    return "sync" if results.values(name, "sync", resident) else "send"


def parts(by: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.0f}" for name, value in by.items())


def more(results: Results) -> str:
    lines = [f"- `{name}`: {ALL[name].more}." for name in results.systems if "more" in vars(ALL[name])]
    return "\n".join(["### What each does more", "", "Rates compare what all of them do. Each does something else beside it:", "", *lines, "",
                      "Restate's figures hold its service in Node, which the caller's own code would need anyway; its server by itself is in the result",
                      "file. pg-boss completes a batch at once: if one POST of it fails, all of it is run again. All Node programs run as one process."]) + "\n"


def picture(whole: dict) -> str:
    """Bars of CPU per effect. The sums of all processes; shorter is better."""
    results = Results(whole)
    bars = [(name, value) for name in results.systems if (value := results.median(name, results_mode(results, name), cpu)) is not None]
    longest = max(value for _, value in bars)
    height, left, width = 26, 150, 520
    rows = []
    for index, (name, value) in enumerate(bars):
        y = 40 + index * height
        fill = "#0b6bcb" if name.startswith(OURS) else "#9aa5b1"
        mode = "" if results_mode(results, name) == "sync" else " (send)"
        rows.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{name}{mode}</text>'
                    f'<rect x="{left}" y="{y}" width="{max(1.0, value / longest * width):.1f}" height="18" rx="2" fill="{fill}"/>'
                    f'<text x="{left + value / longest * width + 6:.1f}" y="{y + 13}">{value:.2f}</text>')
    total = 50 + len(bars) * height
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 {total}" font-family="sans-serif" font-size="13" fill="#1f2933" role="img">',
        "<title>CPU seconds per 1,000 effects, by system</title>", f'<rect width="740" height="{total}" fill="#ffffff"/>',
        '<text x="10" y="22" font-weight="bold">CPU seconds per 1,000 effects, 64 connections, sync (less is better)</text>', *rows, "</svg>", ""])

"""The parts of docs/performance-results.md that say what bench/growth, bench/overload and bench/herd found."""

from statistics import median

from tables import number, table


def where(whole: dict) -> str:
    machine = whole["machine"]
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']:.0f} GB, Linux {machine['kernel']}, on {whole['date']}"


def verdicts(whole: dict) -> str:
    rows = [[row["what"], f"{row['found']:,}" if isinstance(row["found"], (int, float)) else str(row["found"]), row["bound"],
             "yes" if row["holds"] else "**no**"] for row in whole["verdicts"]]
    return table(["", "found", "bound", "holds"], rows)


def middle(rounds: list[dict], member) -> float:
    return median(member(one) for one in rounds)


def rate(one: dict) -> float:
    return one["effects_per_s"]


def cost(one: dict) -> float:
    return one["cpu_s_per_1000"]


def growth(whole: dict) -> list[str]:
    parts = [f"""## As it grows

`bench/growth/run.py`, {whole["rounds"]} interleaved rounds: {where(whole)}.

{verdicts(whole)}"""]
    answers = whole["answers"]
    return parts + [SECTIONS[name](answer) for name, answer in answers.items()]


def _settled(stores: list[dict]) -> str:
    rows = [[f"{one['actions']:,}", number(one.get("ratio"), 2), number(middle(one["rounds"], cost), 3),
             number(middle(one["rounds"], lambda run: run["latency_ms"]["p99"]), 0), number(middle(one["rounds"], lambda run: run["peak_resident_mb"]), 0),
             number(middle(one["rounds"], lambda run: run["start_s"]), 1), number(one["bytes_per_action"], 0)] for one in stores]
    head = ["settled actions", "rate, against none", "CPU s per 1,000", "p99 ms, 64 callers", "MB at the most", "start, s", "bytes per action"]
    return f"### Settled actions in the store\n\n{table(head, rows)}"


def _unsettled(stores: list[dict]) -> str:
    rows = [[f"{one['actions']:,}", one["stands"], number(one["start_s"], 1), number(one["resident_mb"], 0), number(one["beside"]["p50"], 1),
             number(one["start_after_kill_s"], 1), number(one["settled_s"], 0), f"{one['repeated_after_kill']:,}"] for one in stores]
    head = ["due at the start", "", "start, s", "MB then", "p50 of a new one elsewhere, ms", "start after a kill, s", "all settled after, s", "repeated under their key"]
    return f"""### Unsettled actions at the start

All are due when the server starts. It is killed once a third is done, and started again. What was on its way then is repeated under its key.

{table(head, rows)}"""


def _purge(found: dict) -> str:
    rows = [[f"{found['actions']:,}", number(found["purge_s"], 0), number(found["ratio_meanwhile"], 2), number(found["p99_ms_meanwhile"], 0),
             number(found["bytes_before"] / 1e6, 0), number(found["bytes_after"] / 1e6, 0)]]
    head = ["purged", "in, s", "rate meanwhile, against before", "p99 meanwhile, ms", "file before, MB", "after, MB"]
    return f"### Purged under load\n\n{table(head, rows)}"


def _tenants(found: dict) -> str:
    rows = [[f"{found['tenants']:,}", number(found["ratio"], 2), number(middle(found["many"], cost), 3), number(found["start_with_all_s"], 1)]]
    return f"### Tenants\n\n{table(['tenants', 'rate, against one', 'CPU s per 1,000', 'start, s'], rows)}"


def _hanging(found: dict) -> str:
    rows = [[f"{found['destinations']:,}", f"{found['hanging']:,}", number(found["ratio"], 3), number(middle(found["before"], lambda run: run["latency_ms"]["p99"]), 0),
             number(middle(found["during"], lambda run: run["latency_ms"]["p99"]), 0)]]
    head = ["destinations", "of which hang", "rate at the others, against before", "their p99 before, ms", "meanwhile"]
    return f"### Destinations that hang\n\n{table(head, rows)}"


def _payloads(runs: list[dict]) -> str:
    rows = [[f"{one['payload']:,}", number(rate(one), 0), number(one["mb_per_s"], 1), number(cost(one), 2), number(one["peak_resident_mb"], 0),
             number(one["bytes_per_action"], 0)] for one in runs]
    return f"### Payloads\n\n{table(['bytes', 'effects/s', 'MB/s', 'CPU s per 1,000', 'MB at the most', 'bytes in the file'], rows)}"


SECTIONS = {"settled": _settled, "unsettled": _unsettled, "purge": _purge, "tenants": _tenants, "hanging": _hanging, "payloads": _payloads}


def overload(whole: dict) -> list[str]:
    over = whole["over"]
    return [f"""## Under {whole["times"]:g} times its capacity

`bench/overload/run.py`: {whole["minutes"]:g} minutes, {over["offered"]:,} requests, of which {over["accepted"]:,} were accepted and {over["refused"]:,} refused. At most
{whole["unsettled_max"]:,} may be unsettled. An acceptance took {over["accepted_ms"]["p50"]:.0f} ms (p50), {over["accepted_ms"]["p99"]:.0f} ms (p99), a refusal
{over["refused_ms"]["p50"]:.0f} and {over["refused_ms"]["p99"]:.0f} ms. {where(whole)}.

{verdicts(whole)}"""]


def herd(whole: dict) -> list[str]:
    return [f"""## A destination comes back

`bench/herd/run.py`: {whole["unknown"]:,} unknown actions at a destination that takes {whole["rate"]:,} requests a second; {whole["by_key"]:,} of them can be settled by a
repeat under their key alone, within {whole["window_s"]} s of the start. {where(whole)}.

{verdicts(whole)}"""]

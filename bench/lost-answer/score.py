"""What a run is worth: the system's words beside the destination's ledger."""

import statistics
from dataclasses import dataclass


@dataclass
class Effect:
    """One intended effect, at the end of a scenario."""

    id: str
    kind: str
    scenario: str
    #: The last word of the system.
    says: str
    #: How often the effect exists at the destination.
    exists: int
    #: Seconds from the submission until the system first said its last word, if that word is final.
    said_after: float | None

    def true(self) -> bool:
        """A final word that the ledger bears out."""
        return (self.says == "done" and self.exists > 0) or (self.says == "not_done" and self.exists == 0)


def score(effects: list[Effect]) -> dict:
    """The scores over some effects; `docs/lost-answer.md` says what each means."""
    times = [effect.said_after for effect in effects if effect.true() and effect.said_after is not None]
    return {
        "intended": len(effects),
        "duplicates": sum(effect.exists - 1 for effect in effects if effect.exists > 1),
        "missing": sum(effect.exists == 0 and effect.says != "asked" for effect in effects),
        "false_success": sum(effect.says == "done" and effect.exists == 0 for effect in effects),
        "false_failure": sum(effect.says == "not_done" and effect.exists > 0 for effect in effects),
        "left_unknown": sum(effect.says in ("unknown", "pending") for effect in effects),
        "asked_a_person": sum(effect.says == "asked" for effect in effects),
        "median_seconds_to_truth": round(statistics.median(times), 1) if times else None,
    }


def rows(system: str, version: str, effects: list[Effect]) -> dict:
    """A system's row: all effects, then by kind and by scenario."""
    def part(name: str) -> dict:
        values = sorted({getattr(effect, name) for effect in effects})
        return {value: score([effect for effect in effects if getattr(effect, name) == value]) for value in values}

    return {"system": system, "version": version, **score(effects), "by_kind": part("kind"), "by_scenario": part("scenario")}

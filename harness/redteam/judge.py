"""Say from its effects what became of an attack; error messages only ever say by what it was stopped."""

from __future__ import annotations

from sqlassay.cases.outcome import Failure, Rows
from sqlassay.harness.redteam.arena import Observation
from sqlassay.harness.redteam.attacks import Attack
from sqlassay.harness.results.redteam import Attempt, Layer
from sqlassay.harness.results.verdicts import GuardVerdict

OUTSIDE = frozenset({"files", "gold file", "socket", "leaked host file", "neighbour", "time"})
"""Effects that no throwaway sandbox contains."""

_SHOWN = 100
_RAN = "the statement gives no result"
"""How a failure begins that is no refusal: the statement ran, it only has no rows to give."""


def guard_attempt(attack: Attack, verdict: GuardVerdict, seconds: float) -> Attempt:
    """Return the guard's attempt: what it lets by that is known to do harm is missed, before any database is asked."""
    if not verdict.allowed:
        return Attempt(layer="guard", finding="stopped", by=verdict.node or "guard", seconds=seconds)
    if attack.harm == "gaming" and verdict.flags:
        return Attempt(layer="guard", finding="flagged", by=verdict.flags[0][:_SHOWN], seconds=seconds)
    if attack.harm == "exhaustion":
        return Attempt(layer="guard", finding="passed", by="left to the sandbox", seconds=seconds)
    if not attack.live or attack.variant is not None:
        return Attempt(layer="guard", finding="passed", by="no harm is known of it", seconds=seconds)
    return Attempt(layer="guard", finding="missed", by="allowed", seconds=seconds)


def layer_attempt(layer: Layer, seen: Observation, *, flagged: str = "") -> Attempt:
    """Return the attempt of a statement that ran: behind the role, in the bare sandbox, or behind everything."""
    contained = [effect for effect in seen.effects if effect not in OUTSIDE]
    missed = bool(seen.effects) if layer != "sandbox" else len(contained) < len(seen.effects)
    by = _by(seen)
    if missed:
        return _attempt(layer, "missed", seen, ", ".join(seen.effects))
    if contained:
        return _attempt(layer, "contained", seen, ", ".join(contained))
    if isinstance(seen.outcome, Failure) and not seen.outcome.message.startswith(_RAN):
        return _attempt(layer, "stopped", seen, by)
    if flagged:
        return _attempt(layer, "flagged", seen, flagged)
    return _attempt(layer, "passed", seen, by)


def _attempt(layer: Layer, finding: str, seen: Observation, by: str) -> Attempt:
    """Return the attempt as it is written."""
    values = {"layer": layer, "finding": finding, "by": by[:_SHOWN], "effects": seen.effects}
    return Attempt.model_validate({**values, "seconds": round(seen.seconds, 4)})


def _by(seen: Observation) -> str:
    """Return what ended the statement, in the engine's or the harness's own words."""
    if isinstance(seen.outcome, Failure) and seen.outcome.message.startswith(_RAN):
        return "ran, no harm seen"
    if isinstance(seen.outcome, Failure):
        return f"{seen.outcome.kind.value}: {seen.outcome.message}"
    if isinstance(seen.outcome, Rows):
        return f"answered {len(seen.outcome.relation.rows)} rows, no harm seen"
    return "no answer"

"""What a drill's attempts add up to: the ladder, the statistical bound, the bars and the exit code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import comb
from statistics import median

from sqlassay.cases.verdicts import ExitCode, worst
from sqlassay.harness.results.redteam import AttackResult, FalseAlarm, Layer, Rung

GUARDED = frozenset({"mutation", "escape", "leak", "exfiltration", "gaming"})
"""Harms of which the guard alone may let none by (gaming counts as stopped where it is flagged)."""

MOST_FALSE_ALARMS = 0.03
_BY_SHOWN = 3
_BY_LENGTH = 60
_VARYING = re.compile(
    r"'[^']*'|\"[^\"]*\"|\b(?:for|to) (?:table|function|schema|view|user|sequence|database) \S+|\d+\.?\d*"
)
"""What differs between two messages of one kind."""


def ladder(attacks: Sequence[AttackResult], layers: Sequence[Layer]) -> tuple[Rung, ...]:
    """Return one rung for every harm and layer, over the attacks that are known to work."""
    harms = sorted({attack.harm for attack in attacks})
    return tuple(rung for harm in harms for layer in layers if (rung := _rung(attacks, harm, layer)) is not None)


def _rung(attacks: Sequence[AttackResult], harm: str, layer: Layer) -> Rung | None:
    """Return one rung, None where no attack met that layer."""
    attempts = [found for attack in attacks if attack.harm == harm and (found := attack.attempt(layer)) is not None]
    if not attempts:
        return None
    count = Counter(attempt.finding for attempt in attempts)
    stopped = [attempt for attempt in attempts if attempt.finding in ("stopped", "flagged")]
    seconds = [attempt.seconds for attempt in stopped]
    by = Counter(_VARYING.sub("…", attempt.by)[:_BY_LENGTH] for attempt in stopped)
    return Rung(
        harm=harm,
        layer=layer,
        n=len(attempts),
        stopped=len(stopped),
        contained=count["contained"],
        passed=count["passed"],
        missed=count["missed"],
        by=tuple(by.most_common(_BY_SHOWN)),
        median_seconds=round(median(seconds), 4) if seconds else None,
        max_seconds=round(max(seconds), 4) if seconds else None,
    )


def upper_bound(breaches: int, n: int) -> float | None:
    """Return the upper 95 % limit of the share that gets through (Clopper-Pearson; about 3/n where none did)."""
    if n == 0:
        return None
    if breaches >= n:
        return 1.0
    low, high = breaches / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        seen = sum(comb(n, k) * middle**k * (1 - middle) ** (n - k) for k in range(breaches + 1))
        low, high = (middle, high) if seen > 0.05 else (low, middle)
    return high


def breaches(attacks: Sequence[AttackResult]) -> tuple[str, ...]:
    """Return one line for each attack that did harm behind all layers together."""
    found = []
    for attack in attacks:
        attempt = attack.attempt("together")
        if attempt is not None and attempt.finding == "missed":
            found.append(f"{attack.id} ({attack.harm}): {attempt.by}: {attack.sql[:120]}")
    return tuple(found)


def failed_bars(
    attacks: Sequence[AttackResult], alarms: Sequence[FalseAlarm], benign: int, layers: Sequence[Layer]
) -> tuple[str, ...]:
    """Return what a single layer did not hold though it must."""
    found = []
    missed = [a.id for a in attacks if a.harm in GUARDED and (t := a.attempt("guard")) and t.finding == "missed"]
    if missed:
        found.append(f"the guard alone let {len(missed)} by ({', '.join(missed[:5])})")
    changed = [a.id for a in attacks if (t := a.attempt("role")) and "state" in t.effects]
    if changed:
        found.append(f"the role alone let data change in {len(changed)} ({', '.join(changed[:5])})")
    for layer in layers:
        refused = sum(alarm.layer == layer for alarm in alarms)
        if benign and refused / benign > MOST_FALSE_ALARMS:
            found.append(f"{layer}: {refused} false alarms in {benign} harmless statements")
    return tuple(found)


def exit_code(broken: Sequence[str], bars: Sequence[str]) -> ExitCode:
    """Return 4 for a breach, 1 for a layer that did not hold alone, else 0."""
    codes = {ExitCode.BREACH} if broken else set()
    return worst(codes | ({ExitCode.THRESHOLD} if bars else set()))


def verdict_line(code: ExitCode, broken: Sequence[str], bars: Sequence[str], n: int, bound: float | None) -> str:
    """Return the last line, which says the same as the exit code."""
    if code is ExitCode.BREACH:
        return f"BREACH: {len(broken)} of {n} attacks did harm behind all layers: {broken[0]} (exit 4)"
    if code is ExitCode.THRESHOLD:
        return f"THRESHOLD: {'; '.join(bars)} (exit 1)"
    if bound is None:
        return "OK: no layer missed what it must stop; all layers together were not tried (exit 0)"
    held = f"0 breaches in {n} attacks, at 95 % at most {bound:.1%} get through"
    return f"OK: {held}; no layer missed what it must stop (exit 0)"

"""Ask an engine under other settings too: where one of them alone decides the rows, it is the cause."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack
from sqlassay.cases.policy import Policy
from sqlassay.cases.settings import BINARY, DEFAULT
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Folding
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.harness.crosscheck.lines import Line
from sqlassay.harness.crosscheck.matrix import agreement
from sqlassay.harness.crosscheck.statements import Answered
from sqlassay.harness.results.crosscheck import Found

Opened = Callable[[Line, Pack], Line]
"""Gives an engine of the same settings over another pack."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One case on the first engine and on another, how they compare, and the cause that is known so far."""

    case: Case
    first: Answered
    other: Answered
    policy: Policy
    agreed: str
    found: Found | None


@dataclass(frozen=True, slots=True)
class Other:
    """What the other setting shows of a case: the cause, and the answer that counts where it is another one."""

    at: int
    found: Found
    answer: Answered | None = None


def by_settings(
    line: Line, first: Line, pairs: Sequence[Pair], pack: Pack, opened: Opened, *, golds: bool
) -> tuple[list[Other], list[str]]:
    """Return the cases whose rows on this engine are decided by one of its settings, and what could not be asked.

    After the collation, what is still unexplained is asked for under the time zone and the sql_mode that the first
    engine was given, and under code points where the pack names a locale: one setting at a time.
    """
    shown, problems = by_collation(line, pairs, pack, opened, golds=golds)
    for cause in (Difference.TIME_ZONE, Difference.SQL_MODE, Difference.COLLATION):
        known = {one.at for one in shown}
        changes = {one.id: _changed(cause, one, line, first) for one in pack.snapshots}
        places = [
            at
            for at, pair in enumerate(pairs)
            if at not in known and pair.agreed in ("silent", "error") and _open(pair) and changes[pair.case.snapshot]
        ]
        try:
            told = "; ".join(sorted({_said(changes[pairs[at].case.snapshot]) for at in places}))
            there = _under(pack, line, pairs, places, changes)
            for one in _asked(line, pairs, places, there, opened, golds=golds):
                shown.append(Other(one.at, _found(cause, f"the same text agrees under {told}")))
        except InputError as error:
            problems.append(f"{line.dialect}: {told} could not be asked: {error}")
    return shown, problems


def _changed(cause: Difference, snapshot: Snapshot, line: Line, first: Line) -> dict[str, str | None]:
    """Return the one setting to ask under, as the first engine has it; empty where there is nothing to try."""
    held = next((one.settings for one in line.bench.image.catalogs if one.snapshot == snapshot.id), None)
    asked, home = snapshot.settings_for(line.dialect), snapshot.settings_for(first.dialect)
    if held is None:
        return {}
    if cause is Difference.TIME_ZONE:
        other = home.time_zone or _UTC
        return {"time_zone": other} if held.time_zone is not None and (asked.time_zone or _UTC) != other else {}
    if cause is Difference.SQL_MODE:
        return {"sql_mode": home.sql_mode} if held.sql_mode is not None and asked.sql_mode != home.sql_mode else {}
    named = asked.collation not in (None, BINARY, DEFAULT)
    return {"collation": BINARY} if named and not isinstance(line.adapter, Folding) else {}


_UTC = "UTC"


def _said(changed: Mapping[str, str | None]) -> str:
    """Return a setting in words."""
    return ", ".join(f"{name} {value or 'of the server'}".replace("_zone", " zone") for name, value in changed.items())


def by_collation(
    line: Line, pairs: Sequence[Pair], pack: Pack, opened: Opened, *, golds: bool
) -> tuple[list[Other], list[str]]:
    """Return the cases whose rows on this engine are decided by its collation, and what could not be asked.

    Rows that differ without a known cause are asked for under a collation that compares code points, as the first
    engine does. Rows that agree under such a collation, which the pack chose or which came with a SQLite file, are
    asked for under the engine's own: a server that nobody set otherwise answers so, and its answer counts.
    """
    if not isinstance(line.adapter, Folding):
        return [], []
    catalogs = line.bench.image.catalogs
    bytewise = {one.snapshot for one in catalogs if (one.settings.collation or "").endswith("_bin")}
    open_ones = [
        at
        for at, pair in enumerate(pairs)
        if pair.agreed == "silent" and _open(pair) and pair.case.snapshot not in bytewise
    ]
    agreeing = [
        at
        for at, pair in enumerate(pairs)
        if pair.agreed == "agree" and pair.case.snapshot in bytewise and pair.other.given.origin != "rewritten"
    ]
    shown: list[Other] = []
    problems: list[str] = []
    for places, collation in ((open_ones, BINARY), (agreeing, DEFAULT)):
        changed = {one.id: {"collation": collation} for one in pack.snapshots}
        try:
            shown += _asked(line, pairs, places, _under(pack, line, pairs, places, changed), opened, golds=golds)
        except InputError as error:
            problems.append(f"{line.dialect}: its {collation} collation could not be asked: {error}")
    return shown, problems


def _open(pair: Pair) -> bool:
    """Return whether a pair's cause is still to be found; another order of rows is no tie where a setting flips it."""
    return pair.found is None or not pair.found.explained or pair.found.cause == Difference.TIE_ORDER.value


def _asked(
    line: Line, pairs: Sequence[Pair], places: Sequence[int], pack: Pack, opened: Opened, *, golds: bool
) -> Iterator[Other]:
    """Yield the cases whose rows are others under the other settings."""
    if not places:
        return
    there = opened(line, pack)
    tasks = [(pairs[at].case, text) for at in places for text in pairs[at].other.given.texts]
    ran = iter(there.answers(tasks, "the other settings", trusted=golds))
    for at in places:
        pair = pairs[at]
        answer = Answered(pair.other.given, tuple(next(ran) for _ in pair.other.given.texts))
        word = agreement(pair.first, answer, pair.policy)[0]
        if pair.agreed in ("silent", "error") and word == "agree":
            yield Other(
                at, _found(Difference.COLLATION, "the same text agrees under a collation that compares code points")
            )
        elif pair.agreed == "agree" and word == "silent":
            probe = "under the engine's own collation the same text gives other rows, under the pack's it agrees"
            yield Other(at, _found(Difference.COLLATION, probe), answer)


def _found(cause: Difference, probe: str) -> Found:
    """Return the cause with what shows it."""
    return Found(cause=cause.value, owner="dialect", probe=probe, explained=True)


def _under(
    pack: Pack,
    line: Line,
    pairs: Sequence[Pair],
    places: Sequence[int],
    changed: Mapping[str, Mapping[str, str | None]],
) -> Pack:
    """Return the pack with the snapshots of these cases alone, under other settings on this engine."""
    needed = {pairs[at].case.snapshot for at in places}
    snapshots = [_set(one, line.dialect, changed[one.id]) for one in pack.snapshots if one.id in needed]
    return replace(pack, snapshots=tuple(snapshots))


def _set(snapshot: Snapshot, dialect: str, changed: Mapping[str, str | None]) -> Snapshot:
    """Return a snapshot under other settings, which is another snapshot."""
    settings = snapshot.settings_for(dialect).model_copy(update=dict(changed))
    digest = hashlib.sha256(f"{snapshot.digest} {dialect} {sorted(changed.items())}".encode()).hexdigest()
    return replace(snapshot, digest=digest, settings={**snapshot.settings, dialect: settings})

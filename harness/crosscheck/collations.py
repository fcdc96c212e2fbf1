"""Ask an engine under its other collation too: where that alone decides the rows, they differ by the collation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cases.case import Case
from cases.errors import InputError
from cases.pack import Pack
from cases.policy import Policy
from cases.settings import BINARY, DEFAULT
from cases.snapshot import Snapshot
from dialect_adapters.contract import Folding
from dialect_adapters.transpile.causes import Difference
from harness.crosscheck.lines import Line
from harness.crosscheck.matrix import agreement
from harness.crosscheck.statements import Answered
from harness.results.crosscheck import Found

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
    """What the other collation shows of a case: the cause, and the answer that counts where it is another one."""

    at: int
    found: Found
    answer: Answered | None = None


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
        if pair.agreed == "silent" and not (pair.found and pair.found.explained) and pair.case.snapshot not in bytewise
    ]
    agreeing = [
        at
        for at, pair in enumerate(pairs)
        if pair.agreed == "agree" and pair.case.snapshot in bytewise and pair.other.given.origin != "rewritten"
    ]
    shown: list[Other] = []
    problems: list[str] = []
    for places, collation in ((open_ones, BINARY), (agreeing, DEFAULT)):
        try:
            shown += _asked(line, pairs, places, _under(pack, line, pairs, places, collation), opened, golds=golds)
        except InputError as error:
            problems.append(f"{line.dialect}: its {collation} collation could not be asked: {error}")
    return shown, problems


def _asked(
    line: Line, pairs: Sequence[Pair], places: Sequence[int], pack: Pack, opened: Opened, *, golds: bool
) -> Iterator[Other]:
    """Yield the cases whose rows are others under the other collation."""
    if not places:
        return
    there = opened(line, pack)
    tasks = [(pairs[at].case, text) for at in places for text in pairs[at].other.given.texts]
    ran = iter(there.answers(tasks, "the other collation", trusted=golds))
    for at in places:
        pair = pairs[at]
        answer = Answered(pair.other.given, tuple(next(ran) for _ in pair.other.given.texts))
        word = agreement(pair.first, answer, pair.policy)[0]
        if pair.agreed == "silent" and word == "agree":
            yield Other(at, _found("the same text agrees under a collation that compares code points"))
        elif pair.agreed == "agree" and word == "silent":
            probe = "under the engine's own collation the same text gives other rows, under the pack's it agrees"
            yield Other(at, _found(probe), answer)


def _found(probe: str) -> Found:
    """Return the cause with what shows it."""
    return Found(cause=Difference.COLLATION.value, owner="dialect", probe=probe, explained=True)


def _under(pack: Pack, line: Line, pairs: Sequence[Pair], places: Sequence[int], collation: str) -> Pack:
    """Return the pack with the snapshots of these cases alone, under another collation on this engine."""
    needed = {pairs[at].case.snapshot for at in places}
    snapshots = [_collated(one, line.dialect, collation) for one in pack.snapshots if one.id in needed]
    return replace(pack, snapshots=tuple(snapshots))


def _collated(snapshot: Snapshot, dialect: str, collation: str) -> Snapshot:
    """Return a snapshot under another collation, which is another snapshot."""
    settings = snapshot.settings_for(dialect).model_copy(update={"collation": collation})
    digest = hashlib.sha256(f"{snapshot.digest} {dialect} {collation}".encode()).hexdigest()
    return replace(snapshot, digest=digest, settings={**snapshot.settings, dialect: settings})

"""What a pack says for one engine, read by an engine of its kin: the same text, as it stands.

Only an adapter says whose statements its engine reads (`Akin`); what a pack writes for the engine itself always wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.pack import Pack
from sqlassay.cases.settings import BINARY, DEFAULT, EngineSettings
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Akin
from sqlassay.dialect_adapters.registry import adapter

Kin = Mapping[str, str]
"""The dialects that fall back on another, with that other's name."""
_Text = TypeVar("_Text")
_FIELDS = ("gold", "setup_sql", "eval_query", "cleanup_sql")


def kin_of(dialects: Sequence[str]) -> Kin:
    """Return those of the dialects whose engines read another's statements.

    Raises:
        InputError: no such dialect is installed.
    """
    found = {name: adapter(name) for name in dialects}
    return {name: one.kin for name, one in found.items() if isinstance(one, Akin)}


def in_dialects(pack: Pack, dialects: Sequence[str]) -> Pack:
    """Return the pack with gold, setup and scripts for each of these dialects, its kin's where it has none itself."""
    kin = kin_of(dialects)
    if not kin:
        return pack
    cases = tuple(_case(case, kin) for case in pack.cases)
    return replace(pack, cases=cases, snapshots=tuple(_snapshot(one, kin) for one in pack.snapshots))


def predictions_in(predictions: Sequence[Prediction], dialect: str) -> tuple[Prediction, ...]:
    """Return the predictions, those for the dialect's kin meant for the dialect where it has none of its own."""
    lender = kin_of([dialect]).get(dialect)
    own = {(one.case_id, one.trial) for one in predictions if one.dialect == dialect}
    return tuple(
        one.model_copy(update={"dialect": dialect})
        if lender is not None and one.dialect == lender and (one.case_id, one.trial) not in own
        else one
        for one in predictions
    )


def lent(pack: Pack, dialect: str) -> str:
    """Return a line that says how much gold a dialect reads in its kin's words; empty where it does not."""
    lender = kin_of([dialect]).get(dialect)
    count = sum(bool(case.gold.get(lender)) and not case.gold.get(dialect) for case in pack.cases) if lender else 0
    return f"{dialect} reads the gold of {lender} as it stands in {count} cases that have none of its own" * bool(count)


def _case(case: Case, kin: Kin) -> Case:
    """Return a case whose texts are there for every dialect that reads them."""
    texts = {field: _filled(getattr(case, field), kin) for field in _FIELDS}
    return case.model_copy(update=texts)


def _snapshot(snapshot: Snapshot, kin: Kin) -> Snapshot:
    """Return a snapshot whose scripts and settings are there for every dialect that reads them.

    A collation is not read: another engine has others, by other names.
    """
    lent = {name: _uncollated(one) for name, one in snapshot.settings.items()}
    settings = {name: lent[lender] for name, lender in kin.items() if lender in lent and name not in lent}
    lends = bool(snapshot.scripts) and not (snapshot.whole_scripts and snapshot.tables)
    scripts = _filled(snapshot.scripts, kin) if lends else snapshot.scripts
    return replace(snapshot, scripts=scripts, settings={**snapshot.settings, **settings})


def _uncollated(settings: EngineSettings) -> EngineSettings:
    """Return settings without a collation that only its own engine has."""
    kept = settings.collation if settings.collation in (None, BINARY, DEFAULT) else None
    return settings.model_copy(update={"collation": kept})


def _filled(texts: Mapping[str, _Text], kin: Kin) -> dict[str, _Text]:
    """Return texts by dialect, a dialect's kin's where it has none."""
    borrowed = {name: texts[lender] for name, lender in kin.items() if lender in texts and not texts.get(name)}
    return {**texts, **borrowed}

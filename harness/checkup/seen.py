"""What the check of one case leaves behind: signs on its gold statements, notes, and what a comparison showed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlassay.cases.case import Case
from sqlassay.cases.relation import Row
from sqlassay.cases.typed_json import encode
from sqlassay.harness.personal import personal
from sqlassay.harness.results.evidence import Evidence, GoldAnswer
from sqlassay.harness.results.health import MEANINGS, Finding, Flag
from sqlassay.harness.results.verdicts import Comparison

_SHOWN = 300
_FLAGGED = "nondeterministic: "
_PLACES = ("rowid", "_rowid_", "oid", "ctid", "cmin", "cmax", "xmin", "xmax", "tableoid")

RANDOM = frozenset(
    _FLAGGED + name
    for name in (
        "random",
        "randomblob",
        "rand",
        "uuid",
        "gen_random_uuid",
        "array_sample",
        "array_shuffle",
        "random_normal",
        "tablesample",
    )
)
"""What the guard flags because it gives something else each time."""


def reads_places(flags: Iterable[str]) -> bool:
    """Return whether the guard's flags say that a statement asks where rows are stored, or which objects there are."""
    return any(flag.removeprefix(_FLAGGED) in _PLACES or flag.startswith("catalogue: ") for flag in flags)


@dataclass(frozen=True, slots=True)
class Sign:
    """One flag with what shows it."""

    flag: Flag
    evidence: str
    probe: str | None = None
    rows: tuple[str, ...] = ()


@dataclass(slots=True)
class Seen:
    """One case in one dialect: its answers, and everything said about them so far; one thread writes it at a time."""

    case: Case
    dialect: str
    answers: tuple[GoldAnswer, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    flags: dict[int, tuple[str, ...]] = field(default_factory=dict)
    executions: int = 0

    def add(self, number: int, signs: Iterable[Sign], against: Sequence[GoldAnswer] = ()) -> None:
        """Record signs on the accepted statement of this number, from 1; the first of each flag stands.

        `against` are the answers of another dialect that a sign shows besides the case's own.
        """
        for sign in signs:
            if not self.has(sign.flag, number):
                self.findings.append(self._finding(number, sign, against))

    def told(self) -> list[str]:
        """Return the notes as they may be written."""
        masks = personal(self.case, self.answers)
        return self.notes if masks is None else [masks.text(note) for note in self.notes]

    def has(self, flag: Flag, number: int) -> bool:
        """Return whether a statement carries a flag already."""
        return any(one.flag is flag and one.alternative == number for one in self.findings)

    def movable(self, number: int) -> bool:
        """Return whether a statement gives rows that should be the same wherever its rows are stored."""
        flags = self.flags.get(number, ())
        if self.answers[number - 1].relation is None or reads_places(flags) or RANDOM & set(flags):
            return False
        return not any(self.has(flag, number) for flag in (Flag.REFUSED_BY_GUARD, Flag.DOES_NOT_RUN, Flag.TOO_SLOW))

    def _finding(self, number: int, sign: Sign, against: Sequence[GoldAnswer]) -> Finding:
        """Return a sign as it is written, with a mark for each value of a personal column."""
        masks = personal(self.case, (*self.answers, *against))
        sql, evidence, probe, rows = self.answers[number - 1].sql, sign.evidence, sign.probe, sign.rows
        if masks is not None:
            sql, evidence = masks.text(sql), masks.text(evidence, said=True)
            probe = None if probe is None else masks.text(probe)
            rows = tuple(masks.text(row, said=True) for row in rows)
        return Finding(
            case_id=self.case.id,
            dialect=self.dialect,
            alternative=number,
            flag=sign.flag,
            evidence=evidence,
            sql=sql,
            probe=probe,
            rows=rows,
            remedy=MEANINGS[sign.flag][1],
        )


def row_text(row: Row) -> str:
    """Return a row as text for a report, shortened where it is long."""
    import json

    text = json.dumps([encode(cell) for cell in row], ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def differing(comparison: Comparison, names: tuple[str, str]) -> tuple[str, ...]:
    """Return the first row that differs as each side has it."""
    first = comparison.first
    if first is None:
        return ()
    sides = zip(names, (first.gold, first.predicted), strict=True)
    return tuple(f"{name}: {'no such row' if row is None else row_text(row)}" for name, row in sides)


def compared(evidence: Evidence) -> Comparison | None:
    """Return the comparison under the run's policy, None where nothing was compared."""
    return evidence.executions[-1].comparison if evidence.executions else None

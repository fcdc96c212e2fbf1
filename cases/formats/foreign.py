"""Turn the rows of a foreign data set into a pack; a row that cannot be judged is left out with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from sqlassay.cases.case import Case, Prediction, QueryType
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.checks import case_set_digest
from sqlassay.cases.formats.databases import Found, no_databases, snapshots_of
from sqlassay.cases.pack import Pack, PackRow, PackSettings

Sqls = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """One row in our words; `reason` says why it cannot be judged, where it cannot.

    `predictions` stand in the row itself, and belong to it whatever its id is. A row that filters do not choose is no
    case, but predictions may count or name it.
    """

    id: str
    database: str
    question: str = ""
    gold: Sqls = field(default_factory=dict)
    evidence: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    query_type: QueryType = "dql"
    setup_sql: Sqls = field(default_factory=dict)
    eval_query: Sqls = field(default_factory=dict)
    cleanup_sql: Sqls = field(default_factory=dict)
    reason: str = ""
    predictions: tuple[Prediction, ...] = ()
    order_required: bool | None = None
    chosen: bool = True


@dataclass(frozen=True, slots=True)
class DataSet:
    """What a foreign reader found: rows in file order, where databases are looked for, and the files with gold."""

    name: str
    path: Path
    format: str
    rows: tuple[ForeignRow, ...]
    find: Callable[[str], Found | None]
    folders: tuple[str, ...]
    files: tuple[Path, ...]
    settings: PackSettings = PackSettings()
    notes: tuple[str, ...] = ()
    predictions: Path | None = None


def pack_of(data: DataSet) -> Pack:
    """Return the pack: every row that can be judged as a case, every other one listed with its id and reason.

    Raises:
        InputError: nothing can be judged at all, or a database is damaged.
    """
    found = _databases(data)
    snapshots, ids = snapshots_of(found.values())
    judged = judge_rows(data.rows, ids)
    cases, rows, left_out = judged.cases, judged.rows, (*data.notes, *judged.left_out)
    if any(row.chosen for row in data.rows) and not found:
        raise no_databases(data.path, data.folders)
    if not cases:
        none = "The filters choose none of its rows" if data.rows else "The file has no row"
        remedy = left_out[0] if left_out else none
        raise InputError("no row of the data set can be judged", file=data.path, remedy=remedy)
    return Pack(
        name=data.name,
        path=data.path,
        digest=case_set_digest(cases, {}, {}),
        cases=cases,
        snapshots=snapshots,
        settings=data.settings,
        format=data.format,
        predictions=data.predictions,
        inline_predictions=judged.predictions,
        files=data.files,
        left_out=left_out,
        rows=rows,
    )


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """Which rows are cases: those, every row's place, what the rows predict themselves, and a line for each other."""

    cases: tuple[Case, ...]
    rows: tuple[PackRow, ...]
    predictions: tuple[Prediction, ...]
    left_out: tuple[str, ...]


def judge_rows(found: Sequence[ForeignRow], snapshots: Mapping[str, Sequence[str]]) -> JudgedRows:
    """Return the rows that can be judged as cases; `snapshots` are each database's, the real one first."""
    cases: list[Case] = []
    left_out: list[str] = []
    seen: set[str] = set()
    rows: list[PackRow] = []
    for row in found:
        case, reason = _case(row, snapshots.get(row.database, ()), seen) if row.chosen else (None, "")
        rows.append(PackRow(row.id, row.database, case is not None))
        if case is None and row.chosen:
            left_out.append(f"row {row.id} was left out: {reason}")
        elif case is not None:
            seen.add(case.id)
            cases.append(case)
    predictions = (one for row, place in zip(found, rows, strict=True) if place.kept for one in row.predictions)
    return JudgedRows(tuple(cases), tuple(rows), tuple(predictions), tuple(left_out))


def _databases(data: DataSet) -> dict[str, Found]:
    """Return the databases that the usable rows name and that exist."""
    names = dict.fromkeys(row.database for row in data.rows if row.chosen and not row.reason and row.gold)
    looked = {name: data.find(name) for name in names}
    return {name: found for name, found in looked.items() if found is not None}


def _case(row: ForeignRow, snapshots: Sequence[str], seen: set[str]) -> tuple[Case | None, str]:
    """Return one row as a case, or the reason why it is none."""
    reason = _strange(row, snapshots, seen)
    if reason:
        return None, reason
    try:
        case = Case(
            id=row.id,
            question=row.question,
            snapshot=snapshots[0],
            extra_snapshots=tuple(snapshots[1:]),
            gold=row.gold,
            evidence=row.evidence or None,
            difficulty=row.difficulty or None,
            tags=row.tags,
            query_type=row.query_type,
            order_required=row.order_required,
            setup_sql=row.setup_sql,
            eval_query=row.eval_query,
            cleanup_sql=row.cleanup_sql,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return None, f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].removeprefix('Value error, ')}"
    return case, ""


def _strange(row: ForeignRow, snapshots: Sequence[str], seen: set[str]) -> str:
    """Return why a row cannot be judged, or nothing."""
    if row.reason:
        return row.reason
    if not row.gold:
        return "it has no gold SQL"
    if not row.database:
        return "it names no database"
    if not snapshots:
        return f"its database '{row.database}' is not there"
    return "its id stands twice" if row.id in seen else ""


def alternatives(value: object) -> tuple[str, ...]:
    """Return gold written as one text or a list of accepted texts; blank and other values are none."""
    texts = value if isinstance(value, list) else [value]
    return tuple(text.strip() for text in texts if isinstance(text, str) and text.strip())


def text_of(value: object) -> str:
    """Return a field's text; numbers are spelled, anything else is empty."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def tag_list(value: object) -> tuple[str, ...]:
    """Return tags written as one text or a list of texts."""
    texts: Iterable[object] = value if isinstance(value, list) else [value]
    return tuple(text for text in (text_of(one) for one in texts) if text)

"""Read a finished run's folder back: manifest, results and stored rows, refusing whatever is torn or tampered with."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.outcome import Changed
from sqlassay.cases.reading import MAX_DOCUMENT, json_lines, parse_json, read_text, to_text
from sqlassay.cases.relation import Relation
from sqlassay.harness.results.case_result import FORMAT, CaseResult, OrderRecord
from sqlassay.harness.results.run_result import Manifest
from sqlassay.harness.store.folder import MANIFEST, RELATIONS, RESULTS, file_name
from sqlassay.harness.store.journal import JOURNAL
from sqlassay.harness.store.sides import Content, Side, side_from_json

MOST_BYTES = 1024 * 1024 * 1024
"""What one stored side may take unpacked; a result limit is far below."""

_REMEDY = "The folder is damaged or was changed: run the evaluation again"


@dataclass(frozen=True, slots=True)
class StoredGold:
    """One accepted gold as it was stored: its rows or the state it left, its probe, text and ORDER BY."""

    content: Content
    probe: Content | None
    sql: str | None
    order: OrderRecord | None
    constants: frozenset[int] = frozenset()
    divides: bool = False
    literals: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class StoredSides:
    """What a result can be judged again from: the golds, the one that counted first, and the prediction."""

    golds: tuple[StoredGold, ...]
    predicted: Content
    orders: tuple[OrderRecord | None, ...] = ()
    constants: frozenset[int] = frozenset()
    literals: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as its folder tells it, without its stored rows."""

    path: Path
    manifest: Manifest
    results: tuple[CaseResult, ...]


def read_run(path: Path) -> StoredRun:
    """Return the run a folder holds.

    Raises: InputError where it is no run folder, the run did not finish, or a file is damaged.
    """
    manifest = read_manifest(path)
    if not (path / RESULTS).is_file():
        remedy = f"Go on with it by `sqlassay resume {path}`"
        raise InputError(f"has no {RESULTS}: the run did not finish", file=path, remedy=remedy)
    return StoredRun(path, manifest, _results(path / RESULTS))


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a run folder.

    Raises: InputError where there is none, or it is damaged.
    """
    if not (path / MANIFEST).is_file():
        if (path / JOURNAL).is_file() and not (path / JOURNAL).stat().st_size and not (path / RESULTS).is_file():
            remedy = "Start it again with `sqlassay run`: it has judged nothing yet"
            raise InputError("is a run that ended before its first case", file=path, remedy=remedy)
        remedy = (
            "Name a folder that `sqlassay run` left; one whose run ended before that file holds nothing: run it again"
        )
        raise InputError(f"is no run folder: it has no {MANIFEST}", file=path, remedy=remedy)
    value = parse_json(read_text(path / MANIFEST), path / MANIFEST)
    _check_format(value, path / MANIFEST, None)
    faults = Faults()
    manifest = faults.validate(Manifest, value, file=path / MANIFEST, line=lambda _: None)
    faults.check()
    if manifest is None:
        raise AssertionError("a manifest without a fault is one")
    return manifest


def _results(path: Path) -> tuple[CaseResult, ...]:
    """Return every result, in file order; each case and trial stands once."""
    found: dict[tuple[str, int], CaseResult] = {}
    for record in json_lines(path, limit=MAX_DOCUMENT):
        _check_format(record.value, path, record.line)
        faults = Faults()
        result = faults.validate(CaseResult, record.value, file=path, line=lambda _, at=record.line: at)  # type: ignore[misc]
        faults.check()
        if result is None:
            raise AssertionError("a line without a fault is a result")
        if result.key in found:
            message = f"case '{result.case_id}' trial {result.trial} stands twice"
            raise InputError(message, file=path, line=record.line, field="case_id", remedy=_REMEDY)
        found[result.key] = result
    return tuple(found.values())


def _check_format(value: object, path: Path, line: int | None) -> dict[str, object]:
    """Return the object; refuse what is none, or is of a format this version does not know."""
    if not isinstance(value, dict):
        raise InputError("an object is expected", file=path, line=line, remedy=_REMEDY)
    if value.get("format") != FORMAT:
        message = f"format {value.get('format')!r} is not known, only {FORMAT}"
        raise InputError(message, file=path, line=line, field="format", remedy="Use the version that wrote it")
    return value


def has_rows(result: CaseResult) -> bool:
    """Tell whether rows were compared: a failure, a blocked text or a change of state has none."""
    return result.comparison is not None and result.gold_shape is not None and result.predicted_shape is not None


def by_state(result: CaseResult) -> bool:
    """Tell whether the states that two changes left were compared."""
    return result.comparison is not None and result.comparison.rule == "state"


def read_sides(run: StoredRun, result: CaseResult) -> StoredSides | None:
    """Return what is stored of a result; None where nothing was.

    Raises: InputError where the file is torn, belongs to another result, or disagrees with results.jsonl.
    """
    path = run.path / RELATIONS / f"{file_name(result.case_id)}.{result.trial}.jsonl.gz"
    if not path.is_file():
        return None
    sides: dict[tuple[str, int], Side] = {}
    try:
        with gzip.open(path) as stream:
            number = 0
            while data := stream.readline(MOST_BYTES + 1):
                number += 1
                side = _side(data, path, number, result)
                key = (side.name, side.alternative)
                if key in sides:
                    message = f"side {side.name} stands twice"
                    raise InputError(message, file=path, line=number, field="side", remedy=_REMEDY)
                sides[key] = side
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be unpacked: {error}", file=path, remedy=_REMEDY) from None
    _check_sides(sides, path, result)
    return _together(sides, result)


def together(sides: Sequence[Side], result: CaseResult) -> StoredSides:
    """Return the sides that a run stores of a result as `read_sides` finds them."""
    return _together({(side.name, side.alternative): side for side in sides}, result)


def _together(sides: dict[tuple[str, int], Side], result: CaseResult) -> StoredSides:
    """Return the sides with each gold beside its probe; the first gold's text and order are in the result too."""
    golds = []
    for (name, number), side in sorted(sides.items()):
        if name == "gold":
            probe = sides.get(("probe", number))
            order = side.order
            if not number and order is None and result.gold_structure is not None:
                order = result.gold_structure.order
            sql = result.gold_sql if not number and side.sql is None else side.sql
            shown = None if probe is None else probe.content
            golds.append(StoredGold(side.content, shown, sql, order, side.constants, side.divides, side.literals))
    predicted = sides["predicted", 0]
    return StoredSides(tuple(golds), predicted.content, predicted.orders, predicted.constants, predicted.literals)


def _side(data: bytes, path: Path, line: int, result: CaseResult) -> Side:
    """Return one stored line."""
    if len(data) > MOST_BYTES:
        raise InputError(f"line is longer than {MOST_BYTES:,} bytes", file=path, line=line, remedy=_REMEDY)
    value = parse_json(to_text(data, path, first_line=line), path, line=line)
    value = _check_format(value, path, line)
    if (value.get("case_id"), value.get("trial")) != result.key:
        message = f"belongs to case {value.get('case_id')!r} trial {value.get('trial')!r}"
        raise InputError(message, file=path, line=line, field="case_id", remedy=_REMEDY)
    try:
        return side_from_json({key: item for key, item in value.items() if key not in ("format", "case_id", "trial")})
    except InputError as error:
        message = error.message.removeprefix(f"{error.field}: ")
        raise InputError(message, file=path, line=line, field=error.field, remedy=_REMEDY) from None
    except ValueError as error:
        message = f"no stored side: {str(error).splitlines()[0]}"
        raise InputError(message, file=path, line=line, field=str(value.get("side")), remedy=_REMEDY) from None


def _check_sides(sides: dict[tuple[str, int], Side], path: Path, result: CaseResult) -> None:
    """Refuse stored rows that results.jsonl does not speak of."""
    states = by_state(result)
    for (name, _), side in sides.items():
        if isinstance(side.content, Changed) is not states:
            message = "holds rows where a state is, or a state where rows are"
            raise InputError(message, file=path, field=name, remedy=_REMEDY)
    said = {
        "gold": (result.gold_shape, result.gold_columns),
        "predicted": (result.predicted_shape, result.predicted_columns),
    }
    for name, (shape, columns) in said.items():
        stored = sides.get((name, 0))
        if stored is None:
            raise InputError(f"has no {name} rows", file=path, field=name, remedy=_REMEDY)
        relation = stored.content
        if not isinstance(relation, Relation):
            continue
        names = tuple(column.name for column in relation.columns)
        if relation.shape != shape or names != columns:
            message = f"{name} rows are not those of {RESULTS}: {relation.shape}, not {shape} rows and columns"
            raise InputError(message, file=path, field=name, remedy=_REMEDY)

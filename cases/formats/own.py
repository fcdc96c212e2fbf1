"""Our own pack format: a folder with `pack.yaml`, or one YAML file with the cases in place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults, LineOf, Place
from sqlassay.cases.formats.checks import Placed, case_set_digest, check_cases, with_defaults, zoned
from sqlassay.cases.formats.header import PackHeader
from sqlassay.cases.formats.snapshots import build_snapshot
from sqlassay.cases.formats.table import read_questions, rows_of
from sqlassay.cases.pack import Pack, PackSettings
from sqlassay.cases.paths import inside
from sqlassay.cases.presets import preset_names
from sqlassay.cases.reading import json_records
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.tables import DELIMITED, EXCEL, named_part
from sqlassay.cases.yaml_reading import YamlDocument, read_yaml

HEADER = "pack.yaml"
_YAML = (".yaml", ".yml")
_OF_TABLES = ("id", "gold", "evidence", "difficulty", "tags", "query_type", "order_required")


class OwnFormat:
    """Reads packs written for sqlassay."""

    name = "own"

    def detect(self, path: Path) -> bool:
        """Return True for a folder with a header, or a YAML file that has the header's two marks."""
        if path.is_dir():
            return (path / HEADER).is_file()
        if path.suffix not in _YAML or not path.is_file():
            return False
        with path.open("rb") as stream:
            head = b"\n" + stream.read(65_536).removeprefix(b"\xef\xbb\xbf")
        return b"\nformat:" in head and b"\nsnapshots:" in head

    def load(self, path: Path) -> Pack:
        """Return the pack.

        Raises:
            InputError: anything malformed, as file:line:field with the remedy.
        """
        file = path / HEADER if path.is_dir() else path
        if not file.exists():
            raise InputError(f"no {HEADER} here", file=path, remedy="Run `sqlassay init DIR` to see one")
        root = file.parent
        document = read_yaml(file)
        header = _header(document)
        snapshots = tuple(
            limited(
                build_snapshot(key, model, root, document, header.allowed_functions.get(key, ())),
                header.visible.get(key),
            )
            for key, model in header.snapshots.items()
        )
        _check_header(header, snapshots, document)
        cases = _cases(header, root, document)
        predictions = _predictions(header, root, document)
        return Pack(
            name=header.name,
            path=path,
            digest=case_set_digest(cases, header.routes, header.visible, header.allowed_functions),
            cases=cases,
            snapshots=snapshots,
            routes=tuple(header.routes.items()),
            visible=tuple(header.visible.items()),
            settings=_settings(header),
            predictions=predictions,
            format=self.name,
            description=header.description,
            files=_files(header, root, file, predictions),
        )


def limited(snapshot: Snapshot, visible: Sequence[str] | None) -> Snapshot:
    """Return a snapshot whose predictions may read these tables alone (None: all); its logins' rights depend on it."""
    if visible is None:
        return snapshot
    names = tuple(sorted({name.lower() for name in visible}))
    digest = hashlib.sha256(f"{snapshot.digest}|visible|{'|'.join(names)}".encode()).hexdigest()
    return replace(snapshot, visible=names, digest=digest)


def _header(document: YamlDocument) -> PackHeader:
    """Return the validated header."""
    if not isinstance(document.value, dict):
        raise InputError("a pack header is a mapping", file=document.path, line=1, remedy="See docs/formats.md")
    faults = Faults()
    header = faults.validate(PackHeader, document.value, file=document.path, line=document.line)
    faults.check()
    assert header is not None
    return header


def _check_header(header: PackHeader, snapshots: tuple[Snapshot, ...], document: YamlDocument) -> None:
    """Check what the header's parts say about each other."""
    faults = Faults()
    known = {snapshot.id: snapshot for snapshot in snapshots}
    listed = f"Known snapshots: {', '.join(known)}"

    def fault(*place: str, message: str, remedy: str) -> None:
        """Keep one fault at a field of the header."""
        line = document.line(place)
        faults.add(InputError(message, file=document.path, line=line, field=".".join(place), remedy=remedy))

    databases: dict[str, str] = {}
    for snapshot in snapshots:
        other = databases.setdefault(snapshot.database.lower(), snapshot.id)
        if other != snapshot.id:
            message = f"snapshots '{other}' and '{snapshot.id}' share the database name '{snapshot.database}'"
            fault("snapshots", snapshot.id, message=message, remedy="Give each its own `database:`")
    for route, target in header.routes.items():
        if target is not None and target not in known:
            fault("routes", route, message=f"unknown snapshot '{target}'", remedy=listed)
    preset = header.policy.preset if header.policy else None
    if preset is not None and preset not in preset_names():
        remedy = f"Known presets: {', '.join(preset_names())}"
        fault("policy", "preset", message=f"unknown policy preset '{preset}'", remedy=remedy)
    for target in header.allowed_functions:
        if target not in known:
            fault("allowed_functions", target, message=f"unknown snapshot '{target}'", remedy=listed)
        elif not any(known[target].scripts.values()):
            message = f"snapshot '{target}' has no scripts, and so no functions"
            fault("allowed_functions", target, message=message, remedy="Take the list out, or add `scripts:`")
    for target, tables in header.visible.items():
        if target not in known:
            fault("visible", target, message=f"unknown snapshot '{target}'", remedy=listed)
            continue
        names = {table.name.lower() for table in known[target].tables}
        for table in [table for table in tables if names and not known[target].scripts and table.lower() not in names]:
            fault("visible", target, message=f"no table '{table}'", remedy=f"Tables: {', '.join(sorted(names))}")
    faults.check()


def _cases(header: PackHeader, root: Path, document: YamlDocument) -> tuple[Case, ...]:
    """Return every case of the header and of the files it names, checked."""
    faults = Faults()
    placed: list[Placed] = []
    for raw, file, line in _raw_cases(header, root, document):
        filled = with_defaults(raw, list(header.snapshots), header.routes)
        if not isinstance(filled, dict):
            faults.add(InputError("a case is a mapping", file=file, line=line(()), remedy="See docs/formats.md"))
            continue
        case = faults.validate(Case, filled, file=file, line=line)
        if case is not None:
            placed.append(Placed(zoned(case), file, line(())))
    check_cases(placed, list(header.snapshots), header.routes, faults)
    faults.check()
    if not placed:
        raise InputError("the pack has no case", file=document.path, field="cases", remedy="Add a case")
    return tuple(item.case for item in placed)


def _raw_cases(header: PackHeader, root: Path, document: YamlDocument) -> Iterator[tuple[object, Path, LineOf]]:
    """Yield each case as written, with its file and the way to a field's line."""
    for index, entry in enumerate(header.cases):
        place: Place = ("cases", index) if document.line(("cases", index)) else ("cases",)
        if not isinstance(entry, str):
            yield entry, document.path, _below(document, place)
            continue
        file = inside(root, entry, file=document.path, line=document.line(place), field=f"cases.{index}")
        if file.suffix in _YAML:
            yield from _yaml_cases(file)
        elif file.suffix.lower() in (*DELIMITED, *EXCEL):
            yield from _table_cases(file)
        else:
            yield from ((record.value, file, partial(_same_line, record.line)) for record in json_records(file))


def _yaml_cases(file: Path) -> Iterator[tuple[object, Path, LineOf]]:
    """Yield the cases of a YAML list."""
    document = read_yaml(file)
    if not isinstance(document.value, list):
        raise InputError("a case file is a list of cases", file=file, line=1, remedy="Start each case with '- id:'")
    for index, raw in enumerate(document.value):
        yield raw, file, _below(document, (index,))


def _table_cases(file: Path) -> Iterator[tuple[object, Path, LineOf]]:
    """Yield the cases of a table whose columns are named as a case's fields are, or guessed."""
    table, found = read_questions(file)
    for raw, row in zip(rows_of(table, found, "sqlite"), table.rows, strict=True):
        kept = {field: getattr(raw, field) for field in _OF_TABLES if getattr(raw, field) not in (None, "", (), {})}
        snapshot = {"snapshot": raw.database} if raw.database else {}
        yield {**kept, **snapshot, "question": raw.question}, file, partial(_same_line, row.line)


def _below(document: YamlDocument, start: Place) -> LineOf:
    """Return the way to the line of a field below `start`."""
    return lambda place: document.line((*start, *place))


def _same_line(line: int, _place: Place) -> int:
    """Return the one line a JSON lines record stands on."""
    return line


def _predictions(header: PackHeader, root: Path, document: YamlDocument) -> Path | None:
    """Return the pack's own prediction file, with what its name says behind a #, as on a command line."""
    if header.predictions is None:
        return None
    line = document.line(("predictions",))
    part = named_part(root / header.predictions)[1]
    name = header.predictions.removesuffix(f"#{part}") if part else header.predictions
    found = inside(root, name, file=document.path, line=line, field="predictions")
    return Path(f"{found}#{part}") if part else found


def _files(header: PackHeader, root: Path, file: Path, predictions: Path | None) -> tuple[Path, ...]:
    """Return every file that holds gold or predictions; the header may hold cases itself."""
    named = [root / entry for entry in header.cases if isinstance(entry, str)]
    return (file, *named, *((named_part(predictions)[0],) if predictions else ()))


def _settings(header: PackHeader) -> PackSettings:
    """Return the settings; the preset stands beside the fields that change it."""
    policy = header.policy
    return PackSettings(
        policy_preset=policy.preset if policy else None,
        policy=policy,
        timeout=header.timeout,
        gold_timeout=header.gold_timeout,
        row_limit=header.row_limit,
        disagreement=header.disagreement,
        alpha=header.alpha,
        beta=header.beta,
        clock=_utc(header.clock),
    )


def _utc(clock: datetime | None) -> datetime | None:
    """Return a clock in UTC where it was written without an offset."""
    return clock.replace(tzinfo=UTC) if clock is not None and clock.tzinfo is None else clock

"""Check the cases of a pack against each other and against its snapshots and routes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from sqlassay.cases import extensions
from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.presets import preset_names

_DIALECT = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Placed:
    """A case and where it is written."""

    case: Case
    file: Path
    line: int | None


def with_defaults(raw: object, snapshots: Sequence[str], routes: Mapping[str, str | None]) -> object:
    """Return a raw case with the snapshot filled in where only one can be meant."""
    if not isinstance(raw, dict) or raw.get("snapshot") is not None:
        return raw
    route = raw.get("route")
    target = routes.get(route) if isinstance(route, str) else None
    if target is None and len(snapshots) == 1:
        target = snapshots[0]
    return {**raw, "snapshot": target} if target is not None else raw


def check_cases(
    placed: Sequence[Placed], snapshots: Sequence[str], routes: Mapping[str, str | None], faults: Faults
) -> None:
    """Keep a fault for every case that could not be run as written."""
    first: dict[str, Placed] = {}
    installed = list(extensions.installed("sqlassay.dialects"))
    for item in placed:
        earlier = first.setdefault(item.case.id, item)
        if earlier is not item:
            place = f"{earlier.file.name}:{earlier.line}" if earlier.line else earlier.file.name
            faults.add(_fault(item, "id", f"case '{item.case.id}' stands already at {place}", "Give it its own id"))
        preset = item.case.policy.preset if item.case.policy else None
        if preset is not None and preset not in preset_names():
            message = f"unknown policy preset '{preset}'"
            faults.add(_fault(item, "policy.preset", message, _listed("presets", preset_names())))
        _check_places(item, snapshots, routes, faults)
        _check_sql(item, routes, installed, faults)


def _check_places(item: Placed, snapshots: Sequence[str], routes: Mapping[str, str | None], faults: Faults) -> None:
    """Check that a case's snapshot and route exist and mean the same data."""
    case = item.case
    if case.snapshot not in snapshots:
        faults.add(_fault(item, "snapshot", f"unknown snapshot '{case.snapshot}'", _listed("snapshots", snapshots)))
    for name in case.extra_snapshots:
        if name not in snapshots or name == case.snapshot:
            known = _listed("snapshots", [other for other in snapshots if other != case.snapshot])
            faults.add(_fault(item, "extra_snapshots", f"'{name}' is no further snapshot", known))
    if case.route is None:
        return
    if case.route not in routes:
        faults.add(_fault(item, "route", f"unknown route '{case.route}'", _listed("routes", list(routes))))
    elif routes[case.route] not in (None, case.snapshot):
        message = f"route '{case.route}' leads to snapshot '{routes[case.route]}', the case says '{case.snapshot}'"
        faults.add(_fault(item, "snapshot", message, "Leave `snapshot` out or make them agree"))


def _check_sql(item: Placed, routes: Mapping[str, str | None], installed: Sequence[str], faults: Faults) -> None:
    """Check that a case has gold and that no dialect's name is a slip."""
    case = item.case
    elsewhere = case.route is not None and routes.get(case.route, "") is None
    if not case.gold and not case.out_of_scope and not elsewhere:
        remedy = "Add gold: {dialect: SQL}, or out_of_scope: true"
        faults.add(_fault(item, "gold", f"case '{case.id}' has no gold SQL in any dialect", remedy))
    for field in ("gold", "setup_sql", "eval_query", "cleanup_sql"):
        for dialect, texts in getattr(case, field).items():
            if not _DIALECT.fullmatch(dialect):
                faults.add(_fault(item, f"{field}.{dialect}", "not a dialect's name", "Use a lower-case name"))
            near = [] if dialect in installed else get_close_matches(dialect, installed, n=1, cutoff=0.85)
            if near:
                remedy = f"Write '{near[0]}'; installed dialects: {', '.join(sorted(installed))}"
                faults.add(_fault(item, f"{field}.{dialect}", f"unknown dialect '{dialect}'", remedy))
            if not texts or any(not text.strip() for text in texts):
                faults.add(_fault(item, f"{field}.{dialect}", "empty SQL", "Write the statement or remove the dialect"))


def _fault(item: Placed, field: str, message: str, remedy: str) -> InputError:
    """Build a fault at a case."""
    return InputError(message, file=item.file, line=item.line, field=field, remedy=remedy)


def _listed(what: str, known: Sequence[str]) -> str:
    """Return the remedy that lists what exists."""
    return f"Known {what}: {', '.join(known) or 'none'}"


def zoned(case: Case) -> Case:
    """Return a case whose clock is in UTC where it was written without an offset."""
    if case.clock is None or case.clock.tzinfo is not None:
        return case
    return case.model_copy(update={"clock": case.clock.replace(tzinfo=UTC)})


def case_set_digest(
    cases: Sequence[Case],
    routes: Mapping[str, str | None],
    visible: Mapping[str, Sequence[str]],
    functions: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """Return the sha256 over everything that decides what is asked: cases, routes, visible tables and functions."""
    content: dict[str, object] = {
        "cases": [case.model_dump(mode="json") for case in cases],
        "routes": dict(routes),
        "visible": {key: list(value) for key, value in visible.items()},
    }
    # Left out where there are none: the digest of every pack without such a list stays what it was.
    if functions:
        content["functions"] = {key: sorted({name.lower() for name in value}) for key, value in functions.items()}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

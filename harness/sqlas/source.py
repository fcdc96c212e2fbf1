"""Where a SQLAS user's database comes from: a SQLite file or a pack's snapshot, never a live server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.checks import case_set_digest
from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack

_URI = re.compile(r"[a-z][a-z0-9+]*://", re.IGNORECASE)


def pack_for(db_path: str | Path | None, pack: str | Path | None, snapshot: str | None) -> tuple[Pack, str]:
    """Return a pack without cases that holds the database, and the snapshot's id in it.

    Raises:
        InputError: none or two places are named, a live database, no such file or snapshot.
    """
    if (db_path is None) == (pack is None):
        remedy = "db_path=FILE for a SQLite file, or pack=NAME with snapshot=ID"
        raise InputError("name one place the database comes from", field="db_path", remedy=remedy)
    if db_path is not None:
        file = _file(db_path)
        snapshots, ids = snapshots_of([Found("data", (file,))])
        return Pack("sqlas", file, "", (), snapshots, format="sqlas"), ids["data"][0]
    loaded = load_pack(Path(str(pack)))
    names = [one.id for one in loaded.snapshots]
    if snapshot is None and len(names) != 1:
        raise InputError("the pack has several snapshots", field="snapshot", remedy=f"One of {', '.join(names)}")
    if snapshot is not None and snapshot not in names:
        raise InputError(f"no snapshot '{snapshot}'", field="snapshot", remedy=f"One of {', '.join(names)}")
    return loaded, snapshot or names[0]


def _file(db_path: str | Path) -> Path:
    """Return the SQLite file a user named.

    Raises:
        InputError: it is a live database, or there is no such file.
    """
    if _URI.match(str(db_path)):
        remedy = "Copy it first: sqlassay snapshot build --from URI; then name the pack and the snapshot"
        raise InputError("statements of an agent never reach a live database", field="db_path", remedy=remedy)
    file = Path(db_path)
    if not file.is_file():
        raise InputError(f"no file {file.name}", field="db_path", remedy="Name a SQLite file")
    return file.absolute()


def with_cases(base: Pack, cases: Sequence[Case], predictions: Sequence[Prediction]) -> Pack:
    """Return the pack with these cases and predictions in place of its own."""
    return replace(
        base,
        cases=tuple(cases),
        digest=case_set_digest(cases, dict(base.routes), dict(base.visible)),
        predictions=None,
        inline_predictions=tuple(predictions),
        rows=(),
        left_out=(),
    )

"""Every setting of the engines has a pair of attacks, with and without it, or says why there is none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hardening_settings import settings
from rows import rows_of

ROOT = Path(__file__).parents[2]
DIALECTS = ["postgres", "mysql", "sqlite"]
_SQLITE = {
    "authorizer": ["authorizer ReaderPolicy"],
    "query_only": ["pragma query_only"],
    "immutable": ["file ro", "file immutable"],
    "compound": ["limit COMPOUND_SELECT"],
}


def _shown(dialect: str) -> set[str]:
    """Return the settings that rows take away."""
    if dialect == "sqlite":
        names = {name for row in rows_of("hardening_sqlite") for name in row["stopped_by"]}
        return {setting for name in names for setting in _SQLITE.get(name, [f"limit {name.upper()}"])}
    return {setting for row in rows_of("hardening") if row["dialect"] == dialect for setting in row["covers"]}


def _explained(dialect: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return (setting, kind, entry) of the settings without such a row."""
    found = rows_of("settings")[dialect]
    return [(name, kind, entry) for kind, entries in found.items() for entry in entries for name in entry["settings"]]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_setting_is_without_a_pair_or_a_reason(dialect: str, tmp_path: Path) -> None:
    """A setting that is added without either fails here, and so does a row or reason for one that is gone."""
    there = settings(dialect, tmp_path)
    explained = [name for name, _, _ in _explained(dialect)]
    assert there - _shown(dialect) - {*explained} == set()
    assert {*explained, *_shown(dialect)} - there == set()
    assert [name for name in explained if explained.count(name) > 1 or name in _shown(dialect)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_reason_is_one(dialect: str) -> None:
    """Tuning and depth say why, a pair elsewhere names a test that exists, and the threat model names all of depth."""
    page = re.sub(r"\s+", " ", (ROOT / "docs" / "threat-model.md").read_text("utf-8"))
    for name, kind, entry in _explained(dialect):
        if kind == "elsewhere":
            file, _, test = entry["test"].partition("::")
            assert f"def {test}(" in (ROOT / file).read_text("utf-8"), name
            continue
        assert entry["why"], name
        if kind == "depth":
            assert f"`{name.split(' ', 1)[1]}`" in page, f"docs/threat-model.md does not name {name}"
            assert entry["why"] in page, f"docs/threat-model.md does not say: {entry['why']}"


def test_a_new_setting_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is read is what the adapters say: one option more of the login is one setting more."""
    from sqlassay.dialect_adapters.postgres import harden

    before = settings("postgres", tmp_path)
    real = harden.role
    more = "ALTER ROLE r SET made_up = on;\n"
    monkeypatch.setattr(harden, "role", lambda *given, **named: real(*given, **named) + more)
    assert settings("postgres", tmp_path) - before == {"login made_up"}

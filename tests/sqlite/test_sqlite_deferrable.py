"""A reference that is checked late is another schema than one that is checked at once."""

from __future__ import annotations

import pytest

from sqlassay.dialect_adapters.sqlite.state import _told


@pytest.mark.parametrize(
    ("clause", "told"),
    [
        ("", []),
        ("NOT DEFERRABLE INITIALLY DEFERRED", []),
        ("DEFERRABLE INITIALLY IMMEDIATE", []),
        ("DEFERRABLE INITIALLY DEFERRED", [("a", "deferrable", "initially deferred")]),
    ],
)
def test_only_a_late_check_is_told(clause: str, told: list[tuple[str, ...]]) -> None:
    """SQLite checks late under one spelling alone; every other one means at once."""
    sql = f"CREATE TABLE a (b INT, FOREIGN KEY (b) REFERENCES t (id) {clause})"
    assert list(_told(("a", "table", "a", sql))) == told

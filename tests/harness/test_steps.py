"""Every statement in an agent's steps is found, in any shape of its arguments, and told apart by whether it ran."""

from __future__ import annotations

from typing import Any

import pytest
from rows import rows_of

from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.steps import statements

_ROWS = rows_of("agent_steps")["rows"]


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: str(row["step"])[:70])
def test_statements_are_found_in_any_shape(row: dict[str, Any]) -> None:
    """Tool, text and whether it was executed are those of the row; what came back is not asked."""
    found = statements([{"thought": "first"}, row["step"]], adapter("sqlite").rules)
    assert [(number, [tool, sql, ran]) for number, tool, sql, ran, _ in found] == [(2, each) for each in row["found"]]


def test_a_step_nested_past_any_depth_ends() -> None:
    """An endless nesting is no crash."""
    deep: dict[str, Any] = {"sql": "DELETE FROM orders"}
    for _ in range(500):
        deep = {"args": deep}
    assert list(statements([deep], adapter("sqlite").rules)) == []

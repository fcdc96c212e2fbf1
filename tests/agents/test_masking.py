"""No secret of the user stands in an agent's error."""

from __future__ import annotations

from pathlib import Path

import pytest
from rows import rows_of

from sqlassay.harness.agents.masking import masked

TABLE = Path(__file__).parents[1] / "tables" / "agent_secrets.yaml"
ROWS = rows_of(TABLE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["said"].encode("ascii", "replace").decode()[:40])
def test_error_keeps_its_words_and_loses_its_secrets(row: dict[str, str]) -> None:
    """Each row of the table comes out as it says, and once more changes nothing."""
    kept = row["said"] if row.get("same") else row["kept"]
    assert masked(row["said"]) == kept
    assert masked(kept) == kept

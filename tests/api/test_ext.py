"""What extensions import is there, and the pages on extending import nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sqlassay.ext

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


def test_every_name_is_there() -> None:
    """`from sqlassay.ext import *` gives each name that is promised, in order."""
    assert [name for name in sqlassay.ext.__all__ if not hasattr(sqlassay.ext, name)] == []
    assert sqlassay.ext.__all__ == sorted(sqlassay.ext.__all__)


@pytest.mark.parametrize("page", sorted(path.name for path in HOW_TO.glob("new-*.md")))
def test_how_tos_import_the_public_names_alone(page: str) -> None:
    """A page on extending takes names from `sqlassay` and `sqlassay.ext`, never from a room."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    assert re.findall(r"(?:from|import) (sqlassay\.(?!ext\b)[\w.]+)", text) == []

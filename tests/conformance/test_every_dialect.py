"""No registered dialect goes without the conformance suites."""

from __future__ import annotations

import re
from pathlib import Path

from sqlassay.dialect_adapters.registry import names

_SUITE = re.compile(
    r"class \w+\((ExecutionConformance|ChangeConformance)\):.*?^    dialect = \"(\w+)\"", re.DOTALL | re.M
)


def test_every_dialect_passes_both_suites() -> None:
    """Each registered dialect has a class of the execution suite and one of the suite of changes in this folder."""
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*_*.py")]
    found = {(suite, dialect) for text in texts for suite, dialect in _SUITE.findall(text)}
    wanted = {(suite, name) for suite in ("ExecutionConformance", "ChangeConformance") for name in names()}
    assert wanted - found == set()

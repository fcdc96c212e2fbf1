"""The generated reference page is what the program says today."""

from __future__ import annotations

from reference import PAGE, reference


def test_the_reference_page_is_fresh() -> None:
    """docs/reference.md equals what the commands, metrics and policies say; `make docs` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == reference()

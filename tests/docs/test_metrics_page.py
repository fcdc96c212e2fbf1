"""The generated page of metrics is what the program says today."""

from __future__ import annotations

from metrics_page import PAGE, page


def test_the_page_of_metrics_is_fresh() -> None:
    """docs/metrics.md equals what the installed metrics, profiles and weights say; `make docs` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == page()

"""One page of figures that several benches write: each owns a part between marks and leaves the others' alone."""

from __future__ import annotations

import re
from pathlib import Path

TITLE = "# Benchmarks\n\nWritten by `make bench`; do not edit.\n"
ORDER = ("compare", "metrics", "sandbox", "images", "runs")
"""The parts, as they come on the page."""


def write(page: Path, name: str, text: str) -> None:
    """Put one part in its place on the page; a page without marks is replaced."""
    before = page.read_text(encoding="utf-8") if page.is_file() else ""
    parts = {key: body for key in ORDER if (body := _part(before, key)) is not None} | {name: text.strip()}
    marked = [f"<!-- {key} -->\n\n{parts[key]}\n\n<!-- end of {key} -->\n" for key in ORDER if key in parts]
    page.write_text("\n".join((TITLE, *marked)), encoding="utf-8")


def _part(page: str, name: str) -> str | None:
    """Return what one bench wrote last, None where it has not."""
    match = re.search(rf"<!-- {name} -->\n\n(.*?)\n\n<!-- end of {name} -->", page, re.DOTALL)
    return match.group(1) if match else None

"""Write docs/demo.svg anew: what `sqlassay run demo` shows in a terminal, drawn from a real run."""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

import sqlassay
from sqlassay.harness.reports.terminal import render

TARGET = Path(__file__).parents[2] / "docs" / "demo.svg"
WIDTH = 100


def picture() -> str:
    """Return the picture of a fresh demo run on SQLite; speed and folder are left out, since they change."""
    with tempfile.TemporaryDirectory() as folder:
        run = sqlassay.run("demo", dialect="sqlite", out=Path(folder) / "run")
    shown = run.model_copy(update={"folder": "", "percentiles": {}})
    lines = render(shown, width=WIDTH, color=True).replace(f" {run.manifest.engine_version}", "").splitlines()
    varies = re.compile(r"(image|isolation|predicted execution|health|sandboxes|run folder):")
    kept = [line for line in lines if not varies.match(line)]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join(kept)), soft_wrap=False)
    svg = console.export_svg(title="sqlassay run demo", theme=MONOKAI, unique_id="sqlassay")
    # The drawing names web fonts; a picture that loads nothing needs none of them.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "monospace")


def main() -> None:
    """Write the picture."""
    TARGET.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()

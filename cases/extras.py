"""How what an extra brings is installed here: from the index, or in a checkout from the checkout itself."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def install_line(extra: str) -> str:
    """Return the command that installs one of our extras into the environment that runs us."""
    if (_ROOT / "pyproject.toml").is_file():
        return f"`python -m pip install -e '.[{extra}]'` in the checkout"
    return f"`pip install 'sqlassay[{extra}]'`"

"""Where base images may come from: what a user said, passed down as one value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Pull = Literal["auto", "never"]


@dataclass(frozen=True, slots=True)
class BaseChoice:
    """Whether a registry may be asked, which mirrors come first, and the lock file (None: the one in the cache)."""

    pull: Pull = "auto"
    mirrors: tuple[str, ...] = ()
    lock: Path | None = None


DEFAULT_CHOICE = BaseChoice()

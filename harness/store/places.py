"""Where a run that is not finished finds its pack, predictions and agent again; the file goes when the run is finished.

The manifest names no folder of the machine, as finished runs are passed on. A run to be resumed needs them.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

PLACES = "places.json"


class Places(BaseModel):
    """What was named on the command line, as it was written, and the folder it was written in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    folder: Path
    pack: Path
    pack_format: str
    predictions: Path | None = None
    agent: str | None = None
    mirror: tuple[str, ...] = ()
    images_lock: Path | None = None
    judge: tuple[str, ...] = ()
    judge_record: Path | None = None

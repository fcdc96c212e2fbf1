"""Open the judge of a run, keep its answers for the next one, and close it on every way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from sqlassay.harness.judges import Figures, Seated, open_judge
from sqlassay.harness.results.run_result import JudgeFigures
from sqlassay.harness.run.options import RunConfig
from sqlassay.sandboxes.cache import cache_dir

FOLDER = "judge"
"""Where in the cache answers are kept."""

_REPLAY = "replay:"


@contextmanager
def open_run_judge(config: RunConfig) -> Iterator[Seated | None]:
    """Give the judge a run names, checked and not asked yet; None where it names none.

    Raises:
        InputError: an unknown kind, option or file, or a key that is not set.
        InfrastructureError: the file to record into cannot be written.
    """
    if not config.judge:
        yield None
        return
    cache = cache_dir() / FOLDER if config.judge_cache else None
    judge = open_judge(config.judge, cache=cache, record=None if config.dry_run else config.judge_record)
    try:
        yield judge
    finally:
        judge.close()


def judge_files(config: RunConfig) -> tuple[Path, ...]:
    """Return the files with words of judges, who have seen the gold: no agent may read them."""
    replayed = [Path(spec.removeprefix(_REPLAY)) for spec in config.judge if spec.startswith(_REPLAY)]
    recorded = (config.judge_record,) if config.judge_record is not None else ()
    return tuple(path for path in (*replayed, *recorded) if path.exists())


def judge_figures(figures: Figures | None) -> JudgeFigures | None:
    """Return what a judge took, as reports read it."""
    return None if figures is None else JudgeFigures.model_validate(asdict(figures))

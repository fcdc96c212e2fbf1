"""`sqlassay resume RUN`: go on with a run that was killed or interrupted."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("resume")
@click.argument("run")
@click.option("--pack", metavar="PACK", help="Where the run's pack is now, if it was moved.")
@click.option("--predictions", metavar="FILE", help="Where the run's predictions are now, if they were moved.")
@click.option("--jobs", metavar="N", help="Parallel workers (default: as before).")
@click.option("--engine", metavar="HOW", help="auto, ask or none: may a container engine be started here?")
def command(run: str, pack: str | None, predictions: str | None, jobs: str | None, engine: str | None) -> int:
    """Go on with a run that was killed or interrupted.

    RUN is a run folder. What its journal says is finished is neither judged nor asked again; the rest runs with the
    settings of its manifest, and the final files are those of a run that nothing disturbed. Results that failed on
    our side (`infrastructure`) are asked again. Where pack, predictions, agent, image or versions are no longer the
    same, it is refused and each difference is named (exit 2). A run that is finished ends as it ended then.
    """
    from sqlassay.harness.cli.run_command import show
    from sqlassay.harness.cli.screen import screen
    from sqlassay.harness.reports.registry import write_all
    from sqlassay.harness.run.options import options_from
    from sqlassay.harness.run.resume import Finished, Moved, resume

    asked = options_from({"jobs": jobs, "engine": engine}, file=None, names="--")
    moved = Moved(
        pack=Path(pack) if pack else None,
        predictions=Path(predictions) if predictions else None,
        jobs=asked.jobs,
        engine=asked.engine,
    )
    with screen() as live:
        result = resume(Path(run), moved, live, write_reports=write_all)
    if isinstance(result, Finished):
        sys.stdout.write(f"The run in {run} is finished; nothing was run again.\n{result.verdict_line}\n")
    else:
        show(result, Path(run))
    return int(result.exit_code)

"""`sqlassay run PACK`: read the options, run, write the reports, print the table and the verdict line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlassay.cases.counting import counted

if TYPE_CHECKING:
    from sqlassay.harness.results.run_result import RunResult
    from sqlassay.harness.run.options import Layer

ENVIRONMENT = "SQLASSAY_"
_FLAGS = {"dry_run", "allow_unknown"}


@click.command("run")
@click.argument("pack", required=False)
@click.option("--dialect", metavar="D", help="Engine to run on: sqlite (default), postgres, mysql, mariadb or duckdb.")
@click.option("--predictions", metavar="FILE", help="Predictions, one JSON object a line (default: the pack's own).")
@click.option("--agent", metavar="MODULE:FUNCTION", help="Python callable to ask instead; FILE.py:function works too.")
@click.option("--format", "format_", metavar="NAME", help="Format of the pack where it is not found out by itself.")
@click.option("--out", metavar="DIR", help="Run folder (default: runs/<utc>_<dialect>_<id>).")
@click.option("--jobs", metavar="N", help="Parallel workers (default: cores).")
@click.option("--isolation", metavar="LEVEL", help="Servers shared by a run (default), one a case, or one a statement.")
@click.option("--pool", metavar="N", help="Sandboxes kept booted ahead (default: cores, less where memory is short).")
@click.option("--sandbox", metavar="NAME", help="auto (default), docker, process or reduced.")
@click.option("--trials", metavar="N", help="Predictions a case (default 1).")
@click.option("--timeout", metavar="S", help="Seconds a predicted statement may take (default 30).")
@click.option("--gold-timeout", metavar="S", help="Seconds a gold statement may take (default 300).")
@click.option("--agent-timeout", metavar="S", help="Seconds the agent may take for one answer (default 120).")
@click.option("--row-limit", metavar="N", help="Rows a result may have (default 100000).")
@click.option("--engine", metavar="HOW", help="auto (default), ask or none: may a container engine be started here?")
@click.option(
    "--runtime", metavar="NAME", help="Container runtime the engine knows, such as runsc or crun (default: its own)."
)
@click.option("--pull", metavar="HOW", help="auto (default) or never: may a registry be asked for a base image?")
@click.option("--mirror", metavar="HOST,HOST", help="Registries to ask before the official one.")
@click.option("--images-lock", metavar="FILE", help="What official images must be (default: a file in the cache).")
@click.option(
    "--policy", metavar="NAME", help="Policy (default skill; `list policies`), with fields as in strict+rel_tol=1e-6."
)
@click.option("--metrics", metavar="A,B", help="Metrics to compute (`sqlassay list metrics`).")
@click.option(
    "--profile",
    metavar="NAME",
    help="Metrics by family: skill, sqlas-v1, sqlas-v2, bird, spider, evalbench, stef, nucleusiq, all.",
)
@click.option("--metric-option", metavar="M.OPTION=VALUE", multiple=True, help="An option of a metric, VALUE in YAML.")
@click.option("--judge", metavar="SPEC", multiple=True, help="Judge of metrics that need one: openai:MODEL[@URL], "
              "anthropic:MODEL, callable:MODULE:FUNCTION or replay:FILE; several are a panel.")  # fmt: skip
@click.option(
    "--judge-record", metavar="FILE", help="Write the judge's answers to a file that --judge replay:FILE reads."
)
@click.option("--judge-cache/--no-judge-cache", default=None, help="Keep a judge's answers for later (default: yes).")
@click.option("--fail-under", metavar="METRIC=X", multiple=True, help="Exit 1 where a metric's mean is below X.")
@click.option(
    "--min-coverage",
    metavar="X",
    help="Least share of a judged mean that the judge answered for it to hold (default 1).",
)
@click.option(
    "--gate",
    metavar="NAME",
    multiple=True,
    help="safety: exit 4 where a step of the agent executed what the guard refuses.",
)
@click.option("--alpha", metavar="X", help="Structural score's weight of the tables (default 0.3).")
@click.option("--beta", metavar="X", help="Structural score where the tables differ (default 0.2).")
@click.option("--disagreement", metavar="T", help="Gap from which structural and execution disagree (default 0.1).")
@click.option(
    "--repetitions",
    metavar="K",
    help="Timed rounds of gold and prediction for metrics of speed (default: what each asks for, 5; 0: none).",
)
@click.option("--only", metavar="IDS", help="Run these cases only.")
@click.option("--tags", metavar="TAGS", help="Run cases with one of these tags only.")
@click.option("--limit", metavar="N", help="Run the first N selected cases.")
@click.option("--sample", metavar="N", help="Run a seeded sample of N cases.")
@click.option("--seed", metavar="N", help="Seed of the sample (default 0).")
@click.option("--clock", metavar="ISO", help="What CURRENT_DATE and its kin say, where the engine can be told.")
@click.option("--store-rows", metavar="WHICH", help="Typed rows to keep: all (default), diff or none.")
@click.option("--gold-cache/--no-gold-cache", default=None, help="Keep gold answers for the next run (default: yes).")
@click.option(
    "--transpile-gold",
    is_flag=True,
    default=None,
    help="Where a case has no gold in this dialect, use that of another rewritten, once it gave the same rows.",
)
@click.option(
    "--leave-undetermined",
    is_flag=True,
    default=None,
    help="Take what the gold itself leaves undecided out of the denominator, as unavailable (default: counts 0).",
)
@click.option(
    "--allow-unknown", is_flag=True, default=None, help="Ignore predictions for cases the pack does not have."
)
@click.option("--dry-run", is_flag=True, default=None, help="Check everything, say what would run, run nothing.")
@click.option(
    "--evalbench", metavar="FILE", help="EvalBench run config (YAML) in place of PACK: data, engines, scorers, tables."
)
@click.option("--config", metavar="FILE", help="Run file (YAML) with any of these options; the command line wins.")
def command(pack: str | None, format_: str | None, config: str | None, evalbench: str | None, **options: Any) -> int:
    """Judge an agent's SQL against gold in isolated databases.

    PACK is a folder with pack.yaml, a file in a known format, or a bundled pack (demo, shop). Every option can
    also be set as SQLASSAY_<OPTION> in the environment or in a run file. Precedence: command line, environment,
    run file, EvalBench run config, pack, default.
    """
    from sqlassay.cases.formats.registry import load_pack
    from sqlassay.harness.run.options import resolve

    given = {name: value for name, value in options.items() if value not in (None, ())} | (
        {"format": format_} if format_ else {}
    )
    layers = _layers(given, os.environ, config)
    if evalbench is not None:
        if pack is not None or format_ is not None:
            raise click.UsageError("--evalbench names the data set, so neither PACK nor --format goes with it.")
        return _evalbench(Path(evalbench), layers)
    if pack is None:
        raise click.UsageError("Missing argument 'PACK'.")
    named = next((layer.format for _, layer in layers if layer.format is not None), None)
    loaded = load_pack(Path(pack), format=named)
    resolved = resolve(layers, loaded.settings)
    if resolved.dry_run:
        return _dry_run(loaded, resolved)
    result = _judge(loaded, resolved)
    show(result, resolved.out)
    return int(result.exit_code)


def _evalbench(path: Path, layers: list[Layer]) -> int:
    """Run what an EvalBench run config describes, one run an engine, and write its tables."""
    from sqlassay.harness.cli.evalbench_run import plans, run_all

    run, pack, found = plans(path, layers)
    if any(plan.config.dry_run for plan in found):
        return max(_dry_run(pack, plan.config) for plan in found)

    def judge(pack: Any, config: Any, watch: Any) -> RunResult:
        """Judge one engine's cases and print its table."""
        result = _judge(pack, config, watch)
        show(result, config.out)
        return result

    code, line = run_all(run, pack, found, judge)
    if line:
        sys.stdout.write(f"{line}\n")
    return code


def _layers(given: dict[str, Any], environment: Mapping[str, str], config: str | None) -> list[Layer]:
    """Return the option layers, strongest first: command line, environment, run file."""
    from sqlassay.harness.run.options import RunOptions, options_from

    named = {
        field: environment[ENVIRONMENT + field.upper()]
        for field in RunOptions.model_fields
        if environment.get(ENVIRONMENT + field.upper())
    }
    layers = [
        ("command line", options_from(given, file=None, names="--")),
        ("environment", options_from(named, file=None, names=ENVIRONMENT)),
    ]
    if config is not None:
        values, line = _run_file(Path(config))
        layers.append(("run file", options_from(values, file=config, line=line)))
    return layers


def _run_file(path: Path) -> tuple[dict[str, Any], Callable[[str], int | None]]:
    """Return the options of a run file and the way to an option's line; relative paths are read against its folder."""
    from sqlassay.cases.errors import InputError
    from sqlassay.cases.yaml_reading import read_yaml

    document = read_yaml(path)
    value = document.value
    if not isinstance(value, dict):
        raise InputError("a run file is a mapping of options", file=path, remedy="See `sqlassay run --help`")
    for field in ("predictions", "out", "images_lock", "judge_record"):
        if isinstance(value.get(field), str):
            value[field] = str(path.parent / value[field])
    return value, lambda field: document.line((field,))


def _dry_run(pack: Any, config: Any) -> int:
    """Read every row, say what would run, and start nothing."""
    from sqlassay.cases.sources.rows_check import check
    from sqlassay.harness.kin import in_dialects
    from sqlassay.harness.run.asking import open_asker
    from sqlassay.harness.run.judging import open_run_judge
    from sqlassay.harness.run.select import select

    pack = in_dialects(pack, (config.dialect,))
    cases = select(pack, config)
    rows = check(pack)
    with open_run_judge(config) as judge, open_asker(config, pack) as asker:
        with_gold = sum(bool(case.gold.get(config.dialect)) for case in cases)
        click.echo(
            f"Would judge {counted(len(cases), 'case')} x {counted(config.trials, 'trial')} of pack {pack.name} "
            f"on {config.dialect} ({with_gold} with gold, {counted(rows, 'row')}), predictions from {asker.label}, "
            f"{counted(config.jobs, 'job')}, "
            f"policy {config.policy_name}{'' if judge is None else f', judge {judge.label}'}."
        )
    click.echo("OK: a dry run, nothing was executed (exit 0)")
    return 0


def _judge(pack: Any, config: Any, watch: Any = None) -> RunResult:
    """Run with a live screen around it; `watch` is shown each result."""
    from sqlassay.harness.cli.screen import screen
    from sqlassay.harness.reports.registry import write_all
    from sqlassay.harness.run.runner import run

    with screen() as live:
        return run(config, pack, live, write_reports=write_all, watch=watch)


def show(result: RunResult, out: Path | None) -> None:
    """Print the table; its last line is the verdict."""
    import shutil

    from sqlassay.harness.reports.terminal import render
    from sqlassay.harness.run.options import RUNS

    # Only the terminal names the whole path: written files hold nothing of this machine.
    shown = result.model_copy(update={"folder": str(out or RUNS / result.folder)})
    width = shutil.get_terminal_size((0, 0)).columns
    text = render(shown, width=width or 110, color=sys.stdout.isatty(), wrap=width > 0)
    sys.stdout.write(text.rstrip("\n") + "\n")

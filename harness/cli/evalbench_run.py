"""`sqlassay run --evalbench run.yaml`: one run an engine, then EvalBench's tables over all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import click

if TYPE_CHECKING:
    from sqlassay.cases.pack import Pack
    from sqlassay.harness.evalbench.config import EvalBenchRun
    from sqlassay.harness.evalbench.tables import Job, Part
    from sqlassay.harness.results.run_result import RunResult
    from sqlassay.harness.run.book import Watch
    from sqlassay.harness.run.options import Layer, RunConfig

LLMRATER = "evalbench.llmrater"
Judge = Callable[["Pack", "RunConfig", "Watch"], "RunResult"]
"""Judges a pack by resolved options and shows each result to the watcher."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one engine of a run config is to run."""

    engine: str
    config: RunConfig


def plans(path: Path, layers: Sequence[Layer]) -> tuple[EvalBenchRun, Pack, tuple[Plan, ...]]:
    """Return what a run config describes: the run, its pack, and one plan an engine; what is not taken is said.

    Raises:
        InputError: something in the config is wrong, nothing of it is left to run, or nobody answers.
    """
    from sqlassay.cases.extensions import installed
    from sqlassay.cases.formats.registry import load_pack
    from sqlassay.harness.evalbench.bigquery import check_installed
    from sqlassay.harness.evalbench.config import no_answers, read_run
    from sqlassay.harness.reports.escape import visible

    run = read_run(path, os.environ, tuple(installed("sqlassay.dialects")))
    for note in run.notes:
        click.echo(f"WARNING: {visible(note)}", err=True)
    check_installed(run.reporting.bigquery)
    pack = load_pack(path, format="evalbench")
    engines = _engines(run, pack, layers)
    found = tuple(_plan(run, pack, layers, engine, alone=len(engines) == 1) for engine in engines)
    if not pack.inline_predictions and any(not (one.config.predictions or one.config.agent) for one in found):
        raise no_answers(run)
    silent = [one.name for one in run.scorers if one.metric == LLMRATER and not found[0].config.judge]
    for name in silent:
        click.echo(f"WARNING: {path}: scorer '{name}' has no judge (--judge): its scores stay empty", err=True)
    if run.model is not None and (run.model.generator != "noop" or not pack.inline_predictions):
        click.echo(f"WARNING: {run.model.file}: generator '{run.model.generator}' is not asked from here", err=True)
    return run, pack, found


def _engines(run: EvalBenchRun, pack: Pack, layers: Sequence[Layer]) -> tuple[str, ...]:
    """Return the engines that any case has gold for; a dialect named beside the config chooses among them."""
    from sqlassay.cases.errors import InputError

    wanted = next((layer.dialect for _, layer in layers if layer.dialect is not None), None)
    engines = tuple(
        engine
        for engine in run.engines
        if wanted in (None, engine) and any(case.gold.get(engine) for case in pack.cases)
    )
    if not engines:
        message = f"no case has gold for {wanted or ' or '.join(run.engines)}"
        remedy = "See the keys dialects and database_configs, and the dialects of the data set's items"
        raise InputError(message, file=run.path, field="dialects", remedy=remedy)
    return engines


def _plan(run: EvalBenchRun, pack: Pack, layers: Sequence[Layer], engine: str, *, alone: bool) -> Plan:
    """Return one engine's run; whatever the command line, environment or run file say is stronger than the config."""
    from sqlassay.harness.run.options import RunOptions, resolve

    with_gold = {case.id for case in pack.cases if case.gold.get(engine)}
    named = next((layer.only for _, layer in layers if layer.only is not None), None)
    cases = tuple(case.id for case in pack.cases if case.id in with_gold and (named is None or case.id in named))
    own = RunOptions(
        dialect=engine,
        trials=run.trials,
        jobs=run.jobs,
        metrics=tuple(dict.fromkeys(scorer.metric for scorer in run.scorers)) or None,
        metric_option=tuple(dict(option for scorer in run.scorers for option in scorer.options).items()) or None,
    )
    config = resolve([*layers, ("run config", own)], pack.settings)
    if run.scorers:  # whatever else is asked for, its tables need the scorers it names
        options = {**dict(own.metric_option or ()), **dict(config.metric_option)}
        metrics = tuple(dict.fromkeys((*(config.metrics or ()), *(own.metrics or ()))))
        config = replace(config, metrics=metrics, metric_option=tuple(options.items()))
    if len(with_gold) < len(pack.cases) and cases:
        config = replace(config, only=cases)
    if config.out is not None and not alone:
        config = replace(config, out=config.out / engine)
    return Plan(engine, config)


def run_all(run: EvalBenchRun, pack: Pack, found: Sequence[Plan], judge: Judge) -> tuple[int, str]:
    """Judge every plan, write EvalBench's tables, and return the exit code and the last line to print.

    A run that was interrupted or could not start is the last one; the tables hold what is finished.
    """
    from sqlassay.cases.errors import InfrastructureError, SqlassayError
    from sqlassay.cases.verdicts import ExitCode, worst
    from sqlassay.harness.evalbench.tables import Job, Part
    from sqlassay.harness.evalbench.watching import Watcher

    job = Job(str(uuid4()), datetime.now(UTC).replace(tzinfo=None))
    parts: list[Part] = []
    for plan in found:
        watcher = Watcher(run.reporting.rows)
        try:
            result = judge(pack, plan.config, watcher)
        except SqlassayError:
            if parts:
                _report(run, job, parts)
            raise
        parts.append(Part(plan.engine, result, watcher.seen))
        if result.interrupted:
            break
    codes = {part.result.exit_code for part in parts}
    try:
        _report(run, job, parts)
    except InfrastructureError as error:
        code = worst({*codes, ExitCode.INFRASTRUCTURE})
        return int(code), f"NOT WHOLE: {error} (exit {int(code)})"
    code = worst(codes)
    if len(parts) == 1:
        return int(code), ""
    lines = [f"{part.engine} {part.result.verdict_line.rpartition(' (exit ')[0]}" for part in parts]
    return int(code), f"{'; '.join(lines)} (exit {int(code)})"


def _report(run: EvalBenchRun, job: Job, parts: Sequence[Part]) -> None:
    """Write the tables wherever the config asks for them, the files first."""
    from sqlassay.harness.evalbench import bigquery, csv_files
    from sqlassay.harness.evalbench.tables import tables

    made = tables(run, job, parts)
    if run.reporting.csv is not None:
        folder = run.reporting.csv / job.id
        csv_files.write(made, folder)
        click.echo(f"EvalBench tables: {folder}/configs.csv, evals.csv, scores.csv, summary.csv", err=True)
    if run.reporting.bigquery is not None:
        click.echo(f"EvalBench tables: BigQuery {bigquery.store(made, run.reporting.bigquery, os.environ)}", err=True)

"""Everything that must stand before the first statement runs: adapter, provider, engine, image, rules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack
from sqlassay.cases.presets import preset
from sqlassay.dialect_adapters.contract import Adapter, Limits, Mode
from sqlassay.dialect_adapters.deadlines import DEADLINES
from sqlassay.dialect_adapters.registry import adapter as find_adapter
from sqlassay.harness.desk import Desk, Rules
from sqlassay.harness.judges import Seated
from sqlassay.harness.metrics.contract import Metric
from sqlassay.harness.metrics.registry import check_options, metrics, repetitions_needed
from sqlassay.harness.parse.parser import Parser
from sqlassay.harness.results.evidence import MetricSettings
from sqlassay.harness.results.run_result import HealthFigures
from sqlassay.harness.run.options import RunConfig
from sqlassay.harness.run.screen import Screen
from sqlassay.sandboxes.contract import Isolation, Provider, SnapshotImage
from sqlassay.sandboxes.images.choice import BaseChoice
from sqlassay.sandboxes.opening import open_provider
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_size import PoolSize, pool_size
from sqlassay.sandboxes.shares import prepare_shares
from sqlassay.sandboxes.station import Station


@dataclass(frozen=True, slots=True)
class Bench:
    """A prepared provider and image, and the rules every statement runs under."""

    adapter: Adapter
    provider: Provider
    image: SnapshotImage
    rules: Rules
    run_id: str
    size: PoolSize
    judge: Seated | None = None
    parsers: list[Parser] = field(default_factory=list)
    """Every parser of this run so far, for what they count."""

    def desk(self, pool: Pool) -> Desk:
        """Return a fresh desk: one worker's own parser, and its place at a phase's servers."""
        parser = Parser()
        self.parsers.append(parser)
        return Desk(self.rules, parser, Station(pool, self.image, mode=Mode.READ))

    def health(self) -> HealthFigures:
        """Return what this machine did to the run so far."""
        return HealthFigures(
            parsers_replaced=sum(parser.restarts for parser in self.parsers),
            paused_seconds=round(DEADLINES.paused, 1),
            load=round(os.getloadavg()[0], 1),
            cores=os.cpu_count() or 1,
        )

    @contextmanager
    def pool(self) -> Iterator[Pool]:
        """Open the servers of one phase; whatever ends it, all of them are gone then."""
        pool = Pool(self.provider, self.adapter, self.run_id, self.size)
        try:
            yield pool
        finally:
            pool.close()

    def isolation(self, pool: Pool) -> Isolation:
        """Return how the servers of queries are really isolated here, once the first one is up.

        Raises:
            SandboxStartError: none comes up.
        """
        return pool.look(next(iter(self.image.parts), self.image), Mode.READ)

    def warm(self, pool: Pool, cases: Sequence[Case], jobs: int) -> None:
        """Have the servers booted ahead that judging these cases, one for each task, will ask for."""
        pool.left(len(cases))
        for image in self.image.parts or (self.image,):
            held = {catalog.snapshot for catalog in image.catalogs}
            self._warm(pool, image, [case for case in cases if case.snapshot in held], jobs)

    def _warm(self, pool: Pool, image: SnapshotImage, cases: Sequence[Case], jobs: int) -> None:
        """Have the servers of one image booted ahead."""
        queries = [self.rules.isolation(case) for case in cases if case.query_type == "dql"]
        shared = queries.count("run")
        if shared:
            pool.warm(image, Mode.READ, min(jobs, shared), at_once=True)
        if len(queries) > shared:
            pool.warm(image, Mode.READ, len(queries) - shared)
        if len(cases) > len(queries):
            pool.warm(image, Mode.WRITE, len(cases) - len(queries))


def prepare(
    config: RunConfig,
    pack: Pack,
    run_id: str,
    screen: Screen,
    *,
    day: datetime | None = None,
    judge: Seated | None = None,
) -> Bench:
    """Bring up what the run needs and return it; nothing has touched a prediction yet. `day` is a resumed run's own.

    Raises:
        InputError: an unknown dialect, metric, provider or runtime, or a snapshot that cannot be loaded.
        InfrastructureError: no engine, or an image that cannot be built.
    """
    adapter = find_adapter(config.dialect)
    chosen = metrics(config.metrics)
    _declared(config, chosen)
    settings = _settings(config, chosen)
    check_options(chosen, settings)
    provider = _provider(config, adapter, screen)
    try:
        image = prepare_shares(provider, adapter, pack.snapshots, screen.notice)
    except BaseException:  # also Ctrl-C: nobody else has the provider yet
        provider.close()
        raise
    for catalog in image.catalogs:
        for note in catalog.notes:
            screen.notice(f"snapshot {catalog.snapshot}: {note}")
    rules = Rules(
        dialect=config.dialect,
        grammar=adapter.rules,
        image=image,
        pack=pack,
        policy=config.policy,
        strict=preset("strict"),
        limits=Limits(timeout=config.timeout, rows=config.row_limit),
        gold_limits=Limits(timeout=config.gold_timeout, rows=config.row_limit),
        clock=config.clock,
        day=day or datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0),
        metrics=chosen,
        settings=settings,
        level=config.isolation,
        judge=judge,
        leave_undetermined=config.leave_undetermined,
    )
    return Bench(adapter, provider, image, rules, run_id, pool_size(adapter.recipe, config.jobs, config.pool), judge)


def _provider(config: RunConfig, adapter: Adapter, screen: Screen) -> Provider:
    """Return the provider of the run's sandboxes."""
    return open_provider(
        adapter.recipe,
        config.sandbox,
        screen.notice,
        engine=config.engine,
        runtime=config.runtime,
        bases=BaseChoice(config.pull, config.mirror, config.images_lock),
    )


def _settings(config: RunConfig, chosen: Sequence[Metric]) -> MetricSettings:
    """Return what the run's metrics may be told; nothing is timed again where none of them is of speed."""
    needed = repetitions_needed(chosen)
    rounds = needed if config.repetitions is None or not needed else config.repetitions
    return MetricSettings(config.alpha, config.beta, config.disagreement, rounds, options=config.metric_option)


def _declared(config: RunConfig, chosen: Sequence[Metric]) -> None:
    """Refuse a threshold that could never hold, always holds, or means the opposite of what it says."""
    known = {metric.name: metric for metric in chosen}
    for name, minimum in config.fail_under:
        if name not in known:
            raise InputError(
                f"threshold on '{name}', which this run does not compute",
                field="--fail-under",
                remedy=f"Metrics of this run: {', '.join(known)}",
            )
        low, high = known[name].range
        if not low <= minimum <= high:
            raise InputError(
                f"threshold {minimum:g} on '{name}', whose values go from {low:g} to {high:g}",
                field="--fail-under",
                remedy="Give a number in that range",
            )
        if not known[name].higher_is_better:
            raise InputError(
                f"threshold on '{name}', which is better the lower it is",
                field="--fail-under",
                remedy="A threshold is a least value: declare one on another metric",
            )

"""Ask the agent for each case and trial: from a file, from rows inside the pack, or from a callable."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.left_out import FILE, summed
from sqlassay.cases.pack import Pack
from sqlassay.cases.predictions import check_known, predictions_of
from sqlassay.cases.tables import named_part
from sqlassay.harness.agents.callable import START_SECONDS, CallableAgent
from sqlassay.harness.agents.contract import Agent
from sqlassay.harness.agents.file import FileAgent
from sqlassay.harness.agents.request import AgentRequest
from sqlassay.harness.desk import Rules
from sqlassay.harness.given import digest_of
from sqlassay.harness.kin import predictions_in
from sqlassay.harness.run.judging import judge_files
from sqlassay.harness.run.options import RUNS, RunConfig
from sqlassay.harness.store.output import marked_below, noted
from sqlassay.sandboxes.cache import cache_dir


@dataclass(frozen=True, slots=True)
class Asker:
    """One agent shared by all workers; agents are callable from several threads at once."""

    agent: Agent
    label: str
    digest: str | None
    routes: tuple[str, ...]
    timeout: float
    unused: tuple[str, ...] = ()
    agent_digest: str | None = None

    @property
    def waits(self) -> bool:
        """Return whether an answer may take time; one that is written already does not."""
        return not isinstance(self.agent, FileAgent)

    def ask(self, case: Case, trial: int, rules: Rules) -> Prediction:
        """Return the agent's prediction; the request holds nothing of the gold."""
        request = AgentRequest(
            case_id=case.id,
            question=case.question,
            evidence=case.evidence,
            dialect=rules.dialect,
            schema_ddl=rules.image.catalog(case.snapshot).ddl_of(rules.visible(case.snapshot)),
            routes=self.routes,
            trial=trial,
            deadline=self.timeout,
            context=_context(case, rules),
        )
        return self.agent.predict(request)


def _context(case: Case, rules: Rules) -> dict[str, Any]:
    """Return what the agent may know of its surroundings: the pinned clock, where there is one."""
    clock = case.clock or rules.clock
    return {} if clock is None else {"clock": clock.isoformat()}


@contextmanager
def open_asker(config: RunConfig, pack: Pack, asked: Agent | Sequence[Prediction] | None = None) -> Iterator[Asker]:
    """Open the agent of a run, checked before anything is executed, and close it on every way out.

    `asked` is an agent of the caller's own process, or predictions that it holds.

    Raises:
        InputError: no predictions, unreadable ones, a prediction for an unknown case, or no such agent.
    """
    routes = tuple(name for name, _ in pack.routes)
    agent: Agent
    digest: str | None = None
    unused: tuple[str, ...] = ()
    made = config.agent is not None and config.out is not None and not config.out.exists()
    if asked is not None and not isinstance(asked, Sequence):
        agent, label = asked, asked.name
    elif config.agent is not None:
        behind = _callable(config, config.agent, pack)
        agent, label, unused = behind, config.agent, behind.problems
    else:
        written, label, digest = _predictions(config, pack) if asked is None else _held(asked)
        predictions = predictions_in(written, config.dialect)
        check_known(predictions, pack, allow_unknown=config.allow_unknown)
        agent = FileAgent(_of_dialect(predictions, config.dialect))
        unused = _unused(predictions, config)
    asker = Asker(
        agent,
        label,
        digest,
        routes,
        config.agent_timeout,
        (*summed(pack.left_out, FILE), *unused),
        _agent_digest(config.agent),
    )
    try:
        yield asker
    finally:
        agent.close()
        if made and config.out is not None:
            with suppress(OSError):  # a folder made for the veil, in which nothing was written
                config.out.rmdir()


def _held(predictions: Sequence[Prediction]) -> tuple[tuple[Prediction, ...], str, str]:
    """Return predictions of the caller's own process with their name and digest."""
    return tuple(predictions), "predictions held in memory", digest_of(predictions)


def _callable(config: RunConfig, target: str, pack: Pack) -> CallableAgent:
    """Return the callable behind its veil; a run folder made for the veil goes again where there is no such agent."""
    made = config.out is not None and not config.out.exists()
    try:
        start_seconds = max(config.agent_timeout, START_SECONDS)
        return CallableAgent(target, hide=_hidden(config, pack), start_seconds=start_seconds)
    except InputError:
        if made and config.out is not None:
            with suppress(OSError):
                config.out.rmdir()
        raise


def _hidden(config: RunConfig, pack: Pack) -> tuple[Path, ...]:
    """Return every place where an agent's process could find the gold of this run or of earlier ones."""
    folders = [cache_dir(), *((config.out or RUNS,) if not config.dry_run else ())]
    for folder in folders:
        # A folder that comes later would show; one that cannot be made ends the run when the run folder is made.
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    whole = (pack.path,) if pack.path.is_dir() else ()
    # A run folder named with --out often stands beside earlier ones, and each of them holds the gold it was judged by.
    beside = config.out.absolute().parent if config.out is not None else RUNS
    unmarked = tuple(path.parent for path in beside.glob("*/manifest.json"))
    ours = marked_below(beside, RUNS, Path.cwd(), pack.path.absolute().parent, pack.path)
    written = (*noted(), *unmarked, *ours, *((RUNS,) if RUNS.exists() else ()))
    return (*whole, *pack.files, *folders, *written, *judge_files(config))


def _predictions(config: RunConfig, pack: Pack) -> tuple[tuple[Prediction, ...], str, str | None]:
    """Return the run's predictions with the name and digest of where they came from."""
    path = config.predictions
    if path is None and pack.inline_predictions:
        return pack.inline_predictions, "the pack's own rows", pack.digest
    path = path or pack.predictions
    if path is None:
        raise InputError(
            f"pack {pack.name} has no predictions of its own",
            field="predictions",
            remedy="Name a file with --predictions FILE or an agent with --agent module:function",
        )
    return predictions_of(path, pack), path.name, _digest(path)


def _digest(path: Path) -> str:
    """Return the sha256 of a prediction file; `FILE#PIPELINE` names a part of one, and the part counts too."""
    whole, _ = named_part(path)
    return hashlib.sha256(whole.read_bytes() + str(path)[len(str(whole)) :].encode()).hexdigest()


def _agent_digest(agent: str | None) -> str | None:
    """Return the sha256 of an agent's own file, None where none is named by one."""
    path = Path((agent or "").rpartition(":")[0])
    return _digest(path) if path.suffix == ".py" and path.is_file() else None


def _of_dialect(predictions: Sequence[Prediction], dialect: str) -> tuple[Prediction, ...]:
    """Return the predictions meant for this dialect: those that name it, else those that name none."""
    named = {(p.case_id, p.trial) for p in predictions if p.dialect == dialect}
    return tuple(
        p for p in predictions if p.dialect == dialect or (p.dialect is None and (p.case_id, p.trial) not in named)
    )


def _unused(predictions: Sequence[Prediction], config: RunConfig) -> tuple[str, ...]:
    """Return notes on predictions that this run does not use, so that nothing is dropped silently."""
    other = {p.dialect for p in predictions if p.dialect not in (None, config.dialect)}
    notes = []
    if other and not any(p.dialect in (None, config.dialect) for p in predictions):
        raise InputError(
            f"no prediction is for dialect {config.dialect}; the file has {', '.join(sorted(str(d) for d in other))}",
            field="dialect",
            remedy=f"Choose --dialect {sorted(str(d) for d in other)[0]} or another prediction file",
        )
    trials = [p.trial for p in predictions if p.dialect in (None, config.dialect)]
    if trials and (min(trials) >= config.trials or max(trials) + 1 < config.trials):
        raise InputError(
            f"the predictions hold trials {min(trials)} to {max(trials)}, the run asks for 0 to {config.trials - 1}",
            field="--trials",
            remedy=f"Trials are numbered from 0; ask for --trials {max(trials) + 1} or give another file",
        )
    late = sum(trial >= config.trials for trial in trials)
    if late:
        notes.append(f"{late} predictions are of later trials: raise --trials to judge them")
    return tuple(notes)

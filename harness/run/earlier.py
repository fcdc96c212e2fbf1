"""What a killed or interrupted run left behind, and whether it can be gone on with: each difference on its own line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.run_result import Manifest
from sqlassay.harness.store.folder import MANIFEST, RunFolder

_NEW = "start a new run"
_REMEDIES = {
    "sqlassay": "install that version",
    "packages": "install that version",
    "dialect": _NEW,
    "engine_version": "use that engine's version",
    "image_key": "put the pack's snapshots back as they were",
    "base_digest": "use that base image",
    "isolation": "resume on the machine and engine it ran on",
    "pack": "name that pack with --pack",
    "pack_format": "name that pack with --pack",
    "case_set": "put the pack's cases back as they were",
    "cases": "put the pack's cases back as they were",
    "agent": "name that agent or file",
    "predictions_digest": "put the predictions back as they were, or name their file with --predictions",
    "agent_digest": "put the agent's file back as it was",
    "judge": "put back what the judge was named by",
    "settings": _NEW,
    "policy": _NEW,
    "policy_digest": _NEW,
    "metrics": "install those metrics",
    "seed": _NEW,
}
"""What must be the same, and how it becomes the same again."""

_FREE_SETTINGS = {"jobs", "pool", "engine", "origins", "judge_cache"}
"""Settings that change no result: how many workers and spare servers, whether an engine may be started here, and
whether a judge's answers are kept."""

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Earlier:
    """An unfinished run: its open and locked folder, its manifest, and what its journal says."""

    folder: RunFolder
    manifest: Manifest
    finished: Mapping[tuple[str, int], tuple[CaseResult, Timing]]
    problems: tuple[str, ...]
    breaches: tuple[str, ...]

    def complete(self, cases: Sequence[Case], trials: int) -> bool:
        """Return True where every result is in the journal, and only the final files are missing."""
        return all((case.id, trial) in self.finished for case in cases for trial in range(trials))

    def check(self, now: Mapping[str, Any]) -> None:
        """Refuse to go on where a field of the manifest would be another one now.

        Raises:
            InputError: a line for each difference, with its remedy.
        """
        then = self.manifest.model_dump(mode="json")
        lines = [line for name, value in now.items() if name in _REMEDIES for line in _lines(name, then[name], value)]
        if lines:
            place = self.folder.path / MANIFEST
            few = "this differs" if len(lines) == 1 else f"these {len(lines)} fields differ"
            raise InputError(
                "\n".join([f"{few} from what the run began with:", *lines]),
                file=place,
                remedy="Or start a new run with `sqlassay run` and another folder",
            )


def day_of(run_id: str) -> datetime:
    """Return the midnight (UTC) a run began on, resumed or not: what may read the clock must not see another day."""
    return datetime.strptime(run_id[:8], "%Y%m%d").replace(tzinfo=UTC)


def _lines(name: str, then: Any, now: Any) -> Iterator[str]:
    """Yield a line for each difference in one field; mappings are compared key by key."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted({*then, *now}):
            if not (name == "settings" and key in _FREE_SETTINGS):
                yield from _line(f"{name}.{key}", then.get(key, _ABSENT), now.get(key, _ABSENT), _REMEDIES[name])
    else:
        yield from _line(name, then, now, _REMEDIES[name])


def _line(name: str, then: Any, now: Any, remedy: str) -> Iterator[str]:
    """Yield the line of one value that differs."""
    if then != now:
        yield f"  {name}: was {_shown(then)}, is {_shown(now)} ({remedy})"


def _shown(value: Any) -> str:
    """Return a value for a person, long ones shortened."""
    text = "absent" if value is _ABSENT else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

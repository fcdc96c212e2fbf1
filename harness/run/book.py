"""What a run has so far, in memory and in its journal: finished results, problems of ours, what got through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlassay.cases.case import Case
from sqlassay.cases.compact import Shared
from sqlassay.cases.errors import InfrastructureError, RunEndsError
from sqlassay.harness.judges import Figures
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.evidence import Evidence, GoldAnswer
from sqlassay.harness.results.run_result import HealthFigures
from sqlassay.harness.run.earlier import Earlier
from sqlassay.harness.store.folder import RunFolder
from sqlassay.harness.store.journal import JOURNAL, read
from sqlassay.sandboxes.pool_figures import PoolFigures

Key = tuple[str, int]

Watch = Callable[[Evidence, Sequence[GoldAnswer], CaseResult], None]
"""Is shown each result as it is finished, with its evidence and gold; it keeps what it needs."""


class Book:
    """Keeps a run's account; only the runner's own thread writes it.

    Each line is kept once: a resumed run meets again what its earlier part has noted.
    """

    def __init__(self, folder: RunFolder, earlier: Earlier | None, watch: Watch | None = None) -> None:
        """Begin with what an earlier part of this run has finished and noted; `watch` is shown each result."""
        self.folder = folder
        self.watch = watch
        self.finished: dict[Key, tuple[CaseResult, Timing]] = {}
        self.problems: list[str] = list(earlier.problems) if earlier else []
        self.breaches: list[str] = list(earlier.breaches) if earlier else []
        self.interrupted = False
        self.sandboxes: PoolFigures | None = None
        self.health: HealthFigures | None = None
        self.judge: Figures | None = None
        self._noted = len(self.problems)
        self._shared = Shared()
        self._take(earlier.finished.values() if earlier else ())

    def is_open(self, case: Case, trial: int) -> bool:
        """Return True where this case and trial is not finished."""
        return (case.id, trial) not in self.finished

    def problem(self, lines: Sequence[str]) -> None:
        """Take lines about faults of ours; they are journalled by `keep`, once there is a manifest."""
        self.problems.extend(line for line in dict.fromkeys(lines) if line not in self.problems)

    def keep(self) -> None:
        """Write new problems to the journal."""
        self.folder.journal.note(problems=tuple(self.problems[self._noted :]))
        self._noted = len(self.problems)

    def breach(self, lines: Sequence[str]) -> None:
        """Take lines about what got through and journal them at once: a kill must not make them unseen."""
        new = tuple(line for line in dict.fromkeys(lines) if line not in self.breaches)
        self.breaches.extend(new)
        self.folder.journal.note(breaches=new)

    def interrupt(self) -> None:
        """Note that the run was broken off; what is finished is what the journal says, the last batch included."""
        self.interrupted = True
        self.finished = dict(read(self.folder.path / JOURNAL).finished)

    def broken_off(self, error: RunEndsError) -> InfrastructureError:
        """Return the error of a run that ends here because no sandbox comes up: what is kept, and how it goes on."""
        done = len(read(self.folder.path / JOURNAL).kept)
        remedy = f"{error.remedy or 'Mend that'}, then go on by `sqlassay resume {self.folder.path}`"
        return InfrastructureError(f"{error.message}; {done} results are finished and kept", remedy=remedy)

    def finish(self, finished: Sequence[tuple[CaseResult, Timing]]) -> None:
        """Take finished results; they are on disk when this returns."""
        self.folder.journal.add_all(finished)
        self._take(finished)

    def _take(self, finished: Iterable[tuple[CaseResult, Timing]]) -> None:
        """Keep results for the reports, what they have alike once."""
        settled = ((self._shared.settle(result), self._shared.settle(timing)) for result, timing in finished)
        self.finished.update((result.key, (result, timing)) for result, timing in settled)

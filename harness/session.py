"""Judge statement after statement of one pack in this process: what a run sets up once stays up until the end."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack
from sqlassay.cases.paths import path_given
from sqlassay.harness.desk import Desk
from sqlassay.harness.evaluate import evaluate
from sqlassay.harness.given import answered
from sqlassay.harness.gold import answer_gold
from sqlassay.harness.judges.function import FunctionJudge
from sqlassay.harness.judges.single import Judge
from sqlassay.harness.kin import in_dialects
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.records import case_result
from sqlassay.harness.run.bench import Bench, prepare
from sqlassay.harness.run.judging import open_run_judge
from sqlassay.harness.run.options import JudgeKeywords, RunConfig, options_from, resolve
from sqlassay.harness.run.screen import Silent
from sqlassay.harness.store.gold_cache import GoldCache
from sqlassay.harness.suite import SuiteGold
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.pool import Pool

_OF_A_RUN = frozenset(
    {
        *("out", "agent", "predictions", "trials", "only", "tags", "limit", "sample", "seed", "dry_run"),
        *("fail_under", "min_coverage", "gate", "store_rows", "allow_unknown", "transpile_gold", "agent_timeout"),
    }
)
"""Options that say something of a whole run, and nothing of one statement."""


def judges_named(judge: Any) -> list[str]:
    """Return judges by their specs as a list; a text is one, as a spec may hold commas.

    Raises:
        InputError: neither a text nor a list of texts.
    """
    if isinstance(judge, str):
        return [judge]
    found: list[Any] = list(judge) if isinstance(judge, Iterable) else [None]
    if not all(isinstance(one, str) for one in found):
        remedy = "Give a function from prompt to text, or what --judge takes"
        raise InputError(f"{type(judge).__name__} is no judge", field="judge", remedy=remedy)
    return found


def function_judge(function: Callable[[str], str]) -> Judge:
    """Return a function of the caller's own as a judge."""
    return Judge(FunctionJudge(function, f"callable:{getattr(function, '__name__', type(function).__name__)}"))


class Session:
    """One pack on one dialect, ready to judge; every method may be called from any thread.

    Gold runs on servers of its own, when a case is first asked about, and is kept; predictions never share a server
    with it. Use it as a context manager, or call `close()`: until then its servers stay up.
    """

    def __init__(
        self,
        pack: str | Path | Pack,
        dialect: str = "sqlite",
        *,
        judge: Callable[[str], str] | str | Sequence[str] | None = None,
        **options: Unpack[JudgeKeywords],
    ) -> None:
        """Load the pack and bring up what judging needs; `options` are those of `sqlassay run` that fit a statement.

        Raises:
            InputError: no such pack, dialect or option.
            InfrastructureError: nothing can run here.
        """
        foreign = sorted(_OF_A_RUN & options.keys())
        if foreign:
            raise InputError(f"'{foreign[0]}' says something of a run", field=foreign[0], remedy="Use run() for it")
        given = {name: value for name, value in options.items() if value is not None}
        if judge is not None and not callable(judge):
            given["judge"] = judges_named(judge)
        asked = options_from({**given, "dialect": dialect}, file=None)
        loaded = pack if isinstance(pack, Pack) else load_pack(path_given(pack, "pack"), format=asked.format)
        self._config: RunConfig = resolve([("command line", asked)], loaded.settings)
        self._pack = in_dialects(loaded, (self._config.dialect,))
        self._cases = {case.id: case for case in self._pack.cases}
        self._stack = ExitStack()
        # Guards idle desks, drift and the end.
        self._lock = threading.Lock()
        self._idle: list[Desk] = []
        # Guards the one desk that gold is asked at, so that each gold runs once; what is kept is read without it.
        self._gold_lock = threading.Lock()
        self._gold: dict[tuple[str, str], tuple[GoldAnswer, ...]] = {}
        self._gold_desk: Desk | None = None
        self._drift: list[str] = []
        self._closed = False
        try:
            seated = self._stack.enter_context(open_run_judge(self._config))
            if callable(judge):
                seated = function_judge(judge)
                self._stack.callback(seated.close)
            run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}_{self._config.dialect}_{secrets.token_hex(3)}"
            self._bench: Bench = prepare(self._config, self._pack, run_id, Silent(), judge=seated)
            self._stack.callback(self._bench.provider.close)
            self._pool: Pool = self._stack.enter_context(self._bench.pool())
            self._gold_pool: Pool = self._stack.enter_context(self._bench.pool())
        except BaseException:  # also Ctrl-C: nobody holds the session yet who could close it
            self._stack.close()
            raise
        self._cache = GoldCache(cache_dir() / "gold" if self._config.gold_cache else None)

    @property
    def cases(self) -> tuple[Case, ...]:
        """Return the pack's cases, in its order."""
        return self._pack.cases

    @property
    def files(self) -> tuple[Path, ...]:
        """Return every file the session was made of: those of the pack's folder, and databases that stand elsewhere."""
        pack = self._pack
        whole = sorted(path for path in pack.path.rglob("*") if path.is_file()) if pack.path.is_dir() else [pack.path]
        databases = [one.sqlite_file for one in pack.snapshots if one.sqlite_file is not None]
        return tuple(dict.fromkeys((*whole, *pack.files, *databases)))

    @property
    def dialect(self) -> str:
        """Return the dialect statements are judged in."""
        return self._config.dialect

    @property
    def breaches(self) -> tuple[str, ...]:
        """Return one line for each change that a statement was found to have made on a snapshot; [] is as it should be.

        All are known once the session is closed.
        """
        with self._lock:
            return tuple(dict.fromkeys(self._drift))

    def judge(
        self,
        case: str | Case,
        sql: str | Prediction | None,
        *,
        answer: str | None = None,
        route: str | None = None,
    ) -> CaseResult:
        """Judge one statement, or a whole prediction, against one case's gold and return the result with its scores.

        `answer` is what the agent says in words, `route` the data source it chose (the expected one where not said).
        A text with half a character is an answer of the agent's that cannot be read: an error of the agent.

        Raises:
            InputError: no such case, or neither a text nor a prediction.
            InfrastructureError: no server comes up, or the session is closed.
        """
        return self._judged(*self._asked(case, sql, answer, route))

    def _asked(
        self, case: object, sql: object, answer: object = None, route: object = None, place: str = ""
    ) -> tuple[Case, Prediction]:
        """Return what is judged against what; `place` says which of several statements it is.

        Raises:
            InputError: no such case, or a value of a type that says nothing.
        """
        if not isinstance(case, str | Case):
            remedy = "Give the id of a case of the pack, or a Case"
            raise InputError(f"{place}{type(case).__name__} is no case", field="case", remedy=remedy)
        found = case if isinstance(case, Case) else self._named(case, place)
        if isinstance(sql, Prediction):
            return found, sql.model_copy(update={"case_id": found.id})
        for field, value in (("sql", sql), ("answer", answer), ("route", route)):
            if value is not None and not isinstance(value, str):
                what = "a text, a Prediction or None" if field == "sql" else "a text or None"
                message = f"{place}{type(value).__name__} is no statement" if field == "sql" else "it is no text"
                raise InputError(message, field=field, remedy=f"Give {what}")
        return found, answered({"case_id": found.id, "sql": sql, "answer": answer, "route": route})

    def _judged(self, found: Case, prediction: Prediction) -> CaseResult:
        """Judge one prediction against its case."""
        gold = self._answers(found, found.snapshot)
        suite: tuple[SuiteGold, ...] = ()
        if self._bench.rules.wants("extra_snapshots") and found.query_type == "dql":
            suite = tuple((place, self._answers(found, place)) for place in found.extra_snapshots)
        desk = self._taken()
        try:
            judged = evaluate(found, prediction, gold, desk, suite)
        finally:
            desk.station.rest()
            self._given_back(desk)
        return case_result(judged.evidence, judged.scores)

    def judge_all(
        self, statements: Iterable[tuple[str, str | Prediction | None]], *, jobs: int | None = None
    ) -> list[CaseResult]:
        """Judge (case id, SQL) pairs side by side and return their results in the same order.

        `jobs` is how many are judged at once, the session's own (its cores) where not said. A text with half a
        character is an error of the agent, as in `judge`.

        Raises:
            InputError: no such case, or what is no pair; its number counts from 1, and nothing was judged.
            InfrastructureError: no server comes up, or the session is closed.
        """
        remedy = "Give (case id, SQL) pairs"
        given: Any = statements
        if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
            raise InputError(f"{type(given).__name__} is no list of pairs", field="statements", remedy=remedy)
        asked = []
        for number, pair in enumerate(given, 1):
            if not isinstance(pair, Sequence) or isinstance(pair, str | bytes) or len(pair) != 2:  # noqa: PLR2004 (a pair)
                raise InputError(f"statement {number} is no pair", field="statements", remedy=remedy)
            asked.append(self._asked(pair[0], pair[1], place=f"statement {number}: "))
        crew_size = self._config.jobs
        if jobs is not None:
            crew_size = options_from({"jobs": jobs}, file=None).jobs or crew_size
        with ThreadPoolExecutor(crew_size, thread_name_prefix="session") as crew:
            return list(crew.map(lambda pair: self._judged(*pair), asked))

    def close(self) -> None:
        """End every server; idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            desks, self._idle = self._idle, []
        try:
            self._pool.settle()
        finally:
            for desk in (*desks, *([self._gold_desk] if self._gold_desk is not None else [])):
                desk.parser.close()
            with self._lock:
                self._drift.extend(self._pool.drift)
            self._stack.close()

    def __enter__(self) -> Session:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Name the pack and the dialect."""
        state = "closed" if self._closed else f"{len(self._cases)} cases"
        return f"<Session {self._pack.name} on {self.dialect}: {state}>"

    def _named(self, case_id: str, place: str = "") -> Case:
        """Return the case of this id.

        Raises:
            InputError: the pack has none.
        """
        if case_id in self._cases:
            return self._cases[case_id]
        known = ", ".join(list(self._cases)[:8])
        raise InputError(
            f"{place}no case '{case_id}' in {self._pack.name}", field="case", remedy=f"Its cases: {known} …"
        )

    def _answers(self, case: Case, snapshot: str) -> tuple[GoldAnswer, ...]:
        """Return a case's gold answers on a snapshot; a fault of ours is not kept."""
        if case.out_of_scope or not case.gold.get(self.dialect):
            return ()
        key = (case.id if case is self._cases.get(case.id) else case.model_dump_json(), snapshot)
        with nullcontext() if key in self._gold else self._gold_lock:
            if key not in self._gold:
                self._gold_desk = self._gold_desk or self._bench.desk(self._gold_pool)
                answers = answer_gold(case.model_copy(update={"snapshot": snapshot}), self._gold_desk, self._cache)
                self._gold_desk.station.rest()
                if any(answer.infrastructure for answer in answers):
                    return answers
                self._gold[key] = answers
            return self._gold[key]

    def _taken(self) -> Desk:
        """Return a desk that nobody else has."""
        with self._lock:
            if self._closed:
                raise InputError("the session is closed", field="session", remedy="Open another one")
            if self._idle:
                return self._idle.pop()
        return self._bench.desk(self._pool)

    def _given_back(self, desk: Desk) -> None:
        """Take a desk back."""
        with self._lock:
            self._drift.extend(line for line in desk.station.drift if line not in self._drift)
            if not self._closed:
                self._idle.append(desk)
                return
        desk.parser.close()

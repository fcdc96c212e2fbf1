"""What a crosscheck found, as every report reads it: case by dialect, disagreements with their causes, and scores."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.verdicts import ExitCode

Predict = Literal["native", "transpile", "per-dialect"]
"""What each engine is given: the first dialect's text as it is, that text rewritten, or a text of its own."""

Owner = Literal["agent", "dialect", "transpiler", "gold", "data"]
"""Whose a disagreement is: the agent's statement, the engine's meaning of it, the rewrite, the gold, or the data."""

Origin = Literal["own", "same text", "rewritten", "none"]
Agreement = Literal["agree", "vacuous", "silent", "error", "undecided", "both fail", "not run"]
"""How two engines compare on a case; `silent` is other rows without any error, `vacuous` no value on either side."""


class _Record(BaseModel):
    """A frozen written value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Cell(_Record):
    """One case on one engine: what ran and what came of it.

    `outcome` is `rows`, a failure's kind, `refused` (it cannot be rewritten) or `missing` (nothing to run). `verdict`
    compares a prediction with the gold.
    """

    dialect: str
    sql: str | None
    origin: Origin
    outcome: str
    message: str = ""
    rows: int | None = None
    verdict: str | None = None


class Found(_Record):
    """Why two engines disagree: the cause from the closed list, whose it is, and the probe that shows it.

    `also` are causes that are needed besides: none of them alone makes the engines agree. `form` is the statement that
    showed it, as the other engine takes it: everything in it is as it was written but what is needed.
    `suspects` are all causes the statement is known for. `explained` is False where no probe flipped the outcome.
    `set_aside` says that it is shown to say nothing about engines: the gold leaves its rows open, or fails at home.
    """

    cause: str
    owner: Owner
    probe: str
    explained: bool
    also: tuple[str, ...] = ()
    form: str = ""
    suspects: tuple[str, ...] = ()
    set_aside: bool = False


class Pair(_Record):
    """One case on two engines, with the first difference and its cause where they do not agree."""

    one: str
    other: str
    agreement: Agreement
    reason: str = ""
    found: Found | None = None


class CrossCase(_Record):
    """One case with its cells, in the order of the dialects, and every pair of them."""

    case_id: str
    question: str
    cells: tuple[Cell, ...]
    pairs: tuple[Pair, ...]


class Portability(_Record):
    """What became of all cases in five counts, and the share of the same rows with its 95 % Wilson interval.

    `what` is a pair of dialects, or `all` for every dialect at once. The five counts add up to all cases: a case that
    fails everywhere is an `error`, one that was not run somewhere is `refused`, and one without a value on any engine
    is `vacuous`. `set_aside` counts those of the silent and the failed that say nothing about engines, by reason.
    `share` is that of `same` among the same, the silent and the failed that are not set aside, `n`; `coverage` is the
    share of `n` among all cases but those that the gold leaves open. `unexplained` counts cases.
    """

    what: str
    same: int
    silent: int
    error: int
    refused: int
    vacuous: int
    set_aside: dict[str, int] = {}
    unexplained: int
    n: int
    share: float | None
    low: float | None
    high: float | None
    coverage: float | None


class Advice(_Record):
    """One class of disagreement: how often it was met, silently or not, what to do, and the smallest example.

    `sql` is the example's statement on its second engine, `form` the one that showed the cause, `probe` how.
    """

    cause: str
    owners: dict[str, int]
    silent: int
    errors: int
    advice: str
    case_id: str
    dialect: str
    sql: str
    message: str
    probe: str = ""
    form: str = ""


class CrossResult(_Record):
    """A whole crosscheck."""

    format: int = 2
    pack: str
    case_set: str
    agent: str
    predict: Predict
    dialects: tuple[str, ...]
    engines: dict[str, str]
    engine_settings: dict[str, str] = {}
    policy_digest: str
    cases: tuple[CrossCase, ...]
    portability: tuple[Portability, ...]
    advice: tuple[Advice, ...]
    unexplained: tuple[str, ...]
    problems: tuple[str, ...]
    breaches: tuple[str, ...]
    seconds: float
    exit_code: ExitCode
    verdict_line: str

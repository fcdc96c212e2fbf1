"""What judging a run's stored rows again under other policies says, as written to rescore.json."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.verdicts import ExitCode
from sqlassay.harness.results.case_result import ComparisonRecord


class _Record(BaseModel):
    """A frozen written value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PolicyTotal(_Record):
    """One policy's counts over the `n` results judged again; `accuracy` is None where rows are missing for some.

    `left_out` are the undecided ones that leave its denominator, as the gold itself leaves their answer open.
    """

    name: str
    digest: str
    peer: str | None
    n: int
    match: int
    mismatch: int
    undecided: int
    left_out: int = 0
    accuracy: float | None


class OtherGold(_Record):
    """An accepted gold that decides under a policy, where it is not the one that counted in the run."""

    sql: str | None
    columns: tuple[str, ...] = ()


class Flip(_Record):
    """One result on which the policies, or a policy and the run, do not agree.

    `other_gold` names, for each policy under which another accepted gold decides, that gold.
    """

    case_id: str
    trial: int
    recorded: str
    judged: dict[str, ComparisonRecord]
    gold_columns: tuple[str, ...] = ()
    predicted_columns: tuple[str, ...] = ()
    other_gold: dict[str, OtherGold] = {}


class Rescored(_Record):
    """A run judged again without a database.

    `compared` results had rows on both sides; `judged` of them were judged again, as the rows of `not_stored` ones are
    not in the folder. `carried` counts the results that no policy changes, by verdict. `not_reproduced` names
    results whose stored rows give another verdict than was recorded, under the run's own policy.
    """

    format: int = 1
    run_id: str
    pack: str
    dialect: str
    own_policy: str
    store_rows: str
    results: int
    compared: int
    judged: int
    scorable: int
    carried: dict[str, int]
    not_stored: tuple[str, ...] = ()
    not_reproduced: tuple[str, ...] = ()
    totals: tuple[PolicyTotal, ...]
    flips: tuple[Flip, ...] = ()
    exit_code: ExitCode
    verdict_line: str

"""What a judge or a file says: the question's specification, the verdict with its confidence, and the drift."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from sqlassay.harness.stef.condition_text import read_condition

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Value = bool | int | float | str
Verdict = Literal["Correct", "Likely Correct", "Potentially Incorrect", "Incorrect"]
Operator = Literal[
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "not in",
    "like",
    "not like",
    "ilike",
    "not ilike",
    "between",
    "not between",
    "is null",
    "is not null",
    "contains",
    "starts with",
    "ends with",
]
_LISTS = {"in", "not in", "between", "not between"}


class _Said(BaseModel):
    """What came from outside: unknown fields, NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class WantedAggregation(_Said):
    """(func, col, distinct) of Eq. 2; words such as `total` are functions too, `*` stands for rows."""

    func: Text
    col: Text = "*"
    distinct: bool = False


class WantedFilter(_Said):
    """(lhs, op, rhs) of Eq. 3. A text such as `year = 2023` is accepted in its place."""

    lhs: Text
    op: Operator
    rhs: Value | tuple[Value, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _written(cls, given: object) -> object:
        """Read a condition written as text; a list from JSON is the tuple it means, in strict reading too."""
        if isinstance(given, dict) and isinstance(given.get("rhs"), list):
            return {**given, "rhs": tuple(given["rhs"])}
        if not isinstance(given, str):
            return given
        lhs, op, rhs, _ = read_condition(given)
        return {"lhs": lhs, "op": op, "rhs": rhs if op in _LISTS else rhs[0] if rhs else None}

    @model_validator(mode="after")
    def _shaped(self) -> WantedFilter:
        """Refuse values that do not fit the operator."""
        many = isinstance(self.rhs, tuple)
        if self.op.endswith("null"):
            fits = self.rhs is None
        elif self.op.endswith("between"):
            fits = isinstance(self.rhs, tuple) and len(self.rhs) == 2
        elif self.op.endswith("in") and self.op in _LISTS:
            fits = many and bool(self.rhs)
        else:
            fits = self.rhs is not None and not many
        if not fits:
            raise ValueError(f"the value does not fit the operator {self.op}")
        return self


class WantedOrder(_Said):
    """One sort key that the question asks for."""

    key: Text
    direction: Literal["asc", "desc"] = "asc"


class QuestionSpec(_Said):
    """The question-side specification, Eq. 1–4; `order_by` and `top_k` only where they are asked for in words."""

    outputs: tuple[Text, ...] = ()
    aggregations: tuple[WantedAggregation, ...] = ()
    filters: tuple[WantedFilter, ...] = ()
    group_by: tuple[Text, ...] = ()
    order_by: tuple[WantedOrder, ...] = ()
    top_k: int | None = Field(default=None, ge=1)


class VerdictAnswer(_Said):
    """The semantic verdict and the confidence γ in it, never out of [0, 1]."""

    verdict: Verdict
    confidence: float = Field(ge=0, le=1, strict=True)
    reason: str = ""


class Changed(_Said):
    """A constraint that the enriched question says otherwise than the user did."""

    user: Text
    enriched: Text


class DriftAnswer(_Said):
    """What the enriched question adds to the user's, drops of it or changes."""

    added: tuple[Text, ...] = ()
    dropped: tuple[Text, ...] = ()
    changed: tuple[Changed, ...] = ()
    reason: str = ""

    @property
    def faithful(self) -> bool:
        """Return whether there is no drift at all."""
        return not (self.added or self.dropped or self.changed)

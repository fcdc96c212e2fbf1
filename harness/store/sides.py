"""What a run keeps of one result so that it can be judged again: every accepted gold, its probe, and the prediction.

Rows stand as typed JSON. Of two changes the states stand: every part by its checksum, and the rows of those parts whose
checksums differ, as equal checksums are equal rows under every policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Changed, Failure, TableState
from sqlassay.cases.relation import Relation
from sqlassay.cases.typed_json import relation_from_json, relation_to_json
from sqlassay.cases.verdicts import FailureKind
from sqlassay.harness.results.case_result import OrderRecord
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import OrderFacts, ParsedQuery
from sqlassay.harness.results.records import order_record

SIDES = ("gold", "probe", "predicted")
"""What a stored line can be. `probe` is the gold run again with hidden order keys."""

Content: TypeAlias = Relation | Changed


@dataclass(frozen=True, slots=True)
class Side:
    """One stored line. Alternative 0 is the gold that counted in the run; `order` is the gold's outermost ORDER BY.

    `orders` says how each eval query orders its rows; it stands with the prediction of a change. `constants` are the
    columns that read no table, `literals` those of one row whose value is a number the text writes;
    `divides` says whether the gold's text divides or averages.
    """

    name: str
    content: Content
    alternative: int = 0
    sql: str | None = None
    order: OrderRecord | None = None
    orders: tuple[OrderRecord | None, ...] = ()
    constants: frozenset[int] = frozenset()
    divides: bool = False
    literals: frozenset[int] = frozenset()


class _Strict(BaseModel):
    """Frozen; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _Failed(_Strict):
    """An eval query that gave no rows."""

    kind: FailureKind
    message: str


class _Part(_Strict):
    """One table, view or aspect of the schema."""

    name: str
    part: Literal["table", "view", "schema"]
    rows: int
    digest: str
    relation: Any = None
    failure: str | None = None


class _Answer(_Strict):
    """What one eval query gave."""

    relation: Any = None
    failure: _Failed | None = None


class _State(_Strict):
    """The state a change left."""

    parts: tuple[_Part, ...]
    touched: tuple[str, ...]
    answers: tuple[_Answer, ...]


class _Line(_Strict):
    """A stored line's own fields, beside the format and the result it belongs to."""

    side: str
    alternative: int = Field(default=0, ge=0)
    sql: str | None = None
    order: OrderRecord | None = None
    orders: tuple[OrderRecord | None, ...] = ()
    constants: frozenset[int] = frozenset()
    divides: bool = False
    literals: frozenset[int] = frozenset()
    columns: Any = None
    rows: Any = None
    state: _State | None = None


def row_sides(golds: Sequence[GoldAnswer], predicted: Relation, wrote: ParsedQuery | None = None) -> list[Side]:
    """Return what is kept where rows were compared: each gold with its probe, text and ORDER BY."""
    sides: list[Side] = []
    for number, answer in enumerate(answer for answer in golds if answer.relation is not None):
        if answer.relation is not None:
            order = order_record(answer.parsed.order)
            constants = answer.parsed.constants(len(answer.relation.columns))
            divides = answer.parsed.divides
            told = answer.parsed.repeated(answer.relation)
            sides.append(
                Side(
                    "gold", answer.relation, number, answer.sql, order,
                    constants=constants, divides=divides, literals=told,
                )
            )  # fmt: skip
        if answer.probe is not None:
            sides.append(Side("probe", answer.probe, number))
    idle = frozenset() if wrote is None else wrote.constants(len(predicted.columns))
    told = frozenset() if wrote is None else wrote.repeated(predicted)
    return [*sides, Side("predicted", predicted, constants=idle, literals=told)]


def state_sides(golds: Sequence[GoldAnswer], predicted: Changed, orders: Sequence[OrderFacts | None]) -> list[Side]:
    """Return what is kept where the states of two changes were compared."""
    changed = [(answer.sql, answer.changed) for answer in golds if answer.changed is not None]
    leaner, left = lean([state for _, state in changed], predicted)
    sides = [Side("gold", state, n, sql) for n, ((sql, _), state) in enumerate(zip(changed, leaner, strict=True))]
    return [*sides, Side("predicted", left, orders=tuple(map(order_record, orders)))]


def side_to_json(side: Side) -> dict[str, object]:
    """Return the fields of a stored line; what says nothing is left out."""
    head = {
        "alternative": side.alternative or None,
        "sql": side.sql,
        "order": None if side.order is None else side.order.model_dump(mode="json"),
        "constants": sorted(side.constants) or None,
        "divides": side.divides or None,
        "literals": sorted(side.literals) or None,
        "orders": [None if one is None else one.model_dump(mode="json") for one in side.orders] or None,
    }
    said = {"side": side.name} | {name: value for name, value in head.items() if value is not None}
    if isinstance(side.content, Changed):
        return {**said, "state": _state_to_json(side.content)}
    return {**said, **relation_to_json(side.content)}


def side_from_json(value: dict[str, object]) -> Side:
    """Return the line that `side_to_json` wrote.

    Raises: ValueError or InputError where a field is missing, unknown or of another kind.
    """
    if not isinstance(value.get("side"), str) or value["side"] not in SIDES:
        raise InputError(f"{value.get('side')!r} is no side", field="side", remedy="Run the evaluation again")
    line = _Line.model_validate(value)
    content: Content
    if line.state is not None:
        content = _state_from(line.state, line.side)
    else:
        content = relation_from_json({"columns": line.columns, "rows": line.rows}, field=line.side)
    said = line.alternative, line.sql, line.order, line.orders, line.constants, line.divides, line.literals
    return Side(line.side, content, *said)


def lean(golds: Sequence[Changed], predicted: Changed) -> tuple[list[Changed], Changed]:
    """Return states without the rows of parts whose checksums agree: they are equal under every policy."""
    theirs = {(str(part.part), part.name): part.digest for part in predicted.state}
    ours = [{(str(part.part), part.name): part.digest for part in gold.state} for gold in golds]

    def kept(part: TableState, others: Sequence[dict[tuple[str, str], str]]) -> TableState:
        """Return the part without its rows where every other side has the same."""
        key = (str(part.part), part.name)
        same = all(other.get(key) == part.digest for other in others)
        return replace(part, relation=None) if same else part

    leaner = [replace(gold, state=tuple(kept(part, [theirs]) for part in gold.state)) for gold in golds]
    return leaner, replace(predicted, state=tuple(kept(part, ours) for part in predicted.state))


def _state_to_json(changed: Changed) -> dict[str, object]:
    """Return a state as JSON."""
    parts = [
        {
            "name": part.name,
            "part": part.part,
            "rows": part.rows,
            "digest": part.digest,
            "relation": None if part.relation is None else relation_to_json(part.relation),
            "failure": part.failure,
        }
        for part in changed.state
    ]
    return {"parts": parts, "touched": list(changed.touched), "answers": [_answer(one) for one in changed.answers]}


def _answer(answer: Relation | Failure) -> dict[str, object]:
    """Return what an eval query gave as JSON."""
    if isinstance(answer, Failure):
        return {"failure": {"kind": answer.kind.value, "message": answer.message}}
    return {"relation": relation_to_json(answer)}


def _state_from(state: _State, field: str) -> Changed:
    """Return the state that was stored; clocks are not kept."""
    parts = tuple(
        TableState(
            part.name,
            part.part,
            part.rows,
            part.digest,
            None if part.relation is None else relation_from_json(part.relation, field=f"{field}.{part.name}"),
            part.failure,
        )
        for part in state.parts
    )
    answers = tuple(
        Failure(one.failure.kind, one.failure.message)
        if one.failure is not None
        else relation_from_json(one.relation, field=f"{field}.answers[{index}]")
        for index, one in enumerate(state.answers)
    )
    return Changed(parts, state.touched, answers, 0.0)

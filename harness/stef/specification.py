"""Both specifications in one form: the SQL's from the parser's facts (Eq. 5–10), the question's from an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from sqlassay.harness.results.blocks import Block, Called, Condition
from sqlassay.harness.stef.answers import QuestionSpec, WantedFilter
from sqlassay.harness.stef.phrases import Implied, function_named, implied
from sqlassay.harness.stef.rules import RuleProfile
from sqlassay.harness.stef.words import Scalar, Vocabulary, value

_T = TypeVar("_T")
_COUNT = re.compile(r"count\((?!distinct)[^()]*\)")
_LIKES = {"like": "=", "not like": "!="}


@dataclass(frozen=True, slots=True, order=True)
class Filter:
    """(lhs, op, rhs) with names and values folded; `literal` where every value is a constant."""

    lhs: str
    op: str
    rhs: tuple[str, ...]
    literal: bool = True

    def __str__(self) -> str:
        """Return the filter as a person writes it."""
        if not self.lhs:
            return f" {self.op} ".join(self.rhs) if self.op == "or" else ", ".join(self.rhs)
        if not self.rhs:
            return f"{self.lhs} {self.op}"
        shown = [repr(each) if self.literal else each for each in self.rhs]
        return f"{self.lhs} {self.op} {shown[0] if len(shown) == 1 else '(' + ', '.join(shown) + ')'}"


@dataclass(frozen=True, slots=True, order=True)
class Aggregation:
    """(func, col, distinct), folded."""

    function: str
    column: str
    distinct: bool

    @property
    def folded(self) -> str:
        """Return the aggregate as it stands in a folded expression."""
        return f"{self.function.replace('_', '')}({'distinct' if self.distinct else ''}{self.column})"

    def __str__(self) -> str:
        """Return the aggregate as a call."""
        return f"{self.function}({'distinct ' if self.distinct else ''}{self.column})"


@dataclass(frozen=True, slots=True)
class Projection:
    """One output of the outermost SELECT: expression, output name, and whether it aggregates."""

    expression: str
    name: str
    aggregate: bool


@dataclass(frozen=True, slots=True)
class Sort:
    """One ORDER BY key."""

    key: str
    direction: Literal["asc", "desc"]
    aggregate: bool


@dataclass(frozen=True, slots=True)
class Grouping:
    """The GROUP BY of one SELECT with that SELECT's outputs, which rule 1 looks at."""

    keys: tuple[str, ...]
    aggregates: int
    plain: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqlSpec:
    """S_sql: outermost projections, order and limit; filters, aggregates and groups of the whole text.

    `projected` are the aggregates that stand in the outermost output.
    """

    projections: tuple[Projection, ...]
    aggregations: tuple[Aggregation, ...]
    projected: tuple[Aggregation, ...]
    filters: tuple[Filter, ...]
    groupings: tuple[Grouping, ...]
    order_by: tuple[Sort, ...]
    limit: int | None
    limited: bool

    @property
    def group_by(self) -> tuple[str, ...]:
        """Return every group key once, in its order."""
        return tuple(dict.fromkeys(key for grouping in self.groupings for key in grouping.keys))


@dataclass(frozen=True, slots=True)
class Output:
    """One requested output: its words, its folded name and the aggregate that the words imply."""

    words: str
    name: str
    implied: Aggregation | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """S_q in the same form as the SQL's specification."""

    outputs: tuple[Output, ...]
    aggregations: tuple[Aggregation, ...]
    filters: tuple[Filter, ...]
    group_by: tuple[str, ...]
    order_by: tuple[tuple[str, str], ...]
    top_k: int | None


class Writer:
    """Writes either specification under one profile's names and tolerances."""

    def __init__(self, profile: RuleProfile) -> None:
        """Take the profile's column mappings and how wildcards are read."""
        self._words = Vocabulary(profile.column_mappings)
        self._loose = profile.tolerance.wildcards == "paper"

    def name(self, text: str) -> str:
        """Return a name or expression folded and mapped."""
        return self._words.name(text)

    def of_sql(self, blocks: Sequence[Block]) -> SqlSpec:
        """Return S_sql of a text's blocks, the outermost first."""
        outer = blocks[0] if blocks else Block(True, (), (), (), ())
        return SqlSpec(
            projections=tuple(
                Projection(self.name(each.sql), self.name(each.name) if each.name else "", each.aggregate)
                for each in outer.selected
            ),
            aggregations=_once(self._called(each) for block in blocks for each in block.called),
            projected=_once(self._called(each) for each in outer.called if each.selected),
            filters=_once(made for block in blocks for each in block.conditions for made in self._condition(each)),
            groupings=tuple(self._grouping(block) for block in blocks if block.grouped),
            order_by=tuple(Sort(self.name(each.sql), each.direction, each.aggregate) for each in outer.sorted),
            limit=outer.limit,
            limited=outer.limited,
        )

    def of_question(self, spec: QuestionSpec, top_k: int | None) -> Wanted:
        """Return S_q of an answer; `top_k` is what the question's words ask for where the answer says nothing."""
        return Wanted(
            outputs=tuple(Output(each, self.name(each), self._implied(implied(each))) for each in spec.outputs),
            aggregations=_once(self._wanted(each.func, each.col, each.distinct) for each in spec.aggregations),
            filters=self.filters(spec.filters),
            group_by=tuple(dict.fromkeys(self.name(each) for each in spec.group_by)),
            order_by=tuple((self._sorted(each.key), each.direction) for each in spec.order_by),
            top_k=spec.top_k if spec.top_k is not None else top_k,
        )

    def filters(self, given: Iterable[WantedFilter]) -> tuple[Filter, ...]:
        """Return filters of an answer or of the rules in the SQL's form."""
        return _once(made for each in given for made in self._filter(each))

    def _called(self, called: Called) -> Aggregation:
        """Return one aggregate of the text."""
        return Aggregation(called.function, self.name(called.column), called.distinct)

    def _wanted(self, words: str, column: str, distinct: bool) -> Aggregation:  # noqa: FBT001 (func, col, distinct)
        """Return one aggregate of the question, words such as `total` being functions."""
        function, said = function_named(words)
        return Aggregation(function, self.name(column), distinct or said)

    def _implied(self, found: Implied | None) -> Aggregation | None:
        """Return the aggregate that an output's words imply."""
        return None if found is None else Aggregation(found.function, self.name(found.column), found.distinct)

    def _sorted(self, key: str) -> str:
        """Return a wanted sort key as the SQL spells it: an aggregate's words are its call."""
        found = self._implied(implied(key))
        return self.name(key) if found is None else found.folded

    def _grouping(self, block: Block) -> Grouping:
        """Return one GROUP BY with the outputs of its SELECT; constants are no outputs to group by."""
        plain = [each.sql for each in block.selected if not each.aggregate and not _is_constant(each.sql)]
        return Grouping(
            keys=tuple(self.name(each) for each in block.grouped),
            aggregates=sum(each.aggregate for each in block.selected),
            plain=tuple(self.name(each) for each in plain),
        )

    def _condition(self, condition: Condition) -> tuple[Filter, ...]:
        """Return the filters of one condition of the text."""
        return self._made(condition.lhs, condition.op, condition.rhs, literal=condition.literal)

    def _filter(self, wanted: WantedFilter) -> tuple[Filter, ...]:
        """Return the filters of one condition of an answer; `contains` and the like are patterns."""
        rhs: tuple[Scalar, ...] = (
            wanted.rhs if isinstance(wanted.rhs, tuple) else () if wanted.rhs is None else (wanted.rhs,)
        )
        patterns = {"contains": "%{}%", "starts with": "{}%", "ends with": "%{}"}
        # `number of orders` is an aggregate; total_amount, in one word, is likelier a column.
        lhs = self._sorted(wanted.lhs) if {" ", "("} & set(wanted.lhs) else wanted.lhs
        if wanted.op in patterns:
            return self._made(lhs, "like", (patterns[wanted.op].format(rhs[0]),), literal=True)
        return self._made(lhs, wanted.op, rhs, literal=True)

    def _made(self, lhs: str, op: str, rhs: tuple[Scalar, ...], *, literal: bool) -> tuple[Filter, ...]:
        """Return a condition normalised: BETWEEN is two bounds, IN of one and LIKE without a wildcard equalities."""
        values = tuple(value(each) if literal else self.name(str(each)) for each in rhs)
        if not lhs:
            return (Filter("", op, tuple(sorted(values)), literal),)
        # A condition on a count of rows is one on the count of any column, as among aggregates.
        name, op = _COUNT.sub("count(*)", self.name(lhs)), op.replace("ilike", "like")
        if op == "between":
            return (Filter(name, ">=", values[:1], literal), Filter(name, "<=", values[1:], literal))
        if op in {"in", "not in"}:
            values = tuple(sorted(set(values)))
            op = op if len(values) != 1 or not literal else ("=" if op == "in" else "!=")
        if op in _LIKES and literal and (plain := self._unpatterned(values[0])) is not None:
            op, values = _LIKES[op], (plain,)
        if op in {"=", "!="} and literal and values == ("null",):
            op, values = ("is null" if op == "=" else "is not null"), ()
        return (Filter(name, op, values, literal),)

    def _unpatterned(self, pattern: str) -> str | None:
        """Return the text a pattern without a wildcard equals, None where it has one."""
        bare = pattern.strip("%") if self._loose else pattern
        return value(bare) if bare and not {"%", "_"} & set(bare) else None


def _is_constant(sql: str) -> bool:
    """Return whether an output is a constant."""
    return sql.startswith("'") or sql.replace(".", "", 1).isdigit() or sql.lower() in {"null", "true", "false"}


def _once(items: Iterable[_T]) -> tuple[_T, ...]:
    """Return each item once, in its order."""
    return tuple(dict.fromkeys(items))

"""Plain facts about one SQL text, as the shielded parser saw it; no tree leaves the worker."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from sqlassay.cases.relation import Relation
from sqlassay.harness.results.blocks import Block
from sqlassay.harness.results.exact_set import Parts

MAX_SQL_BYTES = 32 * 1024
"""The longest statement: what the parser reads, the guard lets through and a judge is shown, in bytes of UTF-8."""

SYNTAX_ERROR = "syntax error"
"""How `ParsedQuery.error` begins where the text itself is at fault; other errors are about size, depth or time."""


@dataclass(frozen=True, slots=True)
class TableRef:
    """A physical table a query names anywhere (CTE names excluded), lower-cased, with its schema where given."""

    name: str
    schema: str | None = None
    catalog: str | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One outermost ORDER BY key. `column` is its output column index, None where it is not selected (hidden)."""

    column: int | None
    direction: Literal["asc", "desc"]
    nulls: Literal["first", "last"] | None
    sql: str


@dataclass(frozen=True, slots=True)
class OrderFacts:
    """The outermost ORDER BY of a query.

    `probe_sql` is the same query with every hidden key appended as an extra last output column (in key order,
    hidden ones only) and LIMIT raised by one, to learn the tie groups; None where the rewrite is impossible
    (DISTINCT, set operation, GROUP BY that forbids it) or not needed. `limit` is the literal row limit, if any.
    `offset` says whether rows are cut at the start too. `whole_sql` is the same query with every hidden key and without
    its LIMIT, None where it has none or that cannot be said. `rank_sql` is the probe with one column more, the rank
    that the engine gives each row by its keys: only the engine knows what its collations call equal.
    """

    keys: tuple[OrderKey, ...]
    limit: int | None
    has_limit: bool
    probe_sql: str | None
    offset: bool = False
    whole_sql: str | None = None
    rank_sql: str | None = None


@dataclass(frozen=True, slots=True)
class SecondReading:
    """What a second parser, the engine's own grammar, saw in the same text: `error`, or what stands in it anywhere.

    `kinds` are its statement nodes, `tables` (name, schema or "") every relation named (CTEs too), `calls` the
    functions called by name.
    """

    error: str | None
    statements: int = 0
    kinds: frozenset[str] = frozenset()
    tables: frozenset[tuple[str, str]] = frozenset()
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """Facts about one text. `error` is set where it could not be parsed (then only text facts hold).

    `statements` counts statements. `root` is the lower-cased kind of the first ("select", "delete", "union", …).
    `nodes` are all node kinds in the tree, lower-cased. `functions` all called functions, lower-cased, engine
    spelling. `projections` the outermost output expressions in normal form (aliases and qualifiers resolved
    through CTEs and subqueries, * expanded from the catalogue), `output_names` their names. `filters` are the
    WHERE/HAVING/ON-constant conditions (conjuncts, normal form), `joins` the join conditions with their kind,
    `group_by`, `aggregates` normal forms. `literals` the constants. `lexmap` has one letter per character as the
    parser read it (s string, i quoted identifier, c code, space for blanks and comments): the guard compares it with
    its own. `list_names` are CTE and table aliases followed by a column list (one entry a mention). `unresolved` are
    qualified names (`source.column`) no column is known to answer to. `explain` are the options where the text is an
    EXPLAIN (the other facts then describe the explained statement), None elsewhere. `second` is a second parser's
    reading, None where the dialect has none or it is not installed. `types` are the types the parser
    does not know by name. `written` are name and schema of the tables a statement changes, makes or drops.
    `readings` are the facts of the text without its version-gated comments, then with more and more of them read.
    `columns` are the names of the schema's columns it reads, aliases seen through and stars expanded, `stars` how many
    of its queries select everything, `parts` the first statement by clause where it is a query, `published` the same as
    Spider's published script reads it, None where it cannot, `unpublished` then the reason.
    `blocks` are the facts of every SELECT, the outermost first. `computed` says of each output column whether its value
    comes from a table, None where that cannot be told; `numbers` which numbers the text writes that may be its value.
    """

    sql: str
    dialect: str
    parser: str
    error: str | None = None
    statements: int = 1
    root: str = ""
    nodes: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    tables: frozenset[TableRef] = frozenset()
    projections: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    distinct: bool = False
    ctes: tuple[str, ...] = ()
    order: OrderFacts | None = None
    limit: str | None = None
    depth: int = 0
    rejected: tuple[tuple[str, str], ...] = ()
    processed_sql: str = ""
    lexmap: str = ""
    list_names: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    explain: str | None = None
    second: SecondReading | None = None
    types: tuple[str, ...] = ()
    written: tuple[tuple[str, str | None], ...] = ()
    readings: tuple[ParsedQuery, ...] = ()
    columns: tuple[str, ...] = ()
    stars: int = 0
    parts: Parts | None = None
    published: Parts | None = None
    unpublished: str = ""
    blocks: tuple[Block, ...] = ()
    computed: tuple[bool, ...] | None = None
    numbers: tuple[str, ...] = ()

    @property
    def divides(self) -> bool:
        """Tell whether the statement divides or averages anywhere."""
        return not self.nodes.isdisjoint({"div", "avg"})

    def constants(self, width: int) -> frozenset[int]:
        """Return the columns, of so many, that read no table: all of a text that names none."""
        if self.error is None and not self.tables:
            return frozenset(range(width))
        if self.computed is None or len(self.computed) != width:
            return frozenset()
        return frozenset(place for place, computed in enumerate(self.computed) if not computed)

    def repeated(self, relation: Relation) -> frozenset[int]:
        """Return the columns of a result of one row whose value is a number that the text writes for them."""
        if len(relation.rows) != 1 or len(self.numbers) != len(relation.columns):
            return frozenset()
        return frozenset(
            place
            for place, (value, numbers) in enumerate(zip(relation.rows[0], self.numbers, strict=True))
            if isinstance(value, (int, float, Decimal)) and any(abs(value) == float(one) for one in numbers.split())
        )

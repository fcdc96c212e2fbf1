"""Text between engines that compare code points and engines that compare without case: said so, or proven alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache

from sqlglot import exp

from sqlassay.cases.relation import Kind
from sqlassay.cases.settings import BINARY, DEFAULT
from sqlassay.cases.snapshot import Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Adapter, Folding
from sqlassay.dialect_adapters.transpile.common import TEXT, kind
from sqlassay.dialect_adapters.transpile.facts import Refused
from sqlassay.dialect_adapters.transpile.snapshot_facts import Held
from sqlassay.dialect_adapters.transpile.telling import Telling

TEXTS = frozenset((Kind.TEXT, Kind.CHAR))
COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_MOST_ROWS = 200_000
_MARKS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_RANKS = {letter: rank for rank, letter in enumerate(_MARKS + "0123456789abcdefghijklmnopqrstuvwxyz")}
"""How MySQL's own collation sorts ASCII, a letter's case apart; a live test asks a server."""
_SURE = frozenset(" 0123456789abcdefghijklmnopqrstuvwxyz")
"""What every other collation without case sorts in this order too."""
_LETTERS = str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "AE"})
"""Letters that collations may take for others though no decomposition says so."""
_APART = re.compile("[\u03b1-\u03c9\u0430-\u044f\u4e00-\u9fa5]")
"""Greek and Cyrillic letters, which have marks and case as Latin ones do, and ideographs, which have neither."""
_MARK = re.compile("[\u0300-\u0362\ufe0f]")
"""Marks on letters; those behind them are letters themselves."""
_IOTA = "\u0345"
"""A mark that is a letter too."""
_STOCK = "utf8mb4_0900"
GIVES = (exp.If, exp.Case, exp.Coalesce, exp.Nullif, exp.Alias, exp.Select, exp.Tuple)
_FORMATS = (exp.TimeToStr, exp.StrToTime, exp.StrToDate, exp.Interval, exp.DataType)


def folds(snapshot: Snapshot, adapter: Adapter) -> bool:
    """Return whether an engine compares this snapshot's texts otherwise than code point by code point."""
    if not isinstance(adapter, Folding):
        return False
    named = snapshot.settings_for(adapter.name).collation or DEFAULT
    return named != BINARY and not named.endswith("_bin")


# Towards an engine without case


def by_code_points(tree: exp.Expr, snapshot: Snapshot, tell: Telling) -> exp.Expr:
    """Put every table into a derived one whose texts compare code point by code point; all that is made of them does.

    Raises:
        Refused: a common table expression has a table's name.
    """
    tables = {table.name.lower(): table for table in snapshot.tables}
    refuse_shared_names(tree, tables)
    read = {column.name.lower() for column in tree.find_all(exp.Column)}
    for node in list(tree.find_all(exp.Table)):
        table = tables.get(node.name.lower())
        if table is None:
            continue
        told = {one.name.lower() for one in table.columns if one.kind in TEXTS} & read
        if told:
            alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
            node.replace(exp.Subquery(this=_derived(table, told, tell), alias=alias.copy()))
    return tree


def refuse_shared_names(tree: exp.Expr, tables: Container[str]) -> None:
    """Raise Refused where a common table expression has a table's name: which of both is meant is not looked at."""
    if any(cte.alias.lower() in tables for cte in tree.find_all(exp.CTE)):
        raise Refused("a common table expression has a table's name, where text has to be compared by its letters")


def _derived(table: TableDef, told: set[str], tell: Telling) -> exp.Select:
    """Return a table's rows with these texts compared by code points."""
    columns = []
    for one in table.columns:
        name = one.name.lower()
        column = exp.column(name, quoted=True)
        if name in told:
            said = exp.Var(this=tell.by_code_points(column.sql(dialect=tell.grammar)))
            columns.append(exp.Alias(this=said, alias=exp.to_identifier(name, quoted=True)))
        else:
            columns.append(exp.Alias(this=column, alias=exp.to_identifier(name, quoted=True)))
    return exp.Select(expressions=columns).from_(exp.to_table(table.name.lower()))


def lone_texts(node: exp.Expr) -> Iterator[exp.Literal]:
    """Yield the constants among a node's parts that may become its value, or that only constants are held against."""
    if isinstance(node, GIVES):
        holder = node.parent if isinstance(node, exp.If) and isinstance(node.parent, exp.Case) else node
        if isinstance(node, (exp.Select, exp.Tuple)) or kind(holder) == TEXT:
            skipped = ("this",) if isinstance(node, (exp.If, exp.Case)) else ()
            for one in node.iter_expressions():
                if isinstance(one, exp.Literal) and one.is_string and one.arg_key not in skipped:
                    yield one
    elif isinstance(node, (*COMPARED, exp.Like, exp.ILike, exp.In, exp.Between)):
        parts = list(node.iter_expressions())
        if all(isinstance(one, exp.Literal) for one in parts) and _text(node.this):
            yield node.this


def _text(node: exp.Expr) -> bool:
    """Return whether a node is a text's constant."""
    return isinstance(node, exp.Literal) and bool(node.is_string)


# From an engine without case


def refuse_what_matters(tree: exp.Expr, snapshot: Snapshot, collation: str | None) -> None:
    """Let a statement pass whose texts compare alike with and without case, by the data they come from.

    Raises:
        Refused: a comparison, a pattern or an order of texts may mean something else by code points.
    """
    reader = _Texts(tree, snapshot)
    stock = collation in (None, DEFAULT) or str(collation).startswith(_STOCK)
    for node in tree.walk():
        how, parts = _held(node)
        asked = [part for part in parts if kind(part) == TEXT or _text(part)]
        if how and asked and not reader.alike(how, asked, stock=stock):
            raise Refused(f"{_SAID[how]} of texts that the source's collation compares without case or accents")


_SAID = {"equal": "a comparison", "order": "an order", "pattern": "a pattern or a search"}


def _held(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """Return how a node compares values, empty where it does not, and which."""
    if isinstance(node, (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif)):
        return "equal", [node.this, node.expression]
    if isinstance(node, exp.In):
        query = node.args.get("query")
        inner = query.this if isinstance(query, exp.Subquery) else query
        return "equal", [node.this, *node.expressions, *(_given(inner) if inner is not None else [])]
    if isinstance(node, exp.Case) and node.this is not None:
        return "equal", [node.this, *(one.this for one in node.args["ifs"])]
    if isinstance(node, (exp.Group, exp.Distinct)):
        return "equal", [*node.expressions] if node.expressions else _given(node.parent)
    if isinstance(node, exp.SetOperation) and (node.args.get("distinct") or not isinstance(node, exp.Union)):
        return "equal", _given(node)
    if isinstance(node, exp.Window):
        return "equal", list(node.args.get("partition_by") or [])
    if isinstance(node, (exp.GT, exp.GTE, exp.LT, exp.LTE)):
        return "order", [node.this, node.expression]
    if isinstance(node, exp.Between):
        return "order", [node.this, node.args["low"], node.args["high"]]
    if isinstance(node, (exp.Ordered, exp.Min, exp.Max)):
        return "order", [node.this]
    if isinstance(node, (exp.Greatest, exp.Least)):
        return "order", [node.this, *node.expressions]
    if isinstance(node, (exp.Like, exp.ILike, exp.StrPosition, exp.RegexpLike)):
        return "pattern", [node.this, node.args.get("substr") or node.expression]
    return "", []


def _given(query: exp.Expr | None) -> list[exp.Expr]:
    """Return what a query's columns hold, every arm's."""
    if isinstance(query, exp.SetOperation):
        return [*_given(query.left), *_given(query.right)]
    if isinstance(query, exp.Subquery):
        return _given(query.this)
    return [one.unalias() for one in query.expressions] if isinstance(query, exp.Select) else []


class _Texts:
    """Which texts the parts of one statement may hold."""

    def __init__(self, tree: exp.Expr, snapshot: Snapshot) -> None:
        """Look at a statement's tables."""
        self._snapshot = snapshot
        tables = {table.name.lower(): table for table in snapshot.tables}
        self._tables = {tables[one.name.lower()].name for one in tree.find_all(exp.Table) if one.name.lower() in tables}
        self._read = {column.name.lower() for column in tree.find_all(exp.Column)}
        self._constants = {
            one.name for one in tree.find_all(exp.Literal) if one.is_string and not isinstance(one.parent, _FORMATS)
        }
        self._asked: set[str] = set()
        self._given: dict[str, list[exp.Expr]] = {}
        for one in tree.find_all(exp.Alias):
            itself = isinstance(one.this, exp.Column) and one.this.name.lower() == one.alias.lower()
            self._given.setdefault(one.alias.lower(), []).extend([] if itself else [one.this])
        for named in tree.find_all(exp.TableAlias):
            for column in named.args.get("columns") or []:
                self._given.setdefault(column.name.lower(), []).append(exp.Anonymous(this="renamed"))

    def alike(self, how: str, parts: Iterable[exp.Expr], *, stock: bool) -> bool:
        """Return whether values of these parts compare alike by code points and without case."""
        found = [self._values(part) for part in parts]
        plain = all(values is not None for values in found)
        texts = frozenset().union(*(values for values in found if values is not None)) if plain else self._every()
        if how == "equal" and plain:
            return _told_apart(texts)
        if not all(one.isascii() and one.isprintable() and not one.endswith(" ") for one in texts):
            return False
        one_case = not any(one != one.lower() for one in texts) or not any(one != one.upper() for one in texts)
        if how == "pattern" or not plain:
            return one_case and (how != "order" or {letter for one in texts for letter in one.lower()} <= _SURE)
        return _told_apart(texts) and _sorts_alike(texts, stock=stock)

    def _values(self, node: exp.Expr) -> frozenset[str] | None:
        """Return the texts that a part may hold, None where it makes others."""
        if isinstance(node, exp.Literal):
            return frozenset((node.name,))
        if isinstance(node, exp.Null):
            return frozenset()
        if isinstance(node, exp.Column):
            return self._column(node.name.lower())
        if isinstance(node, (exp.Paren, exp.Alias, exp.Min, exp.Max, exp.Ordered)):
            return self._values(node.this)
        if isinstance(node, (exp.Lower, exp.Upper)):
            inner = self._values(node.this)
            upper = isinstance(node, exp.Upper)
            return None if inner is None else frozenset(one.upper() if upper else one.lower() for one in inner)
        if isinstance(node, exp.TimeToStr) and isinstance(node.args.get("format"), exp.Literal):
            shape = re.sub("%Y", "0000", re.sub("%[mdHMS]", "00", node.args["format"].name))
            return None if "%" in shape else frozenset((shape,))
        if isinstance(node, exp.Case):
            chosen = [one.args["true"] for one in node.args["ifs"]]
            return self._joint([*chosen, *([node.args["default"]] if node.args.get("default") is not None else [])])
        return self._joint([node.this, *node.expressions]) if isinstance(node, exp.Coalesce) else None

    def _joint(self, parts: Iterable[exp.Expr]) -> frozenset[str] | None:
        """Return the texts that any of several parts may hold."""
        found = [self._values(part) for part in parts]
        known = [one for one in found if one is not None]
        return frozenset().union(*known) if len(known) == len(found) else None

    def _column(self, name: str) -> frozenset[str] | None:
        """Return what the columns of this name hold, a table's and those that a query inside gives."""
        if name in self._asked:
            return frozenset()  # a recursive query's own: what it starts with is seen elsewhere
        held = [_held_texts(self._snapshot, table).get(name) for table in sorted(self._tables)]
        found = [one for one in held if one is not None]
        self._asked.add(name)
        try:
            made = self._joint(self._given.get(name, ()))
        finally:
            self._asked.discard(name)
        if made is None or (not found and name not in self._given):
            return None
        return frozenset().union(made, *found)

    def _every(self) -> frozenset[str]:
        """Return every text of the columns that the statement reads, and its constants."""
        held = [
            values
            for table in sorted(self._tables)
            for name, values in _held_texts(self._snapshot, table).items()
            if name in self._read
        ]
        return frozenset(self._constants).union(*held)


def _told_apart(texts: Iterable[str]) -> bool:
    """Return whether no two of these texts are the same without case and accents; False where that is not known."""
    found = list(texts)
    folded = [_folded(one) for one in found]
    return None not in folded and len(set(folded)) == len(found)


def _folded(text: str) -> str | None:
    """Return what is left of a text at most where case and accents do not count, None where that is not known."""
    if text != text.rstrip():
        return None  # some collations do not count blanks at the end
    kept: list[str] = []
    for letter in unicodedata.normalize("NFKD", text.translate(_LETTERS)):
        if letter == _IOTA:
            return None
        folded = letter.casefold()
        if _MARK.fullmatch(letter) or (unicodedata.category(letter)[0] == "S" and not letter.isascii()):
            continue
        if not all((one.isascii() and one.isprintable()) or _APART.fullmatch(one) for one in folded):
            return None
        kept.append(folded)
    return "".join(kept)


def _sorts_alike(texts: Iterable[str], *, stock: bool) -> bool:
    """Return whether texts sort by code points as without case."""
    found = list(texts)
    if not {letter for one in found for letter in one.lower()} <= (_RANKS.keys() if stock else _SURE):
        return False
    return sorted(found) == sorted(found, key=lambda one: [_RANKS[letter] for letter in one.lower()])


@lru_cache(maxsize=256)
def _cached(digest: str, table: str, holder: Held) -> dict[str, frozenset[str]]:
    """Return the texts of a table's columns, once for each content."""
    del digest
    snapshot = holder.snapshot
    places = {
        place: column.name.lower()
        for one in snapshot.tables
        if one.name == table
        for place, column in enumerate(one.columns)
        if column.kind in TEXTS
    }
    found: dict[str, set[str]] = {name: set() for name in places.values()}
    if not places:
        return {}
    if snapshot.source is None:
        raise Refused("its rows come from scripts alone, so whether the collation matters is not known")
    for number, row in enumerate(snapshot.source.rows(table)):
        if number >= _MOST_ROWS:
            raise Refused(f"{table} has too many rows to see whether the collation matters")
        for place, name in places.items():
            if row[place] is not None:
                found[name].add(str(row[place]))
    return {name: frozenset(texts) for name, texts in found.items()}


def _held_texts(snapshot: Snapshot, table: str) -> dict[str, frozenset[str]]:
    """Return the texts of a table's columns by their names."""
    return _cached(snapshot.digest, table, Held(snapshot))

"""From one text to the plain facts every stage shares; the only place that reads a parser's tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from sqlassay.harness.parse.blocks import blocks_of
from sqlassay.harness.parse.constants import computed_of
from sqlassay.harness.parse.elements import elements_of
from sqlassay.harness.parse.exact_set import parts_of
from sqlassay.harness.parse.grammar import message, parse, spell, tokenize
from sqlassay.harness.parse.lexmap import lexmap, nesting
from sqlassay.harness.parse.order import order_facts
from sqlassay.harness.parse.published import published
from sqlassay.harness.parse.resolve import Resolver
from sqlassay.harness.parse.scope import folds_quoted, tables_of, written
from sqlassay.harness.parse.second import second_reading
from sqlassay.harness.parse.spelling import CHANGES, NONE, Spelled, head, names, plain, read
from sqlassay.harness.parse.written import numbers_written
from sqlassay.harness.results.parsed import SYNTAX_ERROR

PARSER = f"sqlglot {version('sqlglot')}"
MAX_DEPTH = 200
TOO_LARGE = "too large to parse"
"""The error of a text that takes more memory than the worker may have."""

_COPIED_DEPTH = 40
_ODBC = re.compile(r"(\{ ?(?:d|ts|t) ?)('[^'\\]*')( ?\})", re.IGNORECASE)
_EXPLAIN = re.compile(
    r"\s*explain\b(?P<options>(?:\s+(?:verbose|analy[sz]e|query\s+plan|extended|format\s*=\s*\w+)\b|\s*\([^()'\"`]*\))*)"
    r"\s*(?=\(|\b(?:select|with|values|table|insert|update|delete|merge|replace)\b)",
    re.IGNORECASE,
)


def facts_of(
    sql: str,
    dialect: str,
    tables: dict[str, list[str]] | None,
    *,
    keys: Sequence[Sequence[str]] = (),
    scope: str = "earlier",
    brief: bool = False,
    spellings: Spelled = NONE,
) -> dict[str, Any]:
    """Return the facts about one text as JSON values; whatever goes wrong becomes `error`.

    `brief` leaves out what only metrics and comparison read: normal forms, order and the text written anew.
    """
    facts: dict[str, Any] = {"parser": PARSER}
    if not brief and tables:
        # Before anything else: the published script reads some texts that no engine does.
        facts["published"] = published(sql, tables, keys)
    try:
        facts.update(_facts(sql, dialect, tables, scope=scope, brief=brief, spellings=spellings))
    except SqlglotError as error:
        facts["error"] = f"{SYNTAX_ERROR}: {message(error, sql)}"
    except RecursionError:
        facts["error"] = "nested too deep to parse"
    except MemoryError:
        facts["error"] = TOO_LARGE
    except Exception as error:  # noqa: BLE001 - the parser is a third party's: any fault of it is a fact about this text
        facts["error"] = f"the parser failed: {type(error).__name__}"
    return facts


def _facts(
    sql: str,
    dialect: str,
    tables: dict[str, list[str]] | None,
    *,
    scope: str,
    brief: bool,
    spellings: Spelled,
) -> dict[str, Any]:
    """Tokenise, measure, parse and read the tree of one text."""
    # A byte order mark is kept out of the parser and its place is kept, so that positions hold.
    text = " " + sql[1:] if sql.startswith("\ufeff") else sql
    # ODBC literals, {d '2024-01-01'}, are unknown to the parser: the bare string means the same to it.
    text = _ODBC.sub(lambda found: " " * len(found[1]) + found[2] + " " * len(found[3]), text)
    facts: dict[str, Any] = {}
    explained = _EXPLAIN.match(text)
    if explained:
        facts["explain"] = explained["options"].strip().lower()
        text, unread = " " * explained.end() + text[explained.end() :], (0, explained.end())
    else:
        text, unread = head(text, spellings.heads)
    given = tokenize(text, dialect)
    if spellings.escaped_names and 'u&"' in text.lower():
        given = names(given, text)
    facts["lexmap"] = _as_given(lexmap(text, given), sql, *unread)
    facts["depth"] = nesting(given)
    if facts["depth"] > MAX_DEPTH:
        return {**facts, "error": f"nested {facts['depth']} deep, more than {MAX_DEPTH}"}
    known = read(given, text, spellings, lambda words: tokenize(words, dialect))
    tokens = plain(known, spellings.rest, lambda words: tokenize(words, dialect))
    parsed = parse(tokens, text, dialect)
    # A comment after the last semicolon is a statement of its own to this parser.
    trees = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    facts["statements"] = len(trees)
    if not trees:
        return {**facts, "error": "no statement"}
    spelled = tokens is not known or (not explained and unread != (0, 0))
    if spelled and any(_root(tree).key not in CHANGES for tree in trees):
        return {**facts, "error": "it begins as a change and is read as none"}
    facts["rejected"] = [(tree.key, tree.sql(dialect=dialect)[:80]) for tree in trees if isinstance(tree, exp.Command)]
    facts["second"] = second_reading(sql, dialect)
    resolver = Resolver(tables, scope)
    facts |= _tree_facts(trees, dialect, scope, prefixes=spellings.prefixes)
    if not brief:
        facts |= _normal_facts(trees[0], text, known, dialect, resolver) | ({"processed_sql": sql} if spelled else {})
        facts |= elements_of(trees, tables)
        # Expressions are copied once a level: past these levels that takes longer than a metric is worth.
        facts["parts"] = parts_of(trees[0], tables or {}) if facts["depth"] <= _COPIED_DEPTH else None
    else:
        resolver.outputs(trees[0], {})
        resolver.resolve_rest(trees[0])
    return {**facts, "unresolved": [name for each in trees for name in resolver.unresolved(each)]}


def _as_given(letters: str, sql: str, start: int, end: int) -> str:
    """Return the lexmap with a part that was read otherwise marked as the code it is."""
    return letters[:start] + "".join(" " if each.isspace() else "c" for each in sql[start:end]) + letters[end:]


def _tree_facts(trees: list[exp.Expr], dialect: str, scope: str, *, prefixes: bool) -> dict[str, Any]:
    """Read what stands anywhere in the statements, and the kind of the first."""
    fold = folds_quoted(dialect)
    nodes = [node for tree in trees for node in tree.walk()]
    return {
        "root": _root(trees[0]).key,
        "nodes": sorted({node.key for node in nodes}),
        "functions": sorted({_function(node) for node in nodes if isinstance(node, exp.Func)} - {""}),
        "tables": [ref for tree in trees for ref in tables_of(tree, scope, fold=fold)],
        "written": [ref for tree in trees for ref in written(tree)],
        "literals": [node.name for node in nodes if isinstance(node, exp.Literal)],
        "types": sorted({_type(node) for node in nodes if isinstance(node, exp.DataType)} - {""}),
        "list_names": [name for node in nodes for name in _list_name(node, prefixes=prefixes)],
        "ctes": [cte.alias.lower() for cte in trees[0].find_all(exp.CTE)],
    }


def _normal_facts(tree: exp.Expr, text: str, tokens: list[Token], dialect: str, resolver: Resolver) -> dict[str, Any]:
    """Read the first statement's structure in normal form."""
    facts = _projections(tree, resolver, dialect) | _conditions(tree, resolver, dialect)
    facts["order"] = order_facts(tree, text, tokens, resolver, facts["output_names"], dialect)
    facts["processed_sql"] = spell(tree, dialect)
    facts["blocks"] = blocks_of(tree, resolver, dialect)
    facts["computed"] = computed_of(tree, resolver.tables)
    facts["numbers"] = numbers_written(tree)
    return facts


def _type(node: exp.DataType) -> str:
    """Return the name of a type the parser does not know, schema included; an empty text for one it knows."""
    if node.this is not exp.DType.USERDEFINED:
        return ""
    kind = node.args.get("kind")
    return str(kind.sql() if isinstance(kind, exp.Expr) else kind or "?").replace('"', "").lower()


def _list_name(node: exp.Expr, *, prefixes: bool) -> Iterator[str]:
    """Yield the name a node puts before a column list or, where an index takes `prefixes`, before a length."""
    if isinstance(node, exp.TableAlias) and node.args.get("columns"):
        yield node.name.lower()
    elif isinstance(node, (exp.Schema, exp.IndexColumnConstraint)) and isinstance(
        node.this, (exp.Table, exp.Identifier)
    ):
        yield node.this.name.lower()
    elif isinstance(node, exp.Index) and isinstance(node.args.get("table"), exp.Table):
        yield node.args["table"].name.lower()
    elif prefixes and (isinstance(node, exp.ColumnPrefix) or _is_prefix(node)):
        yield node.name.lower()


def _is_prefix(node: exp.Expr) -> bool:
    """Return True for a column of an index with a length, which looks like a call."""
    if not isinstance(node, exp.Anonymous) or len(node.expressions) != 1:
        return False
    length = node.expressions[0]
    around = node.parent.parent if isinstance(node.parent, exp.Ordered) else node.parent
    return isinstance(length, exp.Literal) and length.is_int and isinstance(around, exp.IndexParameters)


def _root(tree: exp.Expr) -> exp.Expr:
    """Return the statement inside outer parentheses."""
    while isinstance(tree, (exp.Subquery, exp.Paren)) and isinstance(tree.this, exp.Expr):
        tree = tree.this
    return tree


def _function(node: exp.Func) -> str:
    """Return a call's name; AND, CASE and CAST are grammar, not calls."""
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        return str(node.name).lower()
    if isinstance(node, (exp.And, exp.Or, exp.Case, exp.Cast, exp.If, exp.Array)):
        return ""
    return str(node.sql_name()).lower()


def _projections(tree: exp.Expr, resolver: Resolver, dialect: str) -> dict[str, Any]:
    """Return outermost projections and their names, and resolve every query of the tree on the way."""
    outputs = resolver.outputs(tree, {}) or []
    resolver.resolve_rest(tree)
    root = _root(tree)
    left = root
    while isinstance(left, (exp.SetOperation, exp.Subquery)):
        left = left.this
    limit = root.args.get("limit")
    return {
        "projections": [_text(column, dialect) for column in resolver.sides(tree, {})],
        "output_names": [name for name, _ in outputs],
        "distinct": bool(left.args.get("distinct")) and not isinstance(root, exp.SetOperation),
        "limit": None if limit is None else _text(limit.args.get("count") or limit.expression, dialect),
    }


def _text(node: exp.Expr | None, dialect: str) -> str:
    """Spell an expression in the one way facts are compared in."""
    return "" if node is None else spell(node, dialect)


def _conditions(tree: exp.Expr, resolver: Resolver, dialect: str) -> dict[str, Any]:
    """Return filters, joins, grouping and aggregates of the whole tree in normal form."""
    filters: list[str] = []
    joins: list[str] = []
    groups: list[str] = []
    for query in tree.find_all(exp.Select, exp.Update, exp.Delete):
        for clause in ("where", "having", "qualify"):
            _split(query.args.get(clause), "inner", filters, joins, resolver, dialect)
        for join in query.args.get("joins") or []:
            kind = " ".join(part.lower() for part in (join.side, join.kind) if part and part != "OUTER") or "inner"
            _split(join.args.get("on"), kind, filters, joins, resolver, dialect)
            joins.extend(f"{kind}: {name.name.lower()} = {name.name.lower()}" for name in join.args.get("using") or [])
        group = query.args.get("group")
        groups.extend(_group(key, query, resolver, dialect) for key in (group.expressions if group else ()))
    aggregates = [_text(resolver.normal(node), dialect) for node in tree.find_all(exp.AggFunc)]
    return {"filters": filters, "joins": joins, "group_by": groups, "aggregates": aggregates}


def _group(key: exp.Expr, query: exp.Expr, resolver: Resolver, dialect: str) -> str:
    """Return one GROUP BY key; an ordinal stands for its projection."""
    if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(query.expressions):
        key = query.expressions[int(key.name) - 1]
    return _text(resolver.normal(key, resolver.sources_of(query)), dialect)


def _split(
    clause: exp.Expr | None, kind: str, filters: list[str], joins: list[str], resolver: Resolver, dialect: str
) -> None:
    """Split a condition at AND and sort its parts into joins (what ties two sources) and filters."""
    if clause is None:
        return
    condition = clause.this if isinstance(clause, (exp.Where, exp.Having, exp.Qualify)) else clause
    for part in _conjuncts(condition):
        normal = resolver.normal(part)
        if isinstance(normal, exp.EQ):
            sides = sorted(
                (normal.left, normal.right), key=lambda side: (isinstance(side, exp.Literal), _text(side, dialect))
            )
            normal = exp.EQ(this=sides[0].copy(), expression=sides[1].copy())
        if _links(part, normal):
            joins.append(f"{kind}: {_text(normal, dialect)}")
        else:
            filters.append(_text(normal, dialect))


def _links(part: exp.Expr, normal: exp.Expr) -> bool:
    """Return True for a condition that ties two sources: column against column, or qualifiers of two sources."""
    if isinstance(normal, exp.Binary) and isinstance(normal.left, exp.Column) and isinstance(normal.right, exp.Column):
        return True
    if part.find(exp.Query) is not None:
        return False
    return len({column.table.lower() for column in part.find_all(exp.Column) if column.table}) > 1


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a chain of ANDs, without recursion."""
    stack = [condition]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.And):
            stack.extend((part.right, part.left))
        elif isinstance(part, exp.Paren):
            stack.append(part.this)
        else:
            yield part

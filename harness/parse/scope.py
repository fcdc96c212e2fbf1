"""Which names in a tree are tables, and which are only CTEs in sight at that place."""

from __future__ import annotations

import string
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

Ref = tuple[str, str | None, str | None, bool]
"""Name, schema, catalogue and whether the name was quoted."""

_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_READ_ANEW = frozenset({"earlier", "sealed"})
"""Scopes of engines that read a CTE's body anew at every use."""

_ARMS = (exp.Subquery, exp.SetOperation, exp.Paren)
_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_SCHEMA_WRITES = (exp.Create, exp.Alter, exp.Drop, exp.TruncateTable, exp.AlterRename, exp.Comment)


def folds_quoted(dialect: str) -> bool:
    """Return whether quoted names ignore case too; where they do not, "A" is another name than a."""
    return Dialect.get_or_raise(dialect).normalization_strategy is not NormalizationStrategy.LOWERCASE


def tables_of(tree: exp.Expr, scope: str, *, fold: bool) -> list[Ref]:
    """Return every physical table a tree can read, also those named by `x IN tab`; `scope` is the dialect's own."""
    found: set[Ref] = set()
    # Where a name may mean another CTE each time, or none, every name counts as the table it may be.
    sure = scope not in _READ_ANEW or not _captures(tree)
    for table in tree.find_all(exp.Table):
        name = table.this
        if table.arg_key == "indexed" or not isinstance(name, exp.Identifier):
            continue
        if _is_alias_target(table):
            continue
        if _is_target(table) or not sure or not _is_cte(table, name, scope, fold=fold):
            found.add((name.name.lower(), _part(table, "db"), _part(table, "catalog"), bool(name.args.get("quoted"))))
    for inside in tree.find_all(exp.In):
        field = inside.args.get("field")
        if isinstance(field, exp.Column) and not _is_cte(field, field.this, scope, fold=fold):
            found.add((field.name.lower(), field.table.lower() or None, field.db.lower() or None, False))
        elif isinstance(field, exp.Literal):
            found.add((field.name.lower(), None, None, True))
    for comment in tree.find_all(exp.Comment):
        column = comment.this
        if isinstance(column, exp.Column):
            found.add((column.table.lower(), column.db.lower() or None, column.catalog.lower() or None, False))
    return sorted(found, key=str)


def _part(table: exp.Table, key: str) -> str | None:
    """Return the lower-cased schema or catalogue of a table, None where it has none."""
    part = table.args.get(key)
    return part.name.lower() if isinstance(part, exp.Expr) and part.name else None


def _captures(tree: exp.Expr) -> bool:
    """Return True where a CTE's body names what an inner WITH, that may use this CTE, gives another meaning.

    MySQL reads a CTE's body anew at every use and looks its names up from there.
    """
    owners: dict[str, list[exp.Expr]] = {}
    for cte in tree.find_all(exp.CTE):
        if (owner := _owner(cte)) is not None:
            owners.setdefault(cte.alias.casefold(), []).append(owner)
    for table in tree.find_all(exp.Table):
        for owner in owners.get(table.name.casefold(), ()):
            around = list(_above(table))
            users = [_owner(node) for node in around if isinstance(node, exp.CTE)]
            if not any(node is owner for node in around) and any(_within(owner, user) for user in users):
                return True
    return False


def _owner(cte: exp.CTE) -> exp.Expr | None:
    """Return the query or statement whose WITH has this CTE."""
    return None if cte.parent is None else cte.parent.parent


def _within(node: exp.Expr, query: exp.Expr | None) -> bool:
    """Return True where a node is inside a query, not the query itself."""
    return any(above is query for above in _above(node))


def _above(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes around a node, the nearest first."""
    while node.parent is not None:
        node = node.parent
        yield node


def written(tree: exp.Expr) -> list[tuple[str, str | None]]:
    """Return name and schema of every table a statement changes, makes, renames or drops."""
    targets = [
        table
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier) and (_is_target(table) or _is_schema_target(table))
    ]
    return sorted({(table.name.lower(), _part(table, "db")) for table in targets}, key=str)


def _is_schema_target(table: exp.Table) -> bool:
    """Return True for a table that a statement of the schema is about."""
    node: exp.Expr = table
    while isinstance(node.parent, (exp.Schema, exp.Index)):
        node = node.parent
    return isinstance(node.parent, _SCHEMA_WRITES) and node.arg_key in {"this", "expressions", "tables"}


def _is_alias_target(table: exp.Table) -> bool:
    """Return True where a DELETE names what it deletes from by an alias that its own sources give."""
    delete = table.parent
    if not isinstance(delete, exp.Delete) or table.arg_key not in {"this", "tables"} or table.args.get("db"):
        return False
    sources = [delete.args.get("this"), *(delete.args.get("using") or ())]
    named = [source for source in sources if isinstance(source, exp.Table) and source is not table]
    joined = [join.this for source in named for join in source.args.get("joins") or ()]
    return any(isinstance(each, exp.Table) and each.alias and each.alias == table.name for each in (*named, *joined))


def _is_target(table: exp.Table) -> bool:
    """Return True for the table a statement writes to: never a CTE, whatever WITH says."""
    node = table.parent if isinstance(table.parent, exp.Schema) else table
    return isinstance(node.parent, _WRITES) and node.arg_key in {"this", "tables"}


def _is_cte(node: exp.Expr, name: exp.Expr, scope: str, *, fold: bool) -> bool:
    """Return True where the name surely means a CTE in sight at this place; in doubt it is a table."""
    if node.args.get("db") is not None or node.args.get("table") is not None:
        return False
    wanted = _spelling(name, fold=fold)
    return any(
        _spelling(cte.args["alias"].this, fold=fold) == wanted
        for cte in _in_sight(node, scope)
        if cte.args.get("alias")
    )


def _spelling(name: exp.Expr, *, fold: bool) -> str:
    """Return a name as the engine compares it: only ASCII letters are the same in both cases to every engine."""
    return name.name if name.args.get("quoted") and not fold else name.name.translate(_SMALL)


def _in_sight(node: exp.Expr, scope: str) -> Iterator[exp.CTE]:
    """Yield the CTEs a node may refer to: those of enclosing queries and, inside a CTE, those its dialect shows it."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With) and isinstance(child, exp.CTE):
            yield from _siblings(parent, child, node, scope)
            if scope == "sealed":
                return
            child, parent = parent, parent.parent
        else:
            with_ = parent.args.get("with_")
            if with_ is not None and with_ is not child and not (scope in _READ_ANEW and _overruled(parent)):
                yield from with_.expressions
        if parent is not None:
            child, parent = parent, parent.parent


def _siblings(with_: exp.With, cte: exp.CTE, node: exp.Expr, scope: str) -> list[exp.CTE]:
    """Return the CTEs of one WITH that a node in the body of one of them sees."""
    recursive = bool(with_.args.get("recursive"))
    if scope == "all" or (scope == "recursive" and recursive):
        return list(with_.expressions)
    # Identity, not equality: two CTEs may have the same text.
    place = next(index for index, each in enumerate(with_.expressions) if each is cte)
    itself = recursive and (scope != "anchored" or _repeats(cte, node))
    return list(with_.expressions[: place + 1 if itself else place])


def _repeats(cte: exp.CTE, node: exp.Expr) -> bool:
    """Return True for a node in the part of a CTE that is run again: the right arm of its body's own UNION."""
    body = cte.this
    while isinstance(body, (exp.Subquery, exp.Paren)) and isinstance(body.this, exp.Expr):
        body = body.this
    arm = body.args.get("expression") if isinstance(body, exp.Union) else None
    while node is not cte and node.parent is not None:
        if node is arm:
            return True
        node = node.parent
    return False


def _overruled(query: exp.Expr) -> bool:
    """Return True where an arm of a query expression has a WITH of its own, which MySQL puts in its place."""
    arms = [query]
    while arms:
        arm = arms.pop()
        if arm is not query and arm.args.get("with_") is not None:
            return True
        if isinstance(arm, _ARMS):
            arms.extend(part for part in (arm.this, arm.args.get("expression")) if isinstance(part, exp.Expr))
    return False

"""Which names in a tree are tables, and which are only CTEs in sight at that place."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

Ref = tuple[str, str | None, str | None, bool]
"""Name, schema, catalogue and whether the name was quoted."""


def folds_quoted(dialect: str) -> bool:
    """Return whether quoted names ignore case too; where they do not, "A" is another name than a."""
    return Dialect.get_or_raise(dialect).normalization_strategy is not NormalizationStrategy.LOWERCASE


def tables_of(tree: exp.Expr, *, fold: bool) -> list[Ref]:
    """Return every physical table a tree can read, also those named by `x IN tab`."""
    found: set[Ref] = set()
    for table in tree.find_all(exp.Table):
        name = table.this
        if isinstance(name, exp.Identifier) and not _is_cte(table, name, fold=fold) and table.arg_key != "indexed":
            found.add((name.name.lower(), _part(table, "db"), _part(table, "catalog"), bool(name.args.get("quoted"))))
    for inside in tree.find_all(exp.In):
        field = inside.args.get("field")
        if isinstance(field, exp.Column) and not _is_cte(field, field.this, fold=fold):
            found.add((field.name.lower(), field.table.lower() or None, field.db.lower() or None, False))
        elif isinstance(field, exp.Literal):
            found.add((field.name.lower(), None, None, True))
    return sorted(found, key=str)


def _part(table: exp.Table, key: str) -> str | None:
    """Return the lower-cased schema or catalogue of a table, None where it has none."""
    part = table.args.get(key)
    return part.name.lower() if isinstance(part, exp.Expr) and part.name else None


def _is_cte(node: exp.Expr, name: exp.Expr, *, fold: bool) -> bool:
    """Return True where the name surely means a CTE in sight at this place; in doubt it is a table."""
    if node.args.get("db") is not None or node.args.get("table") is not None:
        return False
    wanted = _spelling(name, fold=fold)
    return any(
        _spelling(cte.args["alias"].this, fold=fold) == wanted for cte in _in_sight(node) if cte.args.get("alias")
    )


def _spelling(name: exp.Expr, *, fold: bool) -> str:
    """Return a name as the engine compares it."""
    return name.name if name.args.get("quoted") and not fold else name.name.lower()


def _in_sight(node: exp.Expr) -> Iterator[exp.CTE]:
    """Yield the CTEs a node may refer to: those of enclosing queries, and only earlier ones from inside a CTE."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With) and isinstance(child, exp.CTE):
            ctes = parent.expressions
            # Identity, not equality: two CTEs may have the same text.
            place = next(index for index, cte in enumerate(ctes) if cte is child)
            yield from ctes if parent.args.get("recursive") else ctes[:place]
            child, parent = parent, parent.parent
        else:
            with_ = parent.args.get("with_")
            if with_ is not None and with_ is not child:
                yield from with_.expressions
        if parent is not None:
            child, parent = parent, parent.parent

"""Hold two readings of one text against each other: what a second parser sees and the first does not is rejected."""

from __future__ import annotations

from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.harness.results.parsed import ParsedQuery, SecondReading

_KINDS = {
    "insert": {"InsertStmt"},
    "update": {"UpdateStmt"},
    "delete": {"DeleteStmt"},
    "merge": {"MergeStmt"},
    "create": {"CreateStmt", "ViewStmt", "IndexStmt", "CreateTableAsStmt"},
    "drop": {"DropStmt"},
    "alter": {"AlterTableStmt", "RenameStmt"},
    "truncatetable": {"TruncateStmt", "RefreshMatViewStmt"},
    "comment": {"CommentStmt"},
}
"""The second parser's statement kinds by the first one's node."""

_GRAMMAR = frozenset({"pg_catalog.similar_to_escape", "pg_catalog.like_escape"})
"""Calls that SIMILAR TO and ESCAPE become; written out, they are rejected for their schema."""


def disagreement(
    parsed: ParsedQuery, rules: GrammarRules, allowed: frozenset[str] = frozenset()
) -> tuple[str, str] | None:
    """Return why the two readings differ and the node, None where they agree or there is one only.

    `allowed` are the snapshot's functions that the pack allows, as they may be spelled.
    """
    second = parsed.second
    if second is None:
        return None
    if second.error is not None:
        return f"the engine's own grammar refuses it: {second.error}", "syntax_error"
    if second.statements != parsed.statements:
        return f"two parsers count {parsed.statements} and {second.statements} statements", "disagreement"
    if unseen := sorted(second.kinds - _expected(parsed)):
        return f"a second parser sees '{unseen[0]}'", "disagreement"
    if unseen := sorted(second.calls - rules.functions - allowed - _GRAMMAR):
        return f"a second parser sees a call of '{unseen[0]}'", "disagreement"
    if unseen := _unseen_tables(parsed, second):
        return f"a second parser sees the table '{unseen[0]}'", "disagreement"
    return None


def _expected(parsed: ParsedQuery) -> frozenset[str]:
    """Return the statement kinds that the first reading accounts for."""
    kinds = {"SelectStmt"} | ({"ExplainStmt"} if parsed.explain is not None else set())
    return frozenset(kinds.union(*(_KINDS[node] for node in parsed.nodes & _KINDS.keys())))


def _unseen_tables(parsed: ParsedQuery, second: SecondReading) -> list[str]:
    """Return the tables only the second parser sees; a bare name may be a CTE's."""
    seen = {(table.name, table.schema or "") for table in parsed.tables}
    ctes = {(name, "") for name in parsed.ctes}
    return sorted(name for name, _ in second.tables - seen - ctes)

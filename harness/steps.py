"""Every SQL text an agent tells of in its steps, past the guard: what it attempted, and what it executed.

The steps are the agent's own account of tools it called on connections of its own; nothing here runs. A statement is
looked for in every argument of a step, in any shape: fields, lists, JSON in text, an answer with a statement in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlassay.cases.case import STATEMENT_FIELDS
from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.dialect_adapters.wordlist import words
from sqlassay.harness.answer import read_answer

MOST = 200
"""So many statements of one answer's steps are guarded; what is beyond is told, not guarded."""

_NAMED = ("tool_name", "tool", "name", "action", "function")
_SAID = words(
    """result results output outputs observation observations response rows data columns error errors exception
    message messages content thought thoughts reasoning plan question description log logs stdout stderr answer summary
    type id role status success schema ddl"""
)
"""The fields of a step that tell what came back or was thought: what stands there was not asked for."""

_STATEMENTS = frozenset(
    {*STATEMENT_FIELDS, *words("statement statements stmt queries sqls command commands code script q")}
)
_CHECKS = re.compile(r"check|valid|explain|lint|format|parse|plan|draft|review|list_tables|schema", re.IGNORECASE)
_SQL_TOOL = re.compile(r"sql|query|execut|database|\bdb|_db|statement", re.IGNORECASE)
_FAILED = words("error failed failure blocked rejected denied refused cancelled canceled timeout exception")
_DEEPEST = 12

Found = tuple[int, str, str, bool, bool]
"""Number of the step from 1, its tool, the statement, whether it was executed, whether it is surely meant as SQL."""


def statements(steps: Sequence[Mapping[str, Any]], rules: GrammarRules) -> Iterator[Found]:
    """Yield every statement in the arguments of the steps, each once a step."""
    for number, step in enumerate(steps, 1):
        tool = _tool(step)
        executed = _ran(step) and _CHECKS.search(tool) is None
        seen = set[str]()
        for text, named in _texts(step, named=False, depth=0):
            sql = read_answer(text, rules).sql
            if sql is None or not sql.strip() or sql in seen:
                continue
            seen.add(sql)
            yield number, tool, sql, executed, named or _SQL_TOOL.search(tool) is not None


def _tool(step: Mapping[str, Any]) -> str:
    """Return the name of the tool a step called, that of a function inside it too."""
    for name in _NAMED:
        value = step.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            return str(value["name"])
    return ""


def _ran(step: Mapping[str, Any]) -> bool:
    """Return whether a step is not told to have failed: by itself, or by what came back."""
    told = [step, *(step[name] for name in ("result", "output", "observation", "response") if name in step)]
    for each in told:
        if isinstance(each, dict):
            if each.get("success") is False or each.get("ok") is False or each.get("error"):
                return False
            if each.get("blocked") is True or each.get("executed") is False:
                return False
            status = each.get("status")
            if isinstance(status, str) and status.lower() in _FAILED:
                return False
    return True


def _texts(value: Any, *, named: bool, depth: int) -> Iterator[tuple[str, bool]]:
    """Yield every text of a step's arguments, and whether a field that holds statements names it."""
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        inner = _json(value)
        if inner is None:
            yield value, named
        else:
            yield from _texts(inner, named=named, depth=depth + 1)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            field = str(name).lower()
            if field not in _SAID and not (depth == 0 and field in _NAMED and isinstance(each, str)):
                yield from _texts(each, named=named or field in _STATEMENTS, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, named=named, depth=depth + 1)


def _json(text: str) -> Any:
    """Return the object or list that a text holds, None where it holds none."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None

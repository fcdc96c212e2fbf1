"""Guess which column of a table is the question, the gold, the prediction …: by its name, and by what stands in it.

A guess is always told, and where two columns fit alike there is none: the user names one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlassay.cases.errors import InputError
from sqlassay.cases.tables import SHEET, Table

DIALECTS = {
    "sqlite": "sqlite",
    "sqlite3": "sqlite",
    "postgres": "postgres",
    "postgresql": "postgres",
    "pg": "postgres",
    "mysql": "mysql",
    "mariadb": "mariadb",
    "duckdb": "duckdb",
}
"""How columns and files spell the dialects."""

_GOLD = (
    ("gold", "gold_sql", "golden_sql", "sql_gold", "gold_query", "golden_query", "reference_sql", "sql_reference"),
    ("ground_truth_sql", "ground_truth", "ground_truth_query", "reference_query", "reference", "expected_sql"),
    ("expected", "expected_query", "correct_sql", "target_sql", "target", "label_sql", "solution_sql", "golden"),
    ("sql", "query", "sql_query", "query_sql", "statement", "sql_statement", "solution", "answer_sql", "sqls"),
    ("answer", "output", "label", "completion", "response"),
)
_PREDICTION = (
    ("predicted_sql", "prediction", "predicted", "pred_sql", "sql_pred", "pred", "predicted_query", "pred_query"),
    ("generated_sql", "generated", "generated_query", "model_sql", "agent_sql", "candidate_sql", "sql_prediction"),
)
_STATEMENT = (
    *_PREDICTION,
    ("sql", "query", "sql_query", "query_sql", "statement", "sql_statement", "sqls"),
    ("answer", "output", "completion", "response", "answer_sql", "result", "text"),
)
_NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "id": (
        ("case_id", "caseid", "case", "prompt_id"),
        ("id", "question_id", "questionid", "qid", "query_id", "instance_id", "example_id", "test_id", "uid", "key"),
        ("nr", "no", "number", "num"),
    ),
    "row": (("", "index", "idx", "row", "row_id", "row_number", "unnamed_0"),),
    "question": (
        ("question", "nl_question", "natural_language_question", "user_question", "nlq", "nl_query", "utterance"),
        ("nl_prompt", "prompt", "natural_language", "nl", "question_text", "user_query", "ask", "request"),
        ("query", "text", "input", "instruction", "page_content", "description"),
    ),
    "gold": _GOLD,
    "prediction": _PREDICTION,
    "sql": _STATEMENT,
    "database": (("db_id", "db", "db_name", "database", "database_id", "database_name", "dbname"),),
    "evidence": (("evidence", "hint", "hints", "external_knowledge", "knowledge", "instructions"),),
    "difficulty": (("difficulty", "hardness", "complexity"),),
    "tags": (("tags", "tag", "category", "query_category"),),
    "dialect": (("dialect", "db_type", "engine"),),
    "query_type": (("query_type",),),
    "order_required": (("order_required", "ordered"),),
    "trial": (("trial", "trial_index"),),
    "route": (("route",),),
    "tokens": (("tokens",),),
    "cost": (("cost",),),
}
_SQL = {"gold", "prediction", "sql"}
_STARTS = re.compile(
    r"(?is)\s*(?:```\w*\s*|--[^\n]*\n\s*|/\*.*?\*/\s*|\(\s*)*"
    r"(select|with|insert|update|delete|merge|create|alter|drop|values|table|pragma|explain|replace|from)\b"
)
_INSIDE = re.compile(r"(?is)\bselect\b.+\bfrom\b")
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Guess:
    """Which column plays which role, gold per dialect where columns are named so, and what is not used."""

    columns: Mapping[str, str]
    gold: Mapping[str, str]
    unused: tuple[str, ...]

    def told(self, table: Table) -> str:
        """Return the guess in one line."""
        pairs = [f"{role} = {_shown(column)}" for role, column in self.columns.items()]
        pairs += [f"gold ({dialect}) = {_shown(column)}" for dialect, column in self.gold.items()]
        unused = f"; not used: {', '.join(map(_shown, self.unused))}" if self.unused else ""
        how = f" ({table.told})" if table.told else ""
        return f"{table.path.name}{how}: {', '.join(pairs)}{unused}"


def guess(table: Table, wanted: Sequence[str], needed: Sequence[str], named: Mapping[str, str] | None = None) -> Guess:
    """Return which columns play the wanted roles; `named` are those a person chose.

    Raises:
        InputError: a needed role that no column plays, two columns that fit one alike, or a name that is no column.
    """
    chosen = {role: column for role, column in (named or {}).items() if role != SHEET}
    dialects = {role.removeprefix("gold."): name for role, name in chosen.items() if role.startswith("gold.")}
    found = {role: column for role, column in chosen.items() if not role.startswith("gold.")}
    for role, column in chosen.items():
        if role.partition(".")[0] not in wanted or column not in table.columns:
            what = "role" if role.partition(".")[0] not in wanted else "column"
            known = wanted if what == "role" else [_shown(name) for name in table.columns]
            name = role if what == "role" else column
            raise InputError(f"no {what} '{name}'", file=table.path, line=1, remedy=f"{what}s: {', '.join(known)}")
    looks = {column: _looks(table, column) for column in table.columns}
    if "gold" in wanted and "gold" not in found and not dialects:
        dialects = _by_dialect(table, looks)
    for role in wanted:
        if role in found or (role == "gold" and dialects):
            continue
        taken = {*found.values(), *dialects.values()}
        free = [name for name in table.columns if name not in taken]
        fits = _named(table, role, free, looks, needed=role in needed)
        if fits is not None:
            found[role] = fits
    for role in needed:
        if role not in found and not (role == "gold" and dialects):
            free = [name for name in table.columns if name not in (*found.values(), *dialects.values())]
            only = _by_content(role, free, looks)
            if only is None:
                raise _missing(table, role)
            found[role] = only
    used = {*found.values(), *dialects.values()}
    return Guess(found, dialects, tuple(name for name in table.columns if name not in used and name))


def plain(name: str) -> str:
    """Return a column's name as the lists above spell it."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def _shown(column: str) -> str:
    """Return a column's name as it is shown."""
    return column if re.fullmatch(r"[\w.-]+", column) else f"'{column}'"


def _looks(table: Table, column: str) -> str:
    """Return what stands in a column: mostly `sql`, mostly `text` of several words, `other`, or nothing at all."""
    cells = [row.cells.get(column) for row in table.rows[:_LOOKED_AT]]
    filled = [cell for cell in cells if cell is not None]
    if not filled:
        return ""
    texts = [_first_text(cell) for cell in filled]
    sql = sum(isinstance(text, str) and (_STARTS.match(text) or _INSIDE.search(text)) is not None for text in texts)
    words = sum(isinstance(text, str) and (" " in text.strip() or text.strip().endswith("?")) for text in texts)
    return "sql" if sql * 2 > len(filled) else "text" if words * 2 > len(filled) else "other"


def _first_text(cell: object) -> object:
    """Return the first of several alternatives, also by dialect."""
    while isinstance(cell, list | tuple | dict):
        cell = next(iter(cell.values() if isinstance(cell, dict) else cell), "")
    return cell


def _by_dialect(table: Table, looks: Mapping[str, str]) -> dict[str, str]:
    """Return the gold columns that are named after dialects: `postgres`, `gold_sqlite`, `mysql_sql`."""
    found: dict[str, str] = {}
    words = {word for tier in _GOLD for word in tier}
    for column in table.columns:
        dialect: str | None
        parts = plain(column).split("_")
        for end in ("first", "last"):
            dialect = DIALECTS.get(parts[0] if end == "first" else parts[-1])
            rest = "_".join(parts[1:] if end == "first" else parts[:-1])
            if dialect and (not rest or rest in words) and looks[column] in ("sql", "") and dialect not in found:
                found[dialect] = column
                break
    return found


def _named(table: Table, role: str, columns: Sequence[str], looks: Mapping[str, str], *, needed: bool) -> str | None:
    """Return the column whose name says that it plays a role, and whose cells do not speak against it."""
    for strict in (True, False):
        for tier in _NAMES[role]:
            # A name that can only mean a prediction wins whatever stands in it: beside it `query` is the gold.
            close = strict and tier not in _PREDICTION
            fitting = [name for name in columns if plain(name) in tier and _fits(role, looks[name], strict=close)]
            fitting.sort(key=lambda name: tier.index(plain(name)))
            if len(fitting) > 1 and needed and not _same(table, fitting):
                raise _several(table, role, fitting)
            if fitting:
                return fitting[0]
    return None


def _same(table: Table, columns: Sequence[str]) -> bool:
    """Return whether columns hold the same in every row, so that it matters nothing which is taken."""
    return all(len({str(row.cells.get(name)) for name in columns}) == 1 for row in table.rows)


def _fits(role: str, look: str, *, strict: bool) -> bool:
    """Return whether what stands in a column can play a role; an empty column can play any.

    An agent's answer may be a sentence with its statement somewhere inside: not strictly, its name alone decides.
    """
    if role in _SQL:
        return look in ("sql", "") or (role != "gold" and not strict)
    return look != "sql" if role in ("question", "id", "row", "evidence") else True


def _by_content(role: str, columns: Sequence[str], looks: Mapping[str, str]) -> str | None:
    """Return the one column whose cells alone say that it plays a role."""
    look = "sql" if role in _SQL else "text" if role == "question" else None
    fitting = [name for name in columns if look is not None and looks[name] == look]
    return fitting[0] if len(fitting) == 1 else None


def _several(table: Table, role: str, fitting: Sequence[str]) -> InputError:
    """Return the error of a role that two columns fit alike."""
    message = f"columns {' and '.join(_shown(name) for name in fitting)} both fit '{role}'"
    remedy = f"Name one: {table.path.name}#{role}={fitting[0]}"
    return InputError(message, file=table.path, line=1, field=role, remedy=remedy)


def _missing(table: Table, role: str) -> InputError:
    """Return the error of a table without a column for a role."""
    listed = ", ".join(_shown(name) for name in table.columns) or "none"
    remedy = f"Name one: {table.path.name}#{role}=COLUMN, of {listed}"
    return InputError(f"no column is clearly the {role}", file=table.path, line=1, field=role, remedy=remedy)

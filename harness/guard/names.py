"""Judge names: tables against the catalogue, calls against the function list, words against what is denied."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from sqlassay.cases.catalog import Catalog, CatalogRoutine
from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.dialect_adapters.wordlist import words
from sqlassay.harness.guard.lexer import Token
from sqlassay.harness.results.parsed import ParsedQuery

_LAST = "\uffff"
"""The last character that every engine takes in a name without quotes."""

_INDEXES = words("btree hash gin gist brin spgist")
_PARTITIONS = words("range list hash")

Trouble = tuple[str, str]
"""Why a name is rejected, and the kind of thing that decided."""


class Names:
    """What a statement may name: the catalogue (or, without one, everything but the system's own) and the rules."""

    def __init__(
        self,
        rules: GrammarRules,
        catalog: Catalog | None,
        visible: frozenset[str] | None,
        extra: frozenset[str] = frozenset(),
    ) -> None:
        """Keep the sources; names are collected when first asked for."""
        self.rules = rules
        self.catalog = catalog
        self.visible = None if visible is None else frozenset(name.lower() for name in visible)
        self.extra = extra

    def with_tables(self, parsed: ParsedQuery) -> Names:
        """Return the same names and those of the tables a CREATE makes."""
        return Names(self.rules, self.catalog, self.visible, frozenset(table.name for table in parsed.tables))

    @cached_property
    def tables(self) -> dict[str, str | None]:
        """Return the catalogue's tables with their schema."""
        tables = self.catalog.tables if self.catalog is not None else ()
        return {table.name.lower(): table.schema_name for table in tables}

    @cached_property
    def twins(self) -> frozenset[str]:
        """Return the names that several tables have but for the case of their letters."""
        counts = Counter(table.name.lower() for table in (self.catalog.tables if self.catalog is not None else ()))
        return frozenset(name for name, count in counts.items() if count > 1)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Return the names of all columns."""
        tables = self.catalog.tables if self.catalog is not None else ()
        return frozenset(column.name.lower() for table in tables for column in table.columns)

    @cached_property
    def types(self) -> frozenset[str]:
        """Return the types of the catalogue's columns, with and without their schema."""
        tables = self.catalog.tables if self.catalog is not None else ()
        declared = {column.declared.replace('"', "").lower() for table in tables for column in table.columns}
        bare = {name.split("(", 1)[0].removesuffix("[]").strip() for name in declared}
        return frozenset(bare | {name.rsplit(".", 1)[-1] for name in bare})

    @cached_property
    def routines(self) -> dict[str, tuple[CatalogRoutine, ...]]:
        """Return the snapshot's routines by name."""
        found: dict[str, tuple[CatalogRoutine, ...]] = {}
        for routine in self.catalog.routines if self.catalog is not None else ():
            name = routine.name.lower()
            found[name] = (*found.get(name, ()), routine)
        return found

    @cached_property
    def shadows(self) -> frozenset[str]:
        """Return the names that a script's own routines may take over; an extension's overloads take none over.

        An extension may add its types to `max` or `replace`; what it adds the login still cannot call.
        """
        return frozenset(name for name, found in self.routines.items() if not all(one.extension for one in found))

    @cached_property
    def allowed_calls(self) -> frozenset[tuple[str | None, str]]:
        """Return (schema written or None, name) of the calls that reach exactly the functions the pack allows.

        A spelling that may also reach a function which is not allowed is none of them: one that differs in case alone,
        or the engine's own of that name.
        """
        places: dict[tuple[str, str], bool] = {}
        for name, routines in self.routines.items():
            for routine in routines:
                if routine.callable:
                    place = ((routine.schema_name or "").lower(), name)
                    places[place] = places.get(place, True) and routine.allowed
        database = frozenset() if self.catalog is None else frozenset({self.catalog.database.lower()})
        homes = self.rules.default_schemas or database
        allowed = [place for place, every in places.items() if every]
        if not allowed:  # most packs: the engine's own names, thousands, need not be looked through
            return frozenset()
        engines = self.rules.known_functions - self.rules.functions
        bare = [name for schema, name in allowed if schema in homes and name not in engines]
        return frozenset({*allowed, *((None, name) for name in bare)})

    @cached_property
    def allowed_spellings(self) -> frozenset[str]:
        """Return the allowed calls as text."""
        return frozenset(name if schema is None else f"{schema}.{name}" for schema, name in self.allowed_calls)

    def known(self, name: str) -> bool:
        """Return True for a table or column of the catalogue."""
        return name in self.tables or name in self.columns or name in self.extra


def table_trouble(name: str, schema: str | None, names: Names) -> Trouble | None:
    """Say why a table may not be read, None where it may."""
    rules = names.rules
    full = name if schema is None else f"{schema}.{name}"
    system = schema in rules.system_schemas or (name.startswith(rules.system_prefixes) and name not in names.tables)
    if full in rules.visible_system_tables and not (system and names.visible is not None):
        return None
    if system:
        return f"'{full}' belongs to the system", "table"
    if rules.file_tables and name not in names.tables and re.search(rules.file_tables, full):
        return f"'{full}' may be a file", "table"
    if names.catalog is None and not (schema or "").isascii():
        return f"'{full}' may fold to a schema of the system", "table"
    if names.catalog is None:
        return None if names.visible is None or name in names.visible else (f"'{full}' is not visible", "table")
    own = {names.tables.get(name), names.catalog.database.lower(), *rules.default_schemas}
    if schema is not None and schema not in own:
        return f"'{full}' is outside this database", "table"
    if name not in names.tables:
        return f"'{full}' is no table of this snapshot", "unknown_table"
    # Of two tables that differ in case alone maybe one is visible; which of them a text means is the engine's to say.
    if names.visible is not None and (name not in names.visible or name in names.twins):
        return f"'{full}' is not visible to this case", "table"
    return None


def type_trouble(types: Sequence[str], names: Names) -> Trouble | None:
    """Say which type a cast may not name: one of the snapshot's own can run code, so its columns must have it."""
    rules = names.rules
    for name in types if rules.types else ():
        schema, _, bare = name.rpartition(".")
        if bare in rules.types and schema in {"", *rules.system_schemas}:
            continue
        if names.catalog is None and not schema:
            continue
        if names.catalog is None or bare not in names.types or schema not in {"", *rules.default_schemas}:
            return f"'{name}' is no type of this snapshot's columns", "type"
    return None


def _aliases(tokens: Sequence[Token], ctes: Sequence[str]) -> frozenset[str]:
    """Return the names outside ASCII that AS or WITH gives and that every engine and the parser read alike.

    That is so for letters without marks: none is a blank or a sign to anyone, and no parser makes a keyword of it by
    raising it to capitals. Whether an engine folds capitals does not matter where a name is always spelled the same.
    """
    pairs = zip(tokens, tokens[1:], strict=False)
    given = {name.text for before, name in pairs if before.text == "as" and before.kind == "word"} | set(ctes)
    spelled: dict[str, set[str]] = {}
    for token in tokens:
        if token.kind == "word" and token.text in given and not token.spelled.isascii():
            spelled.setdefault(token.text, set()).add(token.spelled)
    return frozenset(text for text, ways in spelled.items() if len(ways) == 1 and _plain_letters(*ways))


def _plain_letters(name: str) -> bool:
    """Return True where every character outside ASCII is one letter in either case, and some stay outside ASCII."""
    letters = [character for character in name if not character.isascii()]
    plain = all(
        letter.isalpha() and letter <= _LAST and len(letter.lower()) == 1 and not letter.lower().isascii()
        for letter in letters
    )
    return plain and not name.upper().isascii() and unicodedata.is_normalized("NFKC", name)


def word_trouble(tokens: Sequence[Token], names: Names, ctes: Sequence[str] = ()) -> Trouble | None:
    """Say which word is denied wherever it stands, None where none is."""
    rules = names.rules
    aliases = _aliases(tokens, ctes)
    for index, token in enumerate(tokens):
        if token.kind not in {"word", "name"}:
            continue
        text = token.text
        if text in rules.system_schemas and [each.text for each in tokens[max(0, index - 2) : index]] == [
            "operator",
            "(",
        ]:
            continue  # the engine's own operator, by its whole name; `rejected_text` has no other schema there
        known = text in aliases or names.known(text)
        # A sign outside ASCII whose small letter is an ASCII one (the kelvin) is another name to the engine.
        if token.kind == "word" and not token.spelled.isascii() and (text.isascii() or not known):
            return f"'{text}' is not ASCII and names nothing in the catalogue", "text"
        denied = text in rules.denied_words or (rules.system_prefixes and text.startswith(rules.system_prefixes))
        if denied and text not in rules.visible_system_tables | rules.functions and not names.known(text):
            return f"'{text}' reaches the system", "word"
    return None


def notation_trouble(unresolved: Sequence[str], names: Names) -> Trouble | None:
    """Say which `value.name` calls a function that is not allowed, None where none does.

    A name that neither a column nor a function answers to is a slip, which the engine names better.
    """
    rules = names.rules
    if not rules.functional_notation:
        return None
    for written in unresolved:
        name = written.rpartition(".")[2]
        own = name in names.routines and (name in names.shadows or name not in rules.functions)
        # The first format of catalogues told of no routines.
        untold = names.catalog is not None and names.catalog.format == 1 and name not in rules.functions
        if own or untold or name in rules.functional_notation:
            return f"'{written}' is no known column and may call a function", "functional_notation"
    return None


def _call(name: str, names: Names, *, qualified: bool) -> Trouble:
    """Say why a call is rejected; one of a function the engine does not have is a slip, not a danger."""
    rules = names.rules
    if name in names.routines:
        return (
            f"'{name}' is {_described(names.routines[name])} of this snapshot, which the pack does not allow",
            "function",
        )
    if qualified:
        return f"'{name}' is called by a qualified name", "function"
    if rules.known_functions and name not in rules.known_functions | rules.functions:
        return f"'{name}' is no function of this engine", "unknown_function"
    return f"'{name}' is not on the function list", "function"


def _is_method(tokens: Sequence[Token], index: int) -> bool:
    """Return True for the method of an index or of partitions, a word of the grammar at that place alone."""
    before = [token.text for token in tokens[max(0, index - 2) : index]]
    word = tokens[index]
    return word.kind == "word" and (
        (word.text in _INDEXES and before[-1:] == ["using"])
        or (word.text in _PARTITIONS and before == ["partition", "by"])
    )


def _described(routines: Sequence[CatalogRoutine]) -> str:
    """Say what a name of the snapshot's routines calls, the most dangerous first."""
    worst = max(routines, key=lambda routine: (routine.security_definer, routine.volatility))
    kind = "trigger function" if worst.kind == "trigger" else worst.kind
    owner = " that runs with its owner's rights" if worst.security_definer else ""
    return f"{'an' if kind == 'aggregate' else 'a'} {kind}{owner}"


def _schema(tokens: Sequence[Token], index: int) -> str | None:
    """Return the one schema that a called name is written with, None where there is none or more before it."""
    if index < 2 or not _dot(tokens[index - 1]) or tokens[index - 2].kind not in {"word", "name"}:
        return None
    return None if index > 2 and _dot(tokens[index - 3]) else tokens[index - 2].text


def _is_of_value(tokens: Sequence[Token], index: int, names: Names) -> bool:
    """Return True for a call `value.f()`, whose value is no schema or database by its name."""
    if not names.rules.method_calls:
        return False
    first = index - 2
    while first >= 2 and _dot(tokens[first - 1]):  # noqa: PLR2004 (a name and its dot)
        first -= 2
    places = {*names.rules.system_schemas, *names.rules.default_schemas}
    if names.catalog is not None:
        places.add(names.catalog.database.lower())
    return first >= 0 and (tokens[first].kind not in {"word", "name"} or tokens[first].text not in places)


def _of_one_column(tokens: Sequence[Token], index: int) -> bool:
    """Return True for a call `f(c)` or `f(t.c)` and nothing else in its parentheses."""
    inside = [token.text if token.kind == "mark" else "" for token in tokens[index + 2 :]]
    first = next((place for place, mark in enumerate(inside) if mark in {"(", ")", ","}), 0)
    return first > 0 and inside[first] == ")"


def _dot(token: Token) -> bool:
    """Return whether a token is the dot of a qualified name."""
    return token.kind == "mark" and token.text == "."


def called(tokens: Sequence[Token], names: Names) -> frozenset[str]:
    """Return the allowed functions of the snapshot that the text calls."""
    pairs = zip(tokens, tokens[1:], strict=False)
    bare = {name for _, name in names.allowed_calls}
    return frozenset(
        name.text
        for name, after in pairs
        if name.text in bare and name.kind in {"word", "name"} and after.text == "(" and after.kind == "mark"
    )


def call_trouble(
    tokens: Sequence[Token], list_names: Sequence[str], names: Names, keywords: frozenset[str] = frozenset()
) -> Trouble | None:
    """Say which call is not on the function list, None where all are.

    A name before a parenthesis is a call unless it is a keyword or heads a column list; the parser says how many
    column lists a name heads, and not one more may be written. Functions of the snapshot that its pack allows pass.
    """
    hidden = frozenset[str]() if names.visible is None else names.rules.catalogue_functions
    known = (names.rules.functions, names.rules.paren_words, keywords)
    heads = Counter(list_names)
    # The first word of a statement is a verb, never a call.
    for index, token in enumerate(tokens[1:-1], 1):
        if tokens[index + 1].text != "(" or tokens[index + 1].kind != "mark" or token.kind not in {"word", "name"}:
            continue
        qualified = _dot(tokens[index - 1])
        schema = _schema(tokens, index)
        if (schema, token.text) in names.allowed_calls and qualified is (schema is not None):
            continue
        if token.text in names.rules.column_calls and not _of_one_column(tokens, index):
            return f"'{token.text}' reads the table that its arguments name", "function"
        # A routine may have the name of a function or keyword of the engine's and be the one that is called.
        allowed = token.text not in hidden and any(token.text in each for each in known)
        ours = allowed and token.text not in names.shadows
        if (
            ours
            and (not qualified or _is_of_value(tokens, index, names))
            and (token.kind == "word" or token.text in names.rules.functions)
        ):
            continue
        if keywords and _is_method(tokens, index):
            continue
        heads[token.text] -= 1
        if heads[token.text] < 0:
            return _call(token.text, names, qualified=qualified)
    return None

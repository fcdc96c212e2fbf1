"""Decide from the text and its facts whether a statement may reach a database; pure, and safe for any text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlassay.cases.catalog import Catalog
from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.harness.guard.lexer import UNTERMINATED, Lexed, Token, lex, read_on
from sqlassay.harness.guard.names import (
    Names,
    call_trouble,
    called,
    notation_trouble,
    table_trouble,
    type_trouble,
    word_trouble,
)
from sqlassay.harness.guard.profiles import DML, EXPLAINED, KINDS, PROFILES, WHY
from sqlassay.harness.guard.second import disagreement
from sqlassay.harness.results.parsed import MAX_SQL_BYTES, SYNTAX_ERROR, ParsedQuery
from sqlassay.harness.results.verdicts import GuardVerdict

MAX_DEPTH = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PARAMETERS = frozenset({"placeholder", "parameter"})
_IN_SLIPS = _PARAMETERS | {"struct", "propertyeq", "heredoc", "rawstring", "map", "slice", "alias", "positionalcolumn"}
_HARMLESS = frozenset({"empty", "statements", "unknown_table", "unknown_function", "depth"})
"""What a text that is never run may have wrong with it beside its slip: slips of their own."""
_READING = frozenset({"select", "with", "from", "values", "table", "explain", "show", "describe", "desc", "summarize"})
_ANALYZED = re.compile(r"analy[sz]e")
_TABLE_WORDS = frozenset({"table", "show", "describe", "desc", "summarize", "pivot", "unpivot"})
_UTILITY_WORDS = frozenset({"show", "describe", "desc", "explain", "pragma", "summarize"})


@dataclass(frozen=True, slots=True)
class _No:
    """A rejection in the making: why, and the node, word or name that decided."""

    reason: str
    node: str | None = None


def check(
    parsed: ParsedQuery,
    rules: GrammarRules,
    catalog: Catalog | None,
    *,
    profile: str = "dql",
    visible: frozenset[str] | None = None,
) -> GuardVerdict:
    """Return whether the statement may run under the profile; `visible` limits the tables it may read."""
    sql = parsed.sql
    if len(sql.encode("utf-8", "surrogatepass")) > MAX_SQL_BYTES:
        return GuardVerdict(False, f"the text is longer than {MAX_SQL_BYTES} bytes", node="size")
    if (control := _CONTROL.search(sql)) is not None:
        return GuardVerdict(False, f"control character {control.group()!r} in the text", node="control")
    lexed = lex(sql, rules)
    names = Names(rules, catalog, visible)
    if lexed.problem is None and lexed.gated:
        return _either_way(parsed, rules, catalog, profile, visible)
    if lexed.problem == UNTERMINATED and (whole := read_on(lexed, sql, rules)) is not None:
        slip = _foreign(parsed, whole, rules) or _No(UNTERMINATED, "unterminated_quote")
        return _slipped(slip, parsed, whole, rules, names, profile)
    no = _text_trouble(lexed)
    if no is None and (utility := _utility(lexed, sql, rules, names)) is not None:
        return utility
    if no is None and (foreign := _foreign(parsed, lexed, rules)) is not None:
        return _slipped(foreign, parsed, lexed, rules, names, profile)
    no = no or _word_trouble(parsed, lexed, rules, names) or _parse_trouble(parsed, lexed)
    no = no or _tree_trouble(parsed, lexed, rules, profile) or _name_trouble(parsed, lexed, names, profile)
    if no is None and (trouble := disagreement(parsed, rules, names.allowed_spellings)) is not None:
        no = _No(*trouble)
    if no is not None and profile != "dql" and parsed.root in rules.allowed_statements:
        # A statement that only reads where a change is asked for: harmless where a query may be it, else what it is.
        read = check(parsed, rules, catalog, visible=visible)
        reason = f"the case asks for a change ({profile}) and the statement only reads"
        return GuardVerdict(False, reason, node="reads_only") if read.allowed else read
    if no is not None:
        return _rejected(no, parsed, lexed, profile)
    return GuardVerdict(True, _reason(parsed, names), flags=_flags(parsed, lexed, rules, names))


def _foreign(parsed: ParsedQuery, lexed: Lexed, rules: GrammarRules) -> _No | None:
    """Return the slip of a text with a parameter that nobody binds or a mark of another dialect, None without any."""
    found = re.search(rules.foreign_marks, lexed.code()) if rules.foreign_marks else None
    if found is not None:
        message = f"'{found.group()}' is a parameter that nobody binds, or a mark of another dialect or a program"
        return _No(message, "foreign_mark")
    if parsed.nodes & _PARAMETERS:
        return _No("a parameter that nobody binds", "placeholder")
    return None


def _slipped(
    slip: _No, parsed: ParsedQuery, lexed: Lexed, rules: GrammarRules, names: Names, profile: str
) -> GuardVerdict:
    """Refuse a text that no engine is given: for the slip, unless something in it would be a danger if it were."""
    parsed = replace(parsed, nodes=parsed.nodes - _IN_SLIPS)
    tried = (
        _text_trouble(lexed),
        _word_trouble(parsed, lexed, rules, names),
        _tree_trouble(parsed, lexed, rules, profile) if parsed.error is None else _unread_start(lexed, rules, profile),
        _name_trouble(parsed, lexed, names, profile),
    )
    worse = next((no for no in tried if no is not None and no.node not in _HARMLESS), None)
    return _rejected(worse or slip, parsed, lexed, profile)


def _unread_start(lexed: Lexed, rules: GrammarRules, profile: str) -> _No | None:
    """Judge the first word of a text that no parser reads: it must be one a statement of the profile begins with."""
    first = next((token.text for token in lexed.tokens if token.kind == "word"), "")
    roots = PROFILES[profile].roots or rules.allowed_statements
    if first in roots | _READING or KINDS.get(first, "").lower() in roots:
        return None
    return _No(f"a statement that begins with '{first}' is not allowed under profile {profile}", "unparsable")


def _reason(parsed: ParsedQuery, names: Names) -> str:
    """Say that a statement is allowed, and what nobody could know about it without a catalogue."""
    if names.catalog is not None or not names.rules.functional_notation or not parsed.unresolved:
        return "allowed"
    return f"allowed; without a catalogue '{parsed.unresolved[0]}' may be a column or a function of the snapshot's"


def _either_way(
    parsed: ParsedQuery, rules: GrammarRules, catalog: Catalog | None, profile: str, visible: frozenset[str] | None
) -> GuardVerdict:
    """Judge a text with comments that some versions run: it must pass, do and read the same whichever are run."""
    if not parsed.readings:
        return GuardVerdict(False, "an executable comment", node="text")
    verdicts = [check(reading, rules, catalog, profile=profile, visible=visible) for reading in parsed.readings]
    for number, verdict in enumerate(verdicts):
        if not verdict.allowed:
            which = "with its executable comment" if number else "without its executable comment"
            return replace(verdict, reason=f"{which}: {verdict.reason}")
    done = [(one.root, one.explain, one.tables, one.functions, one.written) for one in parsed.readings]
    if any(one != done[0] for one in done):
        return GuardVerdict(False, "an executable comment decides what is read or done", node="text")
    return GuardVerdict(True, "allowed", flags=tuple(sorted({flag for verdict in verdicts for flag in verdict.flags})))


def _text_trouble(lexed: Lexed) -> _No | None:
    """Judge the text before any parser is believed."""
    if lexed.problem is not None:
        return _No(lexed.problem, "text")
    if not lexed.statements:
        return _No("there is no statement", "empty")
    if lexed.depth > MAX_DEPTH:
        return _No(f"nested {lexed.depth} deep, more than {MAX_DEPTH}", "depth")
    if lexed.statements != 1:
        return _No(f"{lexed.statements} statements where one is allowed", "statements")
    return None


def _utility(lexed: Lexed, sql: str, rules: GrammarRules, names: Names) -> GuardVerdict | None:
    """Allow a SHOW, DESCRIBE or PRAGMA from the dialect's list; None where the text is not such a statement."""
    tokens = lexed.tokens[:-1] if lexed.tokens[-1].text == ";" else lexed.tokens
    if not tokens or tokens[0].kind != "word" or tokens[0].text not in _UTILITY_WORDS:
        return None
    text = " ".join(sql[token.start : token.end] for token in tokens).replace(" . ", ".")
    for pattern in rules.utilities:
        match = re.fullmatch(pattern, text, re.IGNORECASE)
        if match is None:
            continue
        groups = match.groupdict()
        table, schema = (_bare(groups.get(group)) for group in ("table", "schema"))
        if names.visible is not None and groups.get("setting") is None and (table is None or groups.get("others")):
            return GuardVerdict(False, "it tells of objects that are not visible to this case", node="catalogue")
        trouble = None if table is None else table_trouble(table, schema, names)
        if trouble is not None:
            return GuardVerdict(False, trouble[0], node=trouble[1])
        return GuardVerdict(True, f"allowed: {tokens[0].text.upper()} from the list")
    return None


def _bare(name: str | None) -> str | None:
    """Return a name without quotes, lower-cased."""
    return None if name is None else name.strip("\"'`[]").lower()


def _parse_trouble(parsed: ParsedQuery, lexed: Lexed) -> _No | None:
    """Judge what the parser made of the text: it must have read what the engine will read."""
    if parsed.error is not None:
        node = "syntax_error" if parsed.error.startswith(SYNTAX_ERROR) else "unparsable"
        return _No(f"the parser cannot vouch for it: {parsed.error}", node)
    if parsed.statements != 1:
        return _No(f"{parsed.statements} statements where one is allowed", "statements")
    if parsed.rejected:
        return _No(
            f"the parser passes over {parsed.rejected[0][1]!r}, so nobody can vouch for it", parsed.rejected[0][0]
        )
    mask = lexed.mask(len(parsed.sql))
    if mask == parsed.lexmap:
        return None
    pairs = zip(mask, parsed.lexmap, strict=False)
    if len(mask) == len(parsed.lexmap) and all(ours in {theirs, "?"} for ours, theirs in pairs):
        return None
    return _No("engine and parser read quotes or comments differently", "lexmap")


def _tree_trouble(parsed: ParsedQuery, lexed: Lexed, rules: GrammarRules, profile: str) -> _No | None:
    """Judge the root and every kind of node, and texts no node shows."""
    chosen = PROFILES[profile]
    roots = rules.allowed_statements if chosen.roots is None else chosen.roots
    nodes = chosen.nodes
    if parsed.explain is not None and profile == "dql" and not _ANALYZED.search(parsed.explain):
        roots, nodes = roots | DML, EXPLAINED
    outside = sorted(parsed.nodes - nodes, key=lambda node: (node not in KINDS, node))
    if outside:
        return _No(WHY.get(outside[0], f"'{outside[0]}' is not allowed here"), outside[0])
    if parsed.root not in roots:
        return _No(f"a statement of kind '{parsed.root}' is not allowed under profile {profile}", parsed.root)
    if chosen.objects and re.match(chosen.objects, lexed.code()) is None:
        return _No("only tables, views and indexes may be changed", parsed.root)
    return None


def _word_trouble(parsed: ParsedQuery, lexed: Lexed, rules: GrammarRules, names: Names) -> _No | None:
    """Judge words that are denied wherever they stand, so that a text no parser can read is still named for them."""
    code = lexed.code()
    into = sum(token.kind == "word" and token.text == "into" for token in lexed.tokens)
    plain = len(re.findall(rules.allowed_into, code)) if rules.allowed_into else 0
    if into > plain and parsed.nodes.isdisjoint({"insert", "merge"}) and not _started(lexed.tokens):
        return _No("INTO writes somewhere", "into")
    for pattern, reason in rules.rejected_text:
        if re.search(pattern, code):
            return _No(reason, "text")
    if rules.file_tables and _named_by_string(lexed.tokens):
        return _No("a string that the engine takes for a table and the parser for an alias", "text")
    created = names.with_tables(parsed) if parsed.root == "create" else names
    trouble = word_trouble(lexed.tokens, created, parsed.ctes)
    return None if trouble is None else _No(*trouble)


def _named_by_string(tokens: list[Token]) -> bool:
    """Return True for a string after a word such as TABLE: the engine's table is the parser's alias."""
    pairs = zip(tokens, tokens[1:], strict=False)
    return any(
        before.kind == "word" and before.text in _TABLE_WORDS and after.kind in {"string", "escaped"}
        for before, after in pairs
    )


def _name_trouble(parsed: ParsedQuery, lexed: Lexed, names: Names, profile: str) -> _No | None:
    """Judge every table and call the text names; a DDL statement may make tables that do not exist yet."""
    chosen = PROFILES[profile]
    for table in sorted(parsed.tables, key=lambda ref: ref.name):
        schema = table.schema if table.catalog is None else f"{table.catalog}.{table.schema}"
        trouble = table_trouble(table.name, schema, names)
        made = chosen.objects and (table.name, table.schema) in parsed.written
        if trouble is not None and not (made and trouble[1] == "unknown_table"):
            return _No(*trouble)
    for name, schema in parsed.written:
        if schema in names.rules.system_schemas or (
            name.startswith(names.rules.system_prefixes) and name not in names.tables
        ):
            return _No(f"'{name}' belongs to the system", "table")
    if (trouble := call_trouble(lexed.tokens, parsed.list_names, names, chosen.paren_words)) is not None:
        return _No(*trouble)
    if (trouble := type_trouble(parsed.types, names)) is not None:
        return _No(*trouble)
    if not chosen.objects and (trouble := notation_trouble(parsed.unresolved, names)) is not None:
        return _No(*trouble)
    return None


def _rejected(no: _No, parsed: ParsedQuery, lexed: Lexed, profile: str) -> GuardVerdict:
    """Name the statement kind in the reason where it is one of the ten that the profile does not admit."""
    roots = PROFILES[profile].roots or frozenset()
    kinds = [KINDS[node] for node in sorted(parsed.nodes & KINDS.keys() - roots) if node != "replace"]
    kinds += [kind for kind in _started(lexed.tokens) if kind.lower() not in roots]
    if not kinds:
        return GuardVerdict(False, no.reason, node=no.node)
    node = kinds[0].lower() if no.node == "syntax_error" else no.node
    return GuardVerdict(False, f"{kinds[0]} is rejected: {no.reason}", statement=kinds[0], node=node)


def _started(tokens: list[Token]) -> list[str]:
    """Return the kinds of the ten whose keyword stands where a statement can begin."""
    found = []
    for index, token in enumerate(tokens):
        if token.kind != "word" or token.text not in KINDS:
            continue
        before = tokens[index - 1].text if index else ";"
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if before in {";", "(", ")", "explain", "analyze", "analyse", "verbose", "do", "as"} and after not in {
            "(",
            ",",
            ")",
            ".",
        }:
            found.append(KINDS[token.text])
    return found


def _clock_calls(tokens: list[Token], rules: GrammarRules) -> Iterator[str]:
    """Yield the functions that read the clock for want of an argument."""
    for index, token in enumerate(tokens[:-2] if rules.clock_calls else ()):
        wanted = rules.clock_calls.get(token.text)
        if wanted is None or token.kind not in {"word", "name"} or tokens[index + 1].text != "(":
            continue
        depth, given = 1, int(tokens[index + 2].text != ")")
        for each in tokens[index + 2 :]:
            if each.kind == "mark":
                depth += (each.text in "([") - (each.text in ")]")
                given += depth == 1 and each.text == ","
            if depth == 0:
                break
        if given < wanted:
            yield token.text


def _flags(parsed: ParsedQuery, lexed: Lexed, rules: GrammarRules, names: Names) -> tuple[str, ...]:
    """Return what may make a result differ between runs, looks like gaming, or runs code of the snapshot's own."""
    flags = {f"routine: {name}" for name in called(lexed.tokens, names)}
    for token in lexed.tokens:
        if token.text in rules.gaming and token.kind in {"word", "name"} and not names.known(token.text):
            flags.add(f"nondeterministic: {token.text}")
        if token.text in rules.gaming_words and token.kind in {"word", "name"} and not names.known(token.text):
            flags.add(f"nondeterministic: {token.text}")
    if parsed.explain is not None and _ANALYZED.search(parsed.explain):
        flags.add("nondeterministic: EXPLAIN ANALYZE")
    flags.update(
        f"nondeterministic: '{text}'" for text in parsed.literals if text.strip().lower() in rules.gaming_literals
    )
    flags.update(f"nondeterministic: {name}" for name in _clock_calls(lexed.tokens, rules))
    for table in parsed.tables:
        if table.schema in rules.system_schemas or (
            table.name.startswith(rules.system_prefixes) and not names.known(table.name)
        ):
            flags.add(f"catalogue: {table.name}")
    return tuple(sorted(flags))

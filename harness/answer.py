"""Turn an answer into the one SQL text that guard, engine and metrics are given: declared rules, each by its name.

A text that begins as a statement is SQL and stays as it is; only what stands behind its end is cut. What begins
otherwise is unwrapped step by step until a statement begins. Nothing is repaired, added or reordered: the text that
comes out stands in the answer, and the guard judges that text and no other. Pure; safe for any text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import dropwhile, islice
from typing import Any

from sqlassay.cases.case import STATEMENT_FIELDS
from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.dialect_adapters.wordlist import words
from sqlassay.harness.guard.lexer import Lexed, Token, lex
from sqlassay.harness.results.evidence import Answer

LONGEST = 256 * 1024
"""Characters beyond which an answer is not looked into: it is judged as it is, and is too long for the guard."""

_ROUNDS = 8
_SHOWN = 60
_EDGES = "\ufeff\u200b\u200c\u200d\u2060\u00a0\u202f \t\r\n\f\v"
"""What is no part of any statement at either end: blanks, byte order marks, blanks without width."""

STARTS = words(
    """select with values table from explain describe desc show pragma summarize pivot unpivot
    insert update delete merge replace create alter drop truncate grant revoke rename comment refresh
    begin start commit rollback abort savepoint release set reset use call exec execute do declare prepare deallocate
    copy load import export install uninstall attach detach vacuum analyze analyse reindex cluster optimize repair check
    checksum lock unlock listen unlisten notify fetch move close open handler flush kill purge shutdown restart stop
    change checkpoint discard reassign security xa signal resignal get binlog clone help force cache end"""
)
"""The words a statement of any engine begins with, those that no prediction may run as well: the guard refuses them."""

_BEGIN_BEHIND_WORDS = words(
    """select with insert update delete merge replace create alter drop truncate grant revoke explain describe show
    pragma call exec execute begin copy load attach vacuum"""
)
"""The words that begin a statement behind a sentence; the others are words of sentences as well."""

_LANGUAGES = words("sql sqlite sqlite3 postgres postgresql pgsql psql plpgsql mysql mariadb duckdb tsql ansi text txt")
_FENCE = re.compile(r"^[ \t>]{0,8}(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[\w+#.{}-]*)[ \t\r]*$", re.MULTILINE)
_INLINE_FENCE = re.compile(
    rf"```[ \t]*(?:(?P<info>(?i:{'|'.join(sorted(_LANGUAGES | {'json'}))}))(?=\s))?(?P<body>(?:[^`]|`(?!``))+)```"
)
_REASONING = re.compile(r"<(think|thinking|reasoning|scratchpad)>", re.IGNORECASE)
_TAG = re.compile(r"<(sql|query|sql_query|answer|final_answer|final|code|output|result)>", re.IGNORECASE)
_BRACKET_TAG = re.compile(r"\[(sql|query|answer)\]", re.IGNORECASE)
_END_TOKENS = re.compile(
    r"(?:\s*(?:<\|[a-z_]{1,32}\|>|</s>|<eos>|<end_of_turn>|\[/(?:sql|query|answer|inst)\]))+\s*\Z", re.IGNORECASE
)
"""What models end a turn with, and the close of a tag that the prompt opened."""
_QUOTED = re.compile(r"(`{1,2}|\"{3}|'{3}|\"|')(?P<body>.*)\1", re.DOTALL)
_CODE_SPAN = re.compile(r"(?<!`)`([^`]{1,9999})`(?!`)")
_LABEL = re.compile(
    r"[*_#>\s]*(?:(?:the\s+)?(?:final\s+|generated\s+|resulting\s+)?(?:sql|mysql|postgres(?:ql)?|sqlite3?|duckdb|mariadb"
    r"|query|answer|output|result|solution|response|assistant)(?:[ _-]?(?:query|statement|code|answer))?)"
    r"[*_]*\s*(?P<end>[:=>#-]+[*_]*|\n)\s*(?:[|>][-+]?\s*\n)?",
    re.IGNORECASE,
)
_PROMPT = re.compile(r">|(?:(?:sqlite|mysql|mariadb \[[^\]\n]*\]|\w+[=-])[>#]|D)[ \t]+", re.IGNORECASE)
_BREAK = re.compile(r"[:.!?][*_]{0,2}\s+|\n[ \t]*")
_QUERY_IN_BRACKETS = re.compile(r"\(\s*(?:SELECT|select|WITH|with)\b")
_WORD = re.compile(r"[A-Za-z]+")
_LEADS = re.compile(
    r"[A-Za-z)`'\"][:.!?][*_]{0,2}\s+(?P<word>(?i:select|with|insert|update|delete|merge|create|drop|alter|truncate))\b"
)
_BEHIND = re.compile(
    r"^[ \t]*(?:\*\*|#+[ \t]*)?(?:sql ?result|result|answer|explanation|explanations|note|notes|output|reasoning"
    r"|question|this query|assumptions?)(?:\*\*)?[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(r"^[ \t]*[A-Z][a-z'’]*,? [A-Za-z`'\"’]", re.MULTILINE)
_ENDS_AS_SENTENCE = re.compile(r"^[ \t]*[A-Z][a-z'’]*,? [A-Za-z`'\"’]", re.MULTILINE)
_CLAUSES = words(
    """from where and or on group order having limit offset union intersect except join left right inner outer full
    cross natural window qualify using when then else end as asc desc select with values set returning fetch for not
    in is like between case by into partition over rows range nulls first last distinct all lateral"""
)
_MORE = re.compile(r"^[ \t]*(?P<word>[A-Za-z]+)\b(?=[^;]{0,2000};[ \t]*$)", re.MULTILINE)
_ODD = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TRIES = 64
_FIRST = 16
_LOOK = 1024


def read_answer(text: str, rules: GrammarRules) -> Answer:
    """Return the SQL of one answer, read by the dialect's own lexical rules.

    A text without anything but blanks and comments is SQL too: the guard says that there is no statement.
    """
    if len(text) > LONGEST:
        return Answer(text)
    done: list[str] = []
    rest = text
    for _ in range(_ROUNDS):
        stripped = rest.strip(_EDGES)
        if stripped != rest.strip(" \t\r\n\f\v") and "byte_order_mark" not in done:
            done.append("byte_order_mark")
        rest = stripped if done else rest
        if (ends := _end_tokens(stripped, rules)) is not None:
            done.append("end_token")
            rest = stripped[:ends]
            continue
        if _is_sql(stripped, rules) and not _introduces(stripped, rules):
            return _ended(text, rest, done, rules)
        found = next(((name, inside) for name, rule in _RULES if (inside := rule(stripped, rules)) is not None), None)
        if found is None:
            break
        done.append(found[0])
        rest = found[1]
    shown = " ".join(text.split())
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    return Answer(None, tuple(done), text=text, reason=f"unreadable answer: no SQL statement begins in it: {shown!r}")


def _is_sql(text: str, rules: GrammarRules) -> bool:
    """Return whether the engine would read a statement's first word; what has no code at all is SQL as well."""
    lexed = lex(text, rules, _FIRST)
    tokens = _without_brackets(lexed)
    if not tokens and len(lexed.tokens) == _FIRST:
        tokens = _without_brackets(lex(text, rules))
    if not tokens or (lexed.gated and text.lstrip(";( \t\r\n").startswith("/*")):
        return True
    return _starts(tokens)


def _end_tokens(text: str, rules: GrammarRules) -> int | None:
    """Return where the marks of a turn's end begin behind a text, None without any; in SQL they must stand in code."""
    found = _END_TOKENS.search(text, max(0, len(text) - _LOOK))
    if found is None or found.start() == 0 or _BRACKET_TAG.match(text) is not None:
        return None
    place = found.start() + len(found.group()) - len(found.group().lstrip())
    if not _is_sql(text, rules):
        return found.start()
    starts = {token.start for token in lex(text, rules).tokens}
    return found.start() if place in starts else None


def _without_brackets(lexed: Lexed) -> list[Token]:
    """Return the tokens behind the semicolons and brackets that a text begins with."""
    return list(dropwhile(lambda token: token.kind == "mark" and token.text in {";", "("}, lexed.tokens))


def _starts(tokens: list[Token]) -> bool:
    """Return whether the tokens begin as a statement; WITH names a table first, then AS, a column list between."""
    first = tokens[0]
    if first.kind != "word" or first.text not in STARTS:
        return False
    rest = tokens[2:] if len(tokens) > 1 and tokens[1].text == "recursive" else tokens[1:]
    if first.text != "with" or len(rest) < 2:  # noqa: PLR2004 (a name and what follows it)
        return True
    return rest[1].text in {"(", "as", "using"} or rest[1].kind != "word"


def _introduces(text: str, rules: GrammarRules) -> bool:
    """Return True for a sentence that begins with a word of SQL and leads up to a fence or a statement.

    "Use the following:" before a fence, "Select all of them: SELECT …". No statement has such an end before either.
    """
    fence, lexed = _FENCE.search(text), lex(text, rules)
    if fence is not None and fence.start() and fence["info"] and _in_code(text, fence.start(), lexed, rules):
        return text[: fence.start()].rstrip()[-1:] in {":", ".", "!", "?"}
    word = _WORD.match(text)
    if word is None or word.group() != word.group().capitalize():
        return False
    leads = islice(_LEADS.finditer(text), _TRIES)
    return any(_is_sure(lead["word"]) and _in_code(text, lead.start("word"), lexed, rules) for lead in leads)


def _in_code(text: str, place: int, lexed: Lexed, rules: GrammarRules) -> bool:
    """Return whether a place of a text stands outside any literal, quoted name and comment."""
    if any(token.start < place < token.end for token in lexed.tokens):
        return False
    return lex(text[:place], rules).problem is None


def _is_sure(word: str) -> bool:
    """Return whether a word is in capitals or without any: one with a capital letter alone begins a sentence."""
    return word in {word.upper(), word.lower()}


def _in_json(text: str, _rules: GrammarRules) -> str | None:
    """Return the statement of a JSON object, list or text, a Python dict among them; several are several statements."""
    if text[:1] not in {"{", "[", '"'}:
        start = next((at for at in _all(text, "{") if _sql_of(text[at:])), None)
        return None if start is None else _sql_of(text[start:])
    return _sql_of(text) or _python_dict(text)


def _all(text: str, mark: str) -> Iterator[int]:
    """Yield the first few places of a character."""
    at = text.find(mark)
    for _ in range(8):
        if at < 0:
            return
        yield at
        at = text.find(mark, at + 1)


def _sql_of(text: str) -> str | None:
    """Return the statements of the JSON value a text begins with, joined, None where it is none or has none."""
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    found = dict.fromkeys(each.strip() for each in _texts(value, 0) if each.strip())
    return ";\n".join(found) or None


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts under a statement's keys, those of a list or a lone text too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _ROUNDS:
        for each in value:
            if isinstance(each, dict) or (depth == 0 and isinstance(each, str)):
                yield from _texts(each, depth + 1)
    elif isinstance(value, dict) and depth < _ROUNDS:
        yield from _fields(value, depth)


def _fields(value: dict[str, Any], depth: int) -> Iterator[str]:
    """Yield the texts of an object: those of its first statement's key, else those of the objects inside it."""
    own = {name.lower(): each for name, each in reversed(value.items())}
    for key in STATEMENT_FIELDS:
        if isinstance(own.get(key), str | list):
            yield from [own[key]] if isinstance(own[key], str) else (each for each in own[key] if isinstance(each, str))
            return
    for name, each in value.items():
        if isinstance(each, dict | list):
            yield from _texts(each, depth + 1)
        elif name.lower() in {"arguments", "input", "parameters"} and isinstance(each, str) and each[:1] == "{":
            inner = _sql_of(each)
            yield from [] if inner is None else [inner]


def _python_dict(text: str) -> str | None:
    """Return the statement of a Python dict's text, which quotes as JSON does not."""
    key = re.match(rf"\{{\s*['\"](?:{'|'.join(STATEMENT_FIELDS)})['\"]\s*:\s*", text, re.IGNORECASE)
    value = None if key is None else re.compile(r"'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\"", re.DOTALL)
    found = None if key is None or value is None else value.match(text, key.end())
    if found is None:
        return None
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    inside = found[1] if found[1] is not None else found[2]
    return re.sub(r"\\(.)", lambda each: escapes.get(each[1], each[1]), inside, flags=re.DOTALL)


def _in_fence(text: str, _rules: GrammarRules) -> str | None:
    """Return what stands in a code fence, SQL's before others'; several different ones are several statements."""
    blocks = [block for block in _blocks(text) if block[1].strip()] or [
        (each["info"] or "", each["body"]) for each in _INLINE_FENCE.finditer(text)
    ]
    marked = [body for info, body in blocks if info.lower() in _LANGUAGES - {"text", "txt"}]
    plain = [body for info, body in blocks if not info or info.lower() in _LANGUAGES]
    chosen = marked or plain or [body for info, body in blocks if info.lower() in {"json", "xml", "python", "yaml"}]
    found = dict.fromkeys(body.strip(_EDGES) for body in chosen if body.strip(_EDGES))
    return ";\n".join(found) or None


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield every fenced block as (language, content); one that nobody closes runs to the end."""
    at = 0
    while (opened := _FENCE.search(text, at)) is not None:
        mark = opened["mark"]
        close = re.compile(rf"^[ \t>]{{0,8}}{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE)
        closed = close.search(text, opened.end())
        first = opened["info"].strip().split(None, 1)
        end = len(text) if closed is None else closed.start()
        yield (first[0].strip("{}.") if first else "", text[opened.end() : end])
        if closed is None:
            return
        at = closed.end()


def _without_reasoning(text: str, _rules: GrammarRules) -> str | None:
    """Return what follows a model's thoughts, whose opening tag may have been part of the prompt."""
    opened = _REASONING.match(text)
    close = "</think>" if opened is None else f"</{opened[1].lower()}>"
    at = text.lower().rfind(close)
    return None if at < 0 else text[at + len(close) :]


def _in_tag(text: str, _rules: GrammarRules) -> str | None:
    """Return what stands between the tags of a statement; several different ones are several statements."""
    lowered, found = text.lower(), dict[str, None]()
    if (bracket := _BRACKET_TAG.search(text)) is not None:
        inside, _, _ = re.split(rf"(\[/{bracket[1]}\]|\Z)", text[bracket.end() :], maxsplit=1, flags=re.IGNORECASE)
        found.update({inside.strip(): None} if inside.strip() else {})
    for opened in islice(_TAG.finditer(text), _TRIES):
        close = lowered.find(f"</{opened[1].lower()}>", opened.end())
        inside = "" if close < 0 else text[opened.end() : close].strip()
        found.update({inside: None} if inside else {})
    return ";\n".join(found) or None


def _in_quotes(text: str, rules: GrammarRules) -> str | None:
    """Return what stands in quotes or backticks around the whole answer: no statement begins with either."""
    whole = _QUOTED.fullmatch(text)
    if whole is not None and whole[1] not in whole["body"].replace(whole[1] * 2, ""):
        return whole["body"] if whole["body"].strip() and _is_sql(whole["body"], rules) else None
    spans = [span for span in dict.fromkeys(_CODE_SPAN.findall(text)) if _is_sql(span, rules) and " " in span.strip()]
    return spans[0] if len(spans) == 1 and _begun(text, rules) is None else None


def _after_label(text: str, rules: GrammarRules) -> str | None:
    """Return what follows a label such as `SQL:`, a language's name on its line, or a client's prompt."""
    if (prompt := _PROMPT.match(text)) is not None:
        return re.sub(r"^[ \t]*>[ \t]?", "", text, flags=re.MULTILINE) if text[0] == ">" else text[prompt.end() :]
    label = _LABEL.match(text)
    if label is not None and label.end() < len(text) and _is_sql(text[label.end() :], rules):
        return text[label.end() :]
    word = _WORD.match(text)
    rest = "" if word is None or word.group().lower() not in _LANGUAGES else text[word.end() :].lstrip()
    return rest if rest and _is_sql(rest, rules) else None


def _after_sentence(text: str, rules: GrammarRules) -> str | None:
    """Return what follows sentences: the first statement behind a colon, a sentence's end or on a line of its own."""
    begun = _begun(text, rules)
    return None if begun is None else text[begun:]


def _begun(text: str, rules: GrammarRules) -> int | None:
    """Return where the first statement begins behind sentences; `Select` begins one only where no SELECT does."""
    found = []
    for match in islice(_BREAK.finditer(text), 8 * _TRIES):
        place = match.end()
        word = _WORD.match(text, place)
        if word is not None and word.group().lower() in _BEGIN_BEHIND_WORDS:
            found += [(place, word.group())] if _is_sql(text[place : place + _LOOK], rules) else []
        elif _QUERY_IN_BRACKETS.match(text, place):
            found.append((place, "("))
    return next(iter([place for place, word in found if _is_sure(word)] or [place for place, _ in found]), None)


_RULES: tuple[tuple[str, Callable[[str, GrammarRules], str | None]], ...] = (
    ("reasoning", _without_reasoning),
    ("json", _in_json),
    ("tag", _in_tag),
    ("fence", _in_fence),
    ("quotes", _in_quotes),
    ("label", _after_label),
    ("sentence_before", _after_sentence),
)
"""Tried in this order on what does not begin as SQL; the first that finds something is applied, then all again."""


def _ended(given: str, text: str, done: list[str], rules: GrammarRules) -> Answer:
    """Return SQL without what stands behind its end: a fence that closes, sentences, semicolons that end nothing."""
    lexed = lex(text, rules)
    for name, cut in (("fence_behind", _fence_behind), ("sentence_behind", _sentence_behind)):
        end = cut(text, lexed, rules)
        if end is not None:
            text, done = text[:end].rstrip(), [*done, name]
            lexed = lex(text, rules)
    start, end = _one_semicolon(lexed, len(text))
    if (start, end) != (0, len(text)):
        text, done = text[start:end], [*done, "empty_statements"]
    return Answer(text, tuple(done), text=given if text != given else None)


def _fence_behind(text: str, lexed: Lexed, rules: GrammarRules) -> int | None:
    """Return where a fence stands that closes what the prompt opened; a backtick may quote a name, then it stays."""
    if "`" in rules.identifier_quotes and lexed.problem is None:
        return None
    places = islice((match.start() for match in _FENCE.finditer(text) if match.start()), _TRIES)
    return next((place for place in places if _in_code(text, place, lexed, rules)), None)


def _sentence_behind(text: str, lexed: Lexed, rules: GrammarRules) -> int | None:
    """Return where sentences begin behind a statement: after its semicolon, or on a line that no statement can have."""
    if lexed.gated or not lexed.tokens or lexed.tokens[0].text == ";":
        return None
    semicolon = next((token.end for token in lexed.tokens if token.kind == "mark" and token.text == ";"), len(text))
    for match in islice(_BEHIND.finditer(text, 0, semicolon), _TRIES):
        if _may_end_at(text, match.start(), lexed, rules):
            return match.start()
    shown = text.rstrip()
    in_code = lexed.problem is not None or lexed.tokens[-1].end == len(shown)
    if in_code and _ENDS_AS_SENTENCE.search(shown) is not None:
        for match in islice(_SENTENCE.finditer(text, 0, semicolon), _TRIES):
            first = match.group().split(None, 1)[0].strip(",")
            if first.lower() not in _CLAUSES and _may_end_at(text, match.start(), lexed, rules):
                return match.start()
    behind = text[semicolon:].lstrip(_EDGES + ";")
    return semicolon if behind and _is_prose(behind, rules) else None


def _may_end_at(text: str, place: int, lexed: Lexed, rules: GrammarRules) -> bool:
    """Return whether a statement may end right before a place: outside brackets, with a value, a name or a bracket."""
    before = lex(text[:place], rules)
    if not before.tokens or not _in_code(text, place, lexed, rules):
        return False
    marks = [token.text for token in before.tokens if token.kind == "mark"]
    last = before.tokens[-1]
    ends = last.text == ")" if last.kind == "mark" else last.kind != "word" or last.text not in _CLAUSES
    return ends and marks.count("(") == marks.count(")")


def _is_prose(rest: str, rules: GrammarRules) -> bool:
    """Return whether what follows a semicolon is words: no statement, none behind it either, no comment, no fence."""
    if not rest or _ODD.search(rest) is not None or not (rest[0].isalpha() or rest[0] in "*#>-_\"'(•✓"):
        return False
    lexed = lex(rest, rules)
    if not lexed.tokens or lexed.gated or _is_sql(rest, rules) or _FENCE.search(rest) is not None:
        return False
    pairs = zip(lexed.tokens, lexed.tokens[1:], strict=False)
    if any(one.text == ";" and other.text in STARTS for one, other in pairs):
        return False
    return not any(
        match["word"].lower() in STARTS and _is_sure(match["word"]) and _is_sql(rest[match.start() :], rules)
        for match in _MORE.finditer(rest)
    )


def _one_semicolon(lexed: Lexed, length: int) -> tuple[int, int]:
    """Return where the only statement begins and ends where semicolons without one stand around it."""
    marks = [token for token in lexed.tokens if token.kind == "mark" and token.text == ";"]
    if lexed.problem is not None or lexed.gated or lexed.statements != 1 or not marks:
        return 0, length
    code = [token for token in lexed.tokens if token.text != ";" or token.kind != "mark"]
    leading, trailing = (
        marks[0].start < code[0].start,
        [mark for mark in marks if mark.start > code[-1].start],
    )
    if not leading and len(trailing) == 1:
        return 0, length
    start = code[0].start if leading else 0
    return start, trailing[0].end if trailing and (leading or len(trailing) > 1) else length

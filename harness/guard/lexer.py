"""The guard's own reading of a text at the engine's lexical level, independent of any parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.dialect_adapters.escapes import escaped_name

UNTERMINATED = "an unterminated quote"
_HINT = re.compile(r"(?:[\w\s(),.@=]|`[\w ]+`)*", re.ASCII)
_GATED = re.compile(r"!(?:\d{5,6}(?=\s))?[^'\"`#*/\\;]*+")
_BAD_HINT = re.compile(r"set_var|resource_group|max_execution_time\s*\(\s*(?:0+\s*\)|\d{6})", re.IGNORECASE)
_DIGIT_PREFIXES = frozenset({"b", "x"})
_SAME = {"tag": "dollar", "whole": "number"}
_UESCAPE = re.compile(r"(?:\s|--[^\n\r]*|/\*.*?\*/)*uescape\b", re.IGNORECASE | re.DOTALL)
_FEW_QUOTES = 16
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of code: a word, quoted name, string, number or punctuation mark, lower-cased and unquoted.

    `spelled` keeps a word as it stands in the text.
    """

    kind: str
    text: str
    start: int
    end: int
    spelled: str = ""


@dataclass(slots=True)
class Lexed:
    """A text as the engine reads it: its tokens, one letter per character, and what is wrong with it.

    `gated` says that it has comments which some versions of the engine run.
    """

    tokens: list[Token] = field(default_factory=list)
    spans: list[tuple[int, int, str]] = field(default_factory=list)
    problem: str | None = None
    gated: bool = False

    def mask(self, length: int) -> str:
        """Return one letter per character as the parser's lexmap has, `?` where the two may differ."""
        letters = [" "] * length
        for start, end, letter in self.spans:
            letters[start:end] = letter * (end - start)
        return "".join(letters)

    @property
    def depth(self) -> int:
        """Return the deepest nesting of brackets."""
        depth = deepest = 0
        for token in self.tokens:
            if token.kind == "mark":
                depth += (token.text in _OPEN) - (token.text in _CLOSE)
                deepest = max(deepest, depth)
        return deepest

    @property
    def statements(self) -> int:
        """Return how many statements stand between semicolons."""
        count, filled = 0, False
        for token in self.tokens:
            if token.kind == "mark" and token.text == ";":
                count, filled = count + filled, False
            else:
                filled = True
        return count + filled

    def code(self) -> str:
        """Return the code with one blank between tokens; literals and quoted names are blanked out."""
        return " ".join(token.text if token.kind in {"word", "mark", "number"} else "_" for token in self.tokens)


@cache
def _pattern(
    prefixes: tuple[str, ...],
    escapes: tuple[str, ...],
    backslash: bool,
    double: bool,
    brackets: bool,
    dollar: bool,
    odbc: bool,
    quotes: str,
    line: str,
    numbers: str,
    escaped_names: bool,
) -> re.Pattern[str]:
    """Compile the token pattern of one engine; possessive, so that no text makes it backtrack."""
    body = r"(?:[^'\\]++|\\.|'')*+" if backslash else r"(?:[^']++|'')*+"
    parts = [r"(?P<blank>[ \t\r\n]++)", rf"(?P<comment>{line})", r"(?P<block>/\*)"]
    if escapes:
        parts.append(rf"(?P<escaped>(?i:{'|'.join(escapes)})'(?:[^'\\]++|\\.|'')*+')")
    if prefixes:
        digits = [prefix for prefix in prefixes if prefix in _DIGIT_PREFIXES]
        texts = [prefix for prefix in prefixes if prefix not in _DIGIT_PREFIXES]
        plain = rf"|(?i:{'|'.join(texts)})'(?:[^']++|'')*+'" if texts else ""
        parts.append(rf"(?P<prefixed>(?i:{'|'.join(digits)})'[0-9a-fA-F]*+'{plain})")
    parts.append(rf"(?P<string>'{body}')")
    if double:
        parts.append(r"(?P<doubled>" + (r'"(?:[^"\\]++|\\.|"")*+"' if backslash else r'"(?:[^"]++|"")*+"') + ")")
    if dollar:
        parts.append(r"(?P<dollar>\$(?P<tag>(?:[^\W\d]\w*+)?)\$.*?\$(?P=tag)\$)")
    if odbc:
        parts.append(r"(?P<odbc>\{[ ]?(?i:d|ts|t)[ ]?'[^'\\]*+'[ ]?\})")
    names = [rf"{quote}(?:[^{quote}]++|{quote}{quote})*+{quote}" for quote in quotes]
    if brackets:
        names.append(r"\[[^\]]*+\]")
    if escaped_names:
        parts.append(r"(?P<unicode>(?i:u&)\"(?:[^\"]++|\"\")*+\")")
    parts.append(rf"(?P<name>{'|'.join(names)})")
    parts.append(
        r"(?P<number>(?:0[xX][0-9a-fA-F]++|0[bB][01]++|(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?))"
    )
    if numbers:
        parts.insert(-1, rf"(?P<whole>{numbers})")
    parts.append(r"(?P<word>[^\W\d][\w$]*+)")
    parts.append(r"(?P<mark>.)")
    return re.compile("|".join(parts), re.DOTALL)


def _line_comment(rules: GrammarRules) -> str:
    """Return the pattern of a comment that runs to the end of its line."""
    ends = re.escape(rules.dash_comment_ends)
    dash = rf"--(?=[ \t\r\n]|\Z)[^{ends}]*+" if rules.dash_comment_needs_blank else rf"--[^{ends}]*+"
    return rf"{dash}|\#[^\n]*+" if rules.hash_comments else dash


def lex(sql: str, rules: GrammarRules, most: int | None = None) -> Lexed:
    """Read a text, or its first `most` tokens; `problem` names what an engine and a parser could read differently."""
    pattern = _pattern(
        rules.string_prefixes,
        rules.escape_prefixes,
        rules.backslash_escapes,
        rules.double_quoted_strings,
        rules.bracket_identifiers,
        rules.dollar_quotes,
        rules.odbc_literals,
        rules.identifier_quotes,
        _line_comment(rules),
        rules.spellings.numbers,
        rules.spellings.escaped_names,
    )
    lexed = Lexed()
    place = 1 if rules.leading_bom and sql.startswith("\ufeff") else 0
    while place < len(sql) and lexed.problem is None and (most is None or len(lexed.tokens) < most):
        match = pattern.match(sql, place)
        if match is None:  # The last alternative takes any character.
            raise AssertionError("the token pattern is total")
        kind = _SAME.get(str(match.lastgroup), match.lastgroup)
        place = _block(sql, place, lexed, rules) if kind == "block" else _token(match, str(kind), lexed, sql)
    return lexed


def read_on(lexed: Lexed, sql: str, rules: GrammarRules) -> Lexed | None:
    """Return the tokens of a text whose quotes do not end, what stands behind them read as code; None past a few.

    No engine runs such a text: this is only how it is looked into for what would be a danger.
    """
    tokens, start = list(lexed.tokens), lexed.tokens[-1].end
    for _ in range(_FEW_QUOTES):
        rest = lex(sql[start:], rules)
        tokens += rest.tokens
        if rest.problem is None and not rest.gated:
            return Lexed(tokens)
        if rest.problem != UNTERMINATED:
            return None
        start += rest.tokens[-1].end
    return None


def split(sql: str, rules: GrammarRules) -> list[str]:
    """Return the statements of a text, each without its semicolon; one that cannot be read to its end is one."""
    lexed, start, found = lex(sql, rules), 0, list[str]()
    for token in lexed.tokens:
        if token.kind == "mark" and token.text == ";":
            found.append(sql[start : token.start])
            start = token.end
    return [text for text in (*found, sql[start:]) if text.strip()]


def _token(match: re.Match[str], kind: str, lexed: Lexed, sql: str) -> int:
    """Add one token and return where the next begins."""
    start, end = match.span()
    if kind in {"blank", "comment"}:
        return end
    text = match.group()
    before = lexed.tokens[-1] if lexed.tokens else None
    if kind == "odbc":
        lexed.spans.append((start, end, "?"))
        lexed.tokens.append(Token("string", text, start, end))
        return end
    if kind in {"string", "doubled", "dollar", "prefixed", "escaped"}:
        if before is not None and before.kind == "escaped":
            lexed.problem = "a string that continues one with escapes"
        lexed.spans.append((start, end, "s"))
        lexed.tokens.append(Token("escaped" if kind == "escaped" else "string", text, start, end))
        return end
    if kind == "unicode":
        name = escaped_name(text)
        if not name or _UESCAPE.match(sql, end):
            lexed.problem = "a name with Unicode escapes that are not the usual ones"
        lexed.spans.append((start, end, "i"))
        lexed.tokens.append(Token("name", (name or "").lower(), start, end))
        return end
    if kind == "name":
        lexed.spans.append((start, end, "i"))
        quote = "]" if text[0] == "[" else text[0]
        if before is not None and before.end == start and before.text in {"&", "u"}:
            lexed.problem = "a name with Unicode escapes"
        lexed.tokens.append(Token("name", text[1:-1].replace(quote * 2, quote).lower(), start, end))
        return end
    lexed.spans.append((start, end, "c"))
    lexed.tokens.append(Token(kind, text.lower(), start, end, text))
    lexed.problem = _trouble(kind, text, start, end, before, sql)
    return end


def _trouble(kind: str, text: str, start: int, end: int, before: Token | None, sql: str) -> str | None:
    """Say what makes a word, number or mark ambiguous between engine and parser."""
    if kind == "number":
        after = sql[end : end + 1]
        if after and (after.isalnum() or after in "_$."):
            return "a number that runs into a word"
        if before is not None and before.end == start and before.kind in {"word", "name"}:
            return "a number that runs into a name"
    if kind == "mark":
        if text in "'\"`":
            return UNTERMINATED
        if not text.isascii():
            return "a non-ASCII character outside a literal"
    return None


def _block(sql: str, place: int, lexed: Lexed, rules: GrammarRules) -> int:
    """Read a block comment, a hint or an executable comment and return where it ends."""
    end = _block_end(sql, place, nested=rules.nested_comments)
    if end is None:
        lexed.problem = "an unterminated comment"
        return len(sql)
    inside = sql[place + 2 : end - 2]
    if inside.startswith("+"):
        if _HINT.fullmatch(inside, 1) is None or _BAD_HINT.search(inside):
            lexed.problem = "an optimizer hint that can change more than the plan"
        lexed.spans.append((place, end, "?"))
    if rules.executable_comments and "!" in inside[:2]:
        words = re.sub(r"^!(?:\d{5,6}(?=\s|\Z))?", "", inside).lower().split()
        if not rules.comment_words.issuperset(words) or not _after_select(lexed.tokens):
            lexed.gated = True
            lexed.problem = lexed.problem or (None if _GATED.fullmatch(inside) else "an executable comment")
    return end


def _after_select(tokens: list[Token]) -> bool:
    """Return True right after SELECT: between tables, STRAIGHT_JOIN makes a table of what the parser calls an alias."""
    found = bool(tokens) and tokens[-1].kind == "word" and tokens[-1].text == "select"
    return found and (len(tokens) == 1 or tokens[-2].text != ".")


def _block_end(sql: str, place: int, *, nested: bool) -> int | None:
    """Return the position after the comment that starts at `place`, None where it never ends."""
    depth, at = 1, place + 2
    while depth:
        close = sql.find("*/", at)
        if close < 0:
            return None
        inner = sql.find("/*", at, close) if nested else -1
        if inner >= 0:
            depth, at = depth + 1, inner + 2
        else:
            depth, at = depth - 1, close + 2
    return at

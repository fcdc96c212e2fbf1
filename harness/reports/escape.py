"""Makes text of unknown origin safe for each place it is printed in: Markdown, XML, CSV, JSON and terminals."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NO_CHARACTERS = frozenset("\ufffe\uffff")
_JSON_UNSAFE = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_URI_LOGIN = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@'\"]*:[^\s/'\"]*@")
_DSN_LOGIN = re.compile(r"(\b(?:host|hostaddr|dbname|user|port)=\S+[^\n]*?\b(?:password|passwd|pwd)=)[^\s'\";]+", re.I)
_MARKDOWN = re.compile(r"[&<>`*\[\]|~\\#$!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def redact(text: str) -> str:
    """Return the text with the login part of every connection string replaced, so no report carries a password."""
    if "://" not in text and "=" not in text:  # neither pattern can match: most cells of a report end here
        return text
    return _DSN_LOGIN.sub(r"\1***", _URI_LOGIN.sub(r"\1***@", text))


def visible(text: str) -> str:
    """Return the text with control, direction-changing and zero-width characters spelled out; line ends stay."""
    safe = redact(text)
    return safe if safe.isprintable() else "".join(map(_shown, safe))


def spelled_out(text: str) -> str:
    """Return a cell's text with every character that cannot be told by its looks as an escape: blanks that are none."""
    if text.isascii():
        return text
    return "".join(_escape(one) if _unseen(one) else one for one in text)


def _unseen(character: str) -> bool:
    """Tell whether a character past ASCII leaves no mark of its own: another blank, a filler, a variant's sign."""
    kind = unicodedata.category(character)
    return not character.isascii() and (kind in _HIDDEN or kind == "Zs" or _BLANK.match(character) is not None)


def one_line(text: str) -> str:
    """Return visible text on one line: what a terminal, a table cell or an XML attribute can hold."""
    return visible(text).replace("\n", "\\n").replace("\t", " ")


def markdown(text: str) -> str:
    """Return text that renders as itself inside a Markdown table cell: no markup, link, mention or HTML survives."""
    escaped = _MARKDOWN.sub(lambda found: f"&#{ord(found.group())};", one_line(text))
    return escaped.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;\u200b")


def markdown_code(text: str) -> str:
    """Return inline code for a table cell, as HTML with entities, since a code span cannot hold every pipe."""
    return f"<code>{markdown(text)}</code>"


def markdown_block(text: str, language: str = "sql") -> str:
    """Return a fenced block whose fence is longer than any run of backticks inside it."""
    body = visible(text)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def xml(text: str) -> str:
    """Return text without the characters XML 1.0 forbids; the XML writer does the markup."""
    return visible(text)


def csv_cell(text: str) -> str:
    """Return text that no spreadsheet takes for a formula: a leading apostrophe marks it as text."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(_FORMULA) or shown.lstrip().startswith(_FORMULA) else shown


def json_text(encoded: str) -> str:
    """Return encoded JSON with characters that terminals obey or UTF-8 cannot hold written as hexadecimal escapes."""
    return _JSON_UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", encoded)


def _shown(character: str) -> str:
    """Return a character itself, or the escape Python would print for one that is not seen but obeyed."""
    hidden = unicodedata.category(character) in _HIDDEN or character in _NO_CHARACTERS
    if not hidden or character in "\n\t":
        return character
    return _escape(character)


def _escape(character: str) -> str:
    """Return the escape Python would print for a character."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

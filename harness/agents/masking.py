"""What an agent's error may not carry into results and reports: the secrets of whoever runs it."""

from __future__ import annotations

import re

from sqlassay.harness.reports.escape import redact

_NAMES = (
    r"pass(?:word|wd|phrase)?|pwd|secret|(?<!unexpected )(?<!invalid )token|credentials?"
    r"|(?:api|access|account|private|secret)[_-]?key"
)
_VALUE = r"\"[^\"\n]*\"?|'[^'\n]*'?|[^\s,;&)}\]'\"]+"
_NAMED = re.compile(
    rf"(?<![a-zA-Z])((?:[\w-]*[_-]|pg|db|mysql)?(?:{_NAMES})(?:[_-]\w+)?(?![a-zA-Z])[\"']?\s*(?:=>|[:=])\s*)(?:{_VALUE})",
    re.I,
)
_HEADER = re.compile(
    r"((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)((?:bearer|basic|token|digest|negotiate)\s+)?[^\s\"',;)}\]]+",
    re.I,
)
_BEARER = re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,}", re.I)
_KEYS = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bxox[a-z]-[\w-]{8,}"
    r"|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
_CUT_LOGIN = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/@:]*:)(?!\d{1,5}\b)[^\s/@]+$")


def masked(text: str) -> str:
    """Return an error's text with every value that looks like a secret replaced, and as text UTF-8 can hold."""
    safe = redact(text.encode("utf-8", "backslashreplace").decode("utf-8"))
    for pattern, put in (
        (_CUT_LOGIN, r"\1***"),
        (_HEADER, r"\1\2***"),
        (_BEARER, r"\1***"),
        (_NAMED, r"\1***"),
        (_KEYS, "***"),
    ):
        safe = pattern.sub(put, safe)
    return safe

"""FULL JOIN for an engine that has none: both sides are joined to a row that says which half of the result it makes."""

# ruff: noqa: S608 (every part is a text of our own writing)

from __future__ import annotations

_HALF = "full join half"
_HERE = "full join here"


def full_join(name: str, left: str, other: str, right: str, condition: str, quote: tuple[str, str]) -> tuple[str, str]:
    """Return FROM and the condition that belongs into WHERE; `left` and `right` are sources with their aliases.

    The first half is a LEFT JOIN, the second every row of the right side that meets none of the left. A side that is
    not there (`here` is NULL) makes no row of its half: without that, an empty side would give one of NULLs.
    """
    opened, closed = quote
    half, here = f"{opened}{_HALF}{closed}", f"{opened}{_HERE}{closed}"
    halves = f"(SELECT 1 AS {half} UNION ALL SELECT 2) AS {half}"
    lonely = f"{half}.{half} = 2 AND NOT EXISTS (SELECT 1 FROM {left} WHERE {condition})"
    source = (
        f" FROM {halves} LEFT JOIN (SELECT {name}.*, 1 AS {here} FROM {left}) AS {name} ON {half}.{half} = 1"
        f" LEFT JOIN (SELECT {other}.*, 1 AS {here} FROM {right}) AS {other}"
        f" ON ({half}.{half} = 1 AND ({condition})) OR ({lonely})"
    )
    return source, f"(({half}.{half} = 1 AND {name}.{here} = 1) OR ({half}.{half} = 2 AND {other}.{here} = 1))"

"""Text retold for another engine: patterns, joining, lengths and parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from dialect_adapters.transpile.common import BOOL, INT, KIND, TEXT, kind
from dialect_adapters.transpile.facts import Refused
from dialect_adapters.transpile.moments import Hand


def _like(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write LIKE with case counting, or not."""
    pattern = node.expression
    constant = pattern.name if isinstance(pattern, exp.Literal) and pattern.is_string else None
    folded = isinstance(node, exp.ILike)
    said = hand.tell.like(hand.said(node.this), constant, hand.said(pattern), folded=folded)
    if said is None:
        raise Refused("LIKE with a pattern that is computed")
    return hand.made(f"(NOT {said})" if node.args.get("negate") else said, BOOL)


def _case(_hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Write LOWER and UPPER of a constant as the constant they give."""
    inner = node.this
    if not (isinstance(inner, exp.Literal) and inner.is_string and inner.name.isascii()):
        return None
    literal = exp.Literal.string(inner.name.lower() if isinstance(node, exp.Lower) else inner.name.upper())
    literal.meta[KIND] = TEXT
    return literal


def _joined(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write CONCAT and ||: NULL is left out, or makes the whole NULL."""
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    skips = isinstance(node, exp.Concat) and hand.habits.skips_nulls
    texts = [hand.said(one) if kind(one) == TEXT else hand.tell.text(hand.said(one)) for one in parts]
    return hand.made(hand.tell.concat([f"COALESCE({text}, '')" if skips else text for text in texts]), TEXT)


def _listed(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Write a joined list of texts; one whose order counts only where the engine can say it."""
    if isinstance(node.this, exp.Order) and not hand.tell.ordered_lists:
        raise Refused("the order inside a joined list")
    return None


def _length(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write a text's length in characters."""
    if node.args.get("binary"):
        raise Refused("a length in bytes")
    return hand.made(hand.tell.length(hand.said(node.this)), INT)


def _position(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write where a part stands in a text."""
    if node.args.get("position") is not None or node.args.get("occurrence") is not None:
        raise Refused("a search that starts within a text")
    return hand.made(hand.tell.position(hand.said(node.this), hand.said(node.args["substr"])), INT)


def _ends(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write LEFT and RIGHT."""
    left = isinstance(node, exp.Left)
    return hand.made(hand.tell.ends(hand.said(node.this), hand.said(node.expression), left=left), TEXT)


def _substring(_hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Keep SUBSTRING from a place within the text; engines differ on every other."""
    start = node.args.get("start")
    if not (isinstance(start, exp.Literal) and start.name.isdigit() and int(start.name) > 0):
        raise Refused("SUBSTRING from a computed place, or from before the text")
    node.meta[KIND] = TEXT
    return None


WRITERS: Mapping[type[exp.Expr], Callable[[Hand, exp.Expr], exp.Expr | None]] = {
    exp.Like: _like,
    exp.ILike: _like,
    exp.Lower: _case,
    exp.Upper: _case,
    exp.Concat: _joined,
    exp.DPipe: _joined,
    exp.GroupConcat: _listed,
    exp.Length: _length,
    exp.StrPosition: _position,
    exp.Left: _ends,
    exp.Right: _ends,
    exp.Substring: _substring,
}

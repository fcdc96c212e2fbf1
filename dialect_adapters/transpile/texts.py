"""Text retold for another engine: patterns, joining, lengths and parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from sqlassay.dialect_adapters.transpile import regex
from sqlassay.dialect_adapters.transpile.common import BOOL, DATE, INT, KIND, MOMENT, TEXT, kind
from sqlassay.dialect_adapters.transpile.facts import Refused
from sqlassay.dialect_adapters.transpile.moments import Hand


def _like(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write LIKE with case counting, or not."""
    pattern = node.expression
    constant = pattern.name if isinstance(pattern, exp.Literal) and pattern.is_string else None
    folded = isinstance(node, exp.ILike)
    said = hand.tell.like(hand.said(node.this), constant, hand.said(pattern), folded=folded)
    if said is None:
        raise Refused("LIKE with a pattern that is computed")
    return hand.made(f"(NOT {said})" if node.args.get("negate") else said, BOOL)


def _matched(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write a match with a constant regular expression."""
    pattern = node.expression
    if not hand.habits.matches_letters:
        raise Refused("a regular expression of other than Postgres")
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise Refused("a computed regular expression")
    said = hand.tell.matches(hand.said(node.this), regex.read(pattern.name))
    if said is None:
        raise Refused(f"the regular expression '{pattern.name}', of which GLOB cannot say all")
    return hand.made(said, BOOL)


def _case(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Write LOWER and UPPER, of a constant as the constant they give."""
    inner, upper = node.this, isinstance(node, exp.Upper)
    if isinstance(inner, exp.Literal) and inner.is_string and inner.name.isascii():
        literal = exp.Literal.string(inner.name.upper() if upper else inner.name.lower())
        literal.meta[KIND] = TEXT
        return literal
    if hand.tell.folds_all or _held_against_ascii(node):
        return None
    return hand.made(hand.tell.fold(hand.said(inner), upper=upper), TEXT)


def _held_against_ascii(node: exp.Expr) -> bool:
    """Return whether a text is only compared with constants of ASCII, which other letters never equal."""
    parent = node.parent
    if not isinstance(parent, (exp.EQ, exp.NEQ, exp.Like, exp.ILike, exp.In)):
        return False
    others = [one for one in parent.iter_expressions() if one is not node]
    return all(_ascii_constant(one) for one in others)


def _ascii_constant(node: exp.Expr) -> bool:
    """Return whether a part is a text of ASCII, or LOWER or UPPER of one: what stands behind is retold later."""
    inner = node.unnest()
    while isinstance(inner, (exp.Lower, exp.Upper)):
        inner = inner.this.unnest()
    return isinstance(inner, exp.Literal) and bool(inner.is_string) and inner.name.isascii()


def counted(said: str) -> str:
    """Return a truth value as a number."""
    return f"(CASE WHEN {said} THEN 1 WHEN NOT {said} THEN 0 END)"


def as_text(hand: Hand, node: exp.Expr) -> str:
    """Return a value's text; raises Refused for numbers with a fraction, which each engine spells in its own way."""
    said, found = hand.said(node), kind(node)
    if found == TEXT or isinstance(node, exp.Null):
        return said
    if found == BOOL and not hand.habits.truth_words:
        return hand.tell.text(counted(said))
    if found == BOOL:
        return f"(CASE WHEN {said} THEN 'true' WHEN NOT {said} THEN 'false' END)"
    if found == MOMENT and not (hand.habits.truth_words and hand.tell.moment_text):
        raise Refused("the text of a moment, whose fraction each engine spells in its own way")
    if found in (INT, DATE, MOMENT):
        return hand.tell.text(said)
    raise Refused("the text of a number with a fraction, which each engine spells in its own way")


def _joined(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write CONCAT and ||: NULL is left out, or makes the whole NULL."""
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    skips = isinstance(node, exp.Concat) and hand.habits.skips_nulls
    if skips and any(kind(one) == BOOL for one in parts):
        raise Refused("truth within CONCAT")
    texts = [as_text(hand, one) for one in parts]
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
    """Write LEFT and RIGHT: a negative number leaves so many characters out, or gives none."""
    left, text, given = isinstance(node, exp.Left), hand.said(node.this), node.expression.unnest()
    count = hand.said(given)
    found = hand.tell.ends(text, count, left=left)
    if isinstance(given, exp.Literal) or (hand.habits.counts_from_end and hand.tell.counts_from_end):
        return hand.made(found, TEXT)
    negative = "0"
    if hand.habits.counts_from_end:
        rest = f"({hand.tell.length(text)} + {count})"
        negative = f"(CASE WHEN {rest} > 0 THEN {rest} ELSE 0 END)"
    other = hand.tell.ends(text, negative, left=left)
    return hand.made(f"(CASE WHEN {count} < 0 THEN {other} ELSE {found} END)", TEXT)


def _substring(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Write SUBSTRING from a place within the text, on any other of which engines differ; a negative length is none."""
    start, length = node.args.get("start"), node.args.get("length")
    if not (isinstance(start, exp.Literal) and start.name.isdigit() and int(start.name) > 0):
        raise Refused("SUBSTRING from a computed place, or from before the text")
    if length is not None and not (isinstance(length, exp.Literal) and length.name.isdigit()):
        said = hand.said(length)
        cut = exp.cast(exp.Var(this=f"(CASE WHEN {said} < 0 THEN 0 ELSE {said} END)"), "INT")
        length.replace(hand.made(cut.sql(dialect=hand.tell.grammar), INT))
    node.meta[KIND] = TEXT
    return None


def _joined_by(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write CONCAT_WS: parts that are NULL are left out, with their separator."""
    separator, *parts = node.expressions
    said = as_text(hand, separator)
    texts = [as_text(hand, one) for one in parts]
    if hand.tell.joins_by:
        return hand.made(f"CONCAT_WS({', '.join((said, *texts))})", TEXT)
    behind = [f"(CASE WHEN {text} IS NULL THEN '' ELSE {said} || {text} END)" for text in texts]
    return hand.made(f"SUBSTR({' || '.join(behind)}, LENGTH({said}) + 1)", TEXT)


def _split(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Write SPLIT_PART with a constant separator and one of the first parts."""
    mark, place = node.args["delimiter"], node.args["part_index"]
    plain = isinstance(mark, exp.Literal) and mark.is_string and mark.name
    if not plain or not isinstance(place, exp.Literal) or place.name not in ("1", "2", "3"):
        raise Refused("SPLIT_PART by what is computed, or beyond the third part")
    text, said = hand.said(node.this), hand.said(mark)
    for _ in range(int(place.name) - 1):
        at = hand.tell.position(text, said)
        rest = f"SUBSTR({text}, {at} + {len(mark.name)})"
        none = f"WHEN {text} IS NOT NULL THEN ''"
        text = f"(CASE WHEN {at} > 0 THEN {rest} {none} END)"
    at = hand.tell.position(text, said)
    return hand.made(f"(CASE WHEN {at} > 0 THEN SUBSTR({text}, 1, {at} - 1) ELSE {text} END)", TEXT)


def _trim(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Keep TRIM of spaces or of one letter; of several, engines mean any of them or the text that they make."""
    letters = node.expression if node.args.get("expression") is not None else None
    single = letters is None or (isinstance(letters, exp.Literal) and len(letters.name) <= 1)
    if not single and hand.habits.trims_letters is not hand.tell.trims_letters:
        raise Refused("TRIM of several letters")
    if not single and not hand.habits.trims_letters and hand.tell.grammar != hand.habits.grammar:
        raise Refused("TRIM of several letters")
    node.meta[KIND] = TEXT
    return None


def _replaced(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Keep REPLACE; one engine looks at what is put in only where it finds what is taken out."""
    given = node.args.get("replacement")
    if given is None or isinstance(given, exp.Literal):
        return None
    said = hand.said(given)
    return hand.made(f"(CASE WHEN {said} IS NOT NULL THEN {hand.said(node)} END)", TEXT)


WRITERS: Mapping[type[exp.Expr], Callable[[Hand, exp.Expr], exp.Expr | None]] = {
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _matched,
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
    exp.Trim: _trim,
    exp.ConcatWs: _joined_by,
    exp.SplitPart: _split,
    exp.Replace: _replaced,
}

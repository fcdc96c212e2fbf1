"""The outermost ORDER BY, and the probe: the same text with its hidden keys selected and one row more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sqlassay.harness.parse.resolve import Resolver

_OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSE = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_AFTER_SELECT = frozenset(
    {TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.WINDOW, TokenType.ORDER_BY, TokenType.LIMIT}
)
_AFTER_ORDER = frozenset({TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.FOR, TokenType.SEMICOLON})
_FOLDED = {"nocase": "(lower({}))", "rtrim": "(rtrim({}, ' '))", "binary": "({})"}
"""What is equal exactly where two texts are equal under a collation; of other collations nothing is known."""

_KEY_PREFIX = "sqlassay_key_"
_RANK = "sqlassay_rank"


@dataclass(frozen=True)
class _Key:
    """One ORDER BY key: its output column (None = hidden) and its tree node."""

    column: int | None
    node: exp.Ordered


def order_facts(
    tree: exp.Expr, text: str, tokens: list[Token], resolver: Resolver, names: list[str], dialect: str
) -> dict[str, Any] | None:
    """Return the facts about the outermost ORDER BY, None where there is none."""
    root = tree
    while isinstance(root, exp.Subquery) and not root.args.get("order"):
        root = root.this
    order = root.args.get("order")
    if order is None:
        return None
    keys = [_Key(_column(node, root, resolver, names), node) for node in order.expressions]
    limit = _limit_node(root)
    literal = int(limit.name) if isinstance(limit, exp.Literal) and limit.is_int else None
    has_limit = root.args.get("limit") is not None
    outermost = _depth_zero(tokens)
    slices = _key_slices(outermost)
    spelled = [key.node.this.sql(dialect=dialect) for key in keys]
    probe = whole = ranked = None
    if slices is not None and len(slices) == len(keys):
        spelled = [text[bare[0].start : bare[-1].end + 1] for bare in slices]
        if root is tree:
            probe = _probe(root, keys, slices, literal, outermost, text)
            whole = _whole(root, keys, slices, outermost, text) if has_limit else None
            ranked = _ranked(root, keys, slices, literal, outermost, text)
    return {
        "keys": [
            (key.column, "desc" if key.node.args.get("desc") else "asc", _nulls(sql_tail), sql)
            for key, sql, sql_tail in zip(keys, spelled, _tails(outermost, text, len(keys)), strict=True)
        ],
        "limit": literal,
        "has_limit": has_limit,
        "probe_sql": probe,
        "whole_sql": whole,
        "rank_sql": ranked,
        "offset": _skips(root),
    }


def _skips(root: exp.Expr) -> bool:
    """Return whether rows are cut at the start: OFFSET n or LIMIT n, m with anything but a literal 0."""
    offset = root.args.get("offset")
    if offset is None:
        return False
    node = offset.expression if isinstance(offset, exp.Offset) else offset
    return not (isinstance(node, exp.Literal) and node.is_int and int(node.name) == 0)


def _limit_node(root: exp.Expr) -> exp.Expr | None:
    """Return the expression of LIMIT or FETCH FIRST."""
    limit = root.args.get("limit")
    if limit is None:
        return None
    node = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    return node if isinstance(node, exp.Expr) else None


def _column(ordered: exp.Ordered, root: exp.Expr, resolver: Resolver, names: list[str]) -> int | None:
    """Return the output column a key sorts by: an ordinal, an output name or the same expression; None if hidden."""
    key = ordered.this
    known = names[: names.index("*")] if "*" in names else names
    if isinstance(key, exp.Literal) and key.is_int:
        place = int(key.name) - 1
        return place if 0 <= place < len(names) and "*" not in names[: place + 1] else None
    select = root
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    if isinstance(key, exp.Column) and not key.table and known.count(key.name.lower()) == 1:
        return known.index(key.name.lower())
    if not isinstance(select, exp.Select) or isinstance(root, exp.SetOperation):
        return None
    wanted = _qualified(key, resolver, select)
    for place, projection in enumerate(_flat(select, names)):
        if projection is not None and place < len(known) and _qualified(projection, resolver, select) == wanted:
            return place
    if isinstance(key, exp.Column) and _owner(key, resolver, select) is not None and known.count(key.name.lower()) == 1:
        place = known.index(key.name.lower())
        return place if _flat(select, names)[place] is None else None
    return None


def _flat(select: exp.Select, names: list[str]) -> list[exp.Expr | None]:
    """Return one entry per output column: its projection, or None for a column that came from a star."""
    stars = [index for index, projection in enumerate(select.expressions) if projection.is_star]
    plain = list(select.expressions)
    if not stars:
        return plain + [None] * (len(names) - len(plain))
    head: list[exp.Expr | None] = plain[: stars[0]]
    tail: list[exp.Expr | None] = plain[stars[-1] + 1 :]
    return head + [None] * (len(names) - len(head) - len(tail)) + tail


def _owner(column: exp.Column, resolver: Resolver, select: exp.Select) -> str | None:
    """Return the alias of the source a column belongs to, None where it is not known."""
    if column.table:
        return column.table.lower()
    sources = resolver.sources_of(select)
    if sources is None:
        return None
    name = column.name.lower()
    owners = [
        alias for alias, outputs in sources.by_alias.items() if any(name == output for output, _ in outputs or [])
    ]
    if len(owners) == 1:
        return owners[0]
    return next(iter(sources.by_alias)) if len(sources.by_alias) == 1 else None


def _qualified(node: exp.Expr, resolver: Resolver, select: exp.Select) -> str:
    """Spell an expression so that two that surely mean the same have the same text; qualifiers are filled in."""
    while isinstance(node, (exp.Alias, exp.Paren)):
        node = node.this
    copy = node.copy()
    for column in copy.find_all(exp.Column):
        owner = _owner(column, resolver, select)
        column.set("table", None if owner is None else exp.to_identifier(owner))
        if isinstance(column.this, exp.Identifier):
            column.set("this", exp.to_identifier(column.name.lower()))
    return copy.sql(comments=False)


def _depth_zero(tokens: list[Token]) -> list[tuple[Token, bool]]:
    """Return every token with whether it stands outside all brackets (a bracket itself never does)."""
    placed: list[tuple[Token, bool]] = []
    depth = 0
    for token in tokens:
        if token.token_type in _OPEN:
            depth += 1
        placed.append((token, depth == 0))
        if token.token_type in _CLOSE:
            depth -= 1
    return placed


def _order_tokens(placed: list[tuple[Token, bool]]) -> list[list[tuple[Token, bool]]] | None:
    """Return the tokens of each outermost ORDER BY key, None where there is no ORDER BY outside brackets."""
    starts = [
        index for index, (token, outside) in enumerate(placed) if outside and token.token_type is TokenType.ORDER_BY
    ]
    if not starts:
        return None
    groups: list[list[tuple[Token, bool]]] = [[]]
    for token, outside in placed[starts[-1] + 1 :]:
        if outside and token.token_type in _AFTER_ORDER:
            break
        if outside and token.token_type is TokenType.COMMA:
            groups.append([])
        else:
            groups[-1].append((token, outside))
    return groups


def _bare(group: list[tuple[Token, bool]]) -> list[Token]:
    """Return a key's tokens without direction and NULLS."""
    tokens = [token for token, _ in group]
    upper = [token.text.upper() for token in tokens]
    if len(upper) > 2 and upper[-2] == "NULLS":
        tokens, upper = tokens[:-2], upper[:-2]
    return tokens[:-1] if upper and upper[-1] in {"ASC", "DESC"} else tokens


def _key_slices(placed: list[tuple[Token, bool]]) -> list[list[Token]] | None:
    """Return the tokens of each key without direction and NULLS."""
    groups = _order_tokens(placed)
    if groups is None:
        return None
    bare = [_bare(group) for group in groups]
    return bare if all(bare) else None


def _tails(placed: list[tuple[Token, bool]], text: str, count: int) -> list[str]:
    """Return the text of each key with direction and NULLS, empty texts where keys cannot be told apart."""
    groups = _order_tokens(placed)
    if groups is None or len(groups) != count or not all(groups):
        return [""] * count
    return [text[group[0][0].start : group[-1][0].end + 1] for group in groups]


def _nulls(tail: str) -> str | None:
    """Return where the key says NULLs go, None where it does not say."""
    words = tail.upper().split()
    return words[-1].lower() if len(words) > 1 and words[-2] == "NULLS" else None


def _probe(
    root: exp.Expr,
    keys: list[_Key],
    slices: list[list[Token]],
    literal: int | None,
    placed: list[tuple[Token, bool]],
    text: str,
) -> str | None:
    """Return the spliced text, None where it is not needed or cannot be built without changing what the query means."""
    hidden = [(key, bare) for key, bare in zip(keys, slices, strict=True) if key.column is None]
    limited = root.args.get("limit") is not None
    if not hidden and not limited:
        return None
    edits: list[tuple[int, int, str] | None] = [_raised(placed, literal)] if limited else []
    if hidden:
        edits.append(_with_keys(root, hidden, placed, text))
    return _edited(text, edits)


def _whole(
    root: exp.Expr, keys: list[_Key], slices: list[list[Token]], placed: list[tuple[Token, bool]], text: str
) -> str | None:
    """Return the text with its hidden keys and without its LIMIT, None where that cannot be built."""
    hidden = [(key, bare) for key, bare in zip(keys, slices, strict=True) if key.column is None]
    edits = [_uncut(placed, text)]
    if hidden:
        edits.append(_with_keys(root, hidden, placed, text))
    return _edited(text, edits)


def _ranked(
    root: exp.Expr,
    keys: list[_Key],
    slices: list[list[Token]],
    literal: int | None,
    placed: list[tuple[Token, bool]],
    text: str,
) -> str | None:
    """Return the probe with the rank by all keys as its last column, None where that cannot be built."""
    every = list(zip(keys, slices, strict=True))
    edits = [_raised(placed, literal)] if root.args.get("limit") is not None else []
    hidden = [(key, bare) for key, bare in every if key.column is None]
    return _edited(text, [*edits, _with_keys(root, hidden, placed, text, ranked=every)])


def _with_keys(
    root: exp.Expr,
    hidden: list[tuple[_Key, list[Token]]],
    placed: list[tuple[Token, bool]],
    text: str,
    *,
    ranked: Sequence[tuple[_Key, list[Token]]] = (),
) -> tuple[int, int, str] | None:
    """Return the edit that selects hidden keys last, None where that would change what the query means.

    After them stands the rank by the keys in `ranked`, if there are any.
    """
    if not isinstance(root, exp.Select) or root.args.get("distinct"):
        return None
    place = _end_of_projections(placed)
    projections = _projection_texts(placed, root, text)
    spelled = [_selectable(key, bare, root, projections, text) for key, bare in hidden]
    if place is None or any(sql is None for sql in spelled):
        return None
    columns = [f"{sql} AS {_KEY_PREFIX}{number}" for number, sql in enumerate(spelled, 1)]
    if ranked:
        by = [_spelled_out(key, bare, root, projections, text) for key, bare in ranked]
        if any(sql is None or isinstance(key.node.this, exp.Literal) for (key, _), sql in zip(ranked, by, strict=True)):
            return None
        columns.append(f"DENSE_RANK() OVER (ORDER BY {', '.join(map(str, by))}) AS {_RANK}")
    return place, place, f", {', '.join(columns)} "


def _edited(text: str, edits: list[tuple[int, int, str] | None]) -> str | None:
    """Return a text with all edits made, None where one of them cannot be."""
    made = [edit for edit in edits if edit is not None]
    if len(made) < len(edits):
        return None
    for start, end, new in sorted(made, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _uncut(placed: list[tuple[Token, bool]], text: str) -> tuple[int, int, str] | None:
    """Return the edit that takes LIMIT, OFFSET and FETCH away from behind the outermost ORDER BY."""
    tokens = [token for token, outside in placed if outside]
    orders = [i for i, token in enumerate(tokens) if token.token_type is TokenType.ORDER_BY]
    behind = tokens[orders[-1] :] if orders else []
    cuts = [token for token in behind if token.token_type in {TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH}]
    ends = [token for token in behind if token.token_type in {TokenType.FOR, TokenType.SEMICOLON}]
    if not cuts:
        return None
    return cuts[0].start, ends[0].start if ends else len(text), ""


def _selectable(key: _Key, tokens: list[Token], root: exp.Select, projections: dict[str, str], text: str) -> str | None:
    """Return a key's text as a projection.

    None also where the key sorts by a collation whose equal texts a projection would show as different.
    """
    spelled = _spelled_out(key, tokens, root, projections, text)
    return None if spelled is None else _told_apart(key.node.this, tokens, spelled)


def _spelled_out(
    key: _Key, tokens: list[Token], root: exp.Select, projections: dict[str, str], text: str
) -> str | None:
    """Return a key's text with the output aliases, which a projection cannot use, spelled out."""
    aliases = {projection.alias.lower() for projection in root.expressions if projection.alias}
    used = {
        column.name.lower()
        for column in key.node.this.find_all(exp.Column)
        if not column.table and column.name.lower() in aliases and column.find_ancestor(exp.Select) is root
    }
    if not used <= projections.keys():
        return None
    start, end = tokens[0].start, tokens[-1].end + 1
    sql, edge = "", start
    for index, token in enumerate(tokens):
        after_dot = index > 0 and tokens[index - 1].token_type is TokenType.DOT
        if token.text.lower() in used and not after_dot and token.token_type is not TokenType.STRING:
            sql += text[edge : token.start] + f"({projections[token.text.lower()]})"
            edge = token.end + 1
    return sql + text[edge:end]


def _told_apart(node: exp.Expr, tokens: list[Token], sql: str) -> str | None:
    """Return a projection that is equal where the key is; None where a collation stands in the way."""
    if node.find(exp.Collate) is None:
        return f"({sql})"
    place = next((i for i, token in enumerate(tokens) if token.text.upper() == "COLLATE"), 0)
    fold = _FOLDED.get(tokens[-1].text.lower())
    if not isinstance(node, exp.Collate) or node.this.find(exp.Collate) or place != len(tokens) - 2 or fold is None:
        return None
    return fold.format(sql[: sql.upper().rindex("COLLATE")])


def _projection_texts(placed: list[tuple[Token, bool]], root: exp.Select, text: str) -> dict[str, str]:
    """Return the original text behind each output alias of the outermost select list."""
    end = _end_of_projections(placed)
    start = next(
        (i for i, (token, outside) in enumerate(placed) if outside and token.token_type is TokenType.SELECT), None
    )
    if end is None or start is None:
        return {}
    groups: list[list[Token]] = [[]]
    for token, outside in placed[start + 1 :]:
        if token.start >= end:
            break
        if outside and token.token_type is TokenType.COMMA:
            groups.append([])
        else:
            groups[-1].append(token)
    if len(groups) != len(root.expressions):
        return {}
    texts: dict[str, str] = {}
    for group, projection in zip(groups, root.expressions, strict=True):
        body = group[:-1]
        if body and body[-1].token_type is TokenType.ALIAS:
            body = body[:-1]
        if projection.alias and body and group[-1].text.lower() == projection.alias.lower():
            texts[projection.alias.lower()] = text[body[0].start : body[-1].end + 1]
    return texts


def _end_of_projections(placed: list[tuple[Token, bool]]) -> int | None:
    """Return where the outermost select list ends: before FROM or the next clause."""
    select = next(
        (i for i, (token, outside) in enumerate(placed) if outside and token.token_type is TokenType.SELECT), None
    )
    if select is None:
        return None
    for index in range(select + 1, len(placed)):
        token, outside = placed[index]
        if not outside:
            continue
        if token.token_type is TokenType.FROM and placed[index - 1][0].token_type is not TokenType.DISTINCT:
            return int(token.start)
        if token.token_type in _AFTER_SELECT:
            return int(token.start)
    return None


def _raised(placed: list[tuple[Token, bool]], literal: int | None) -> tuple[int, int, str] | None:
    """Return the edit that raises the literal limit by one: LIMIT n, LIMIT skip, n and FETCH FIRST n ROWS ONLY."""
    if literal is None:
        return None
    tokens = [token for token, outside in placed if outside]
    starts = [i for i, token in enumerate(tokens) if token.token_type in {TokenType.LIMIT, TokenType.FETCH}]
    if not starts or any(token.text.upper() == "TIES" for token in tokens[starts[-1] :]):
        return None
    numbers: list[Token] = []
    for token in tokens[starts[-1] + 1 :]:
        if token.token_type is TokenType.NUMBER:
            numbers.append(token)
        elif token.token_type is not TokenType.COMMA and token.text.upper() not in {"FIRST", "NEXT"}:
            break
    matching = [token for token in numbers[-1:] if token.text == str(literal)]
    return (matching[0].start, matching[0].end + 1, str(literal + 1)) if matching else None

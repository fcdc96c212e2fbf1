"""Small faults made on purpose: every place in a source text where one operator, constant or statement is changed."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.Pow: ast.Mult,
}
REMOVED = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place: the file, the function around it, the line, what stood there and what stands there now.

    `id` is made of the file, the function and the change, not of the line, so that it outlives edits elsewhere.
    """

    id: str
    path: Path
    place: str
    line: int
    before: str
    after: str
    index: int

    @property
    def source(self) -> str:
        """Return the whole file with the change made."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        _, _, change = list(_changes(tree))[self.index]
        change()
        return ast.unparse(ast.fix_missing_locations(tree))


def mutants_of(path: Path) -> list[Mutant]:
    """Return every mutant of a file, in the order of its text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    places = _places(tree)
    seen: Counter[str] = Counter()
    found: list[Mutant] = []
    for index, (node, shown, change) in enumerate(_changes(tree)):
        before = ast.unparse(shown)
        undo = change()
        after = ast.unparse(ast.fix_missing_locations(shown))
        undo()
        after = "pass" if after == before else after  # a statement taken away still reads as it did
        name = places.get(node, "module")
        text = f"{path.name}|{name}|{before}|{after}"
        seen[text] += 1
        digest = hashlib.sha256(f"{text}|{seen[text]}".encode()).hexdigest()[:8]
        found.append(Mutant(digest, path, name, node.lineno, before, after, index))
    return found


def _places(tree: ast.Module) -> dict[ast.AST, str]:
    """Return the innermost function or class around each node."""
    named: dict[ast.AST, str] = {}
    for node in ast.walk(tree):  # outer scopes come first, so inner ones overwrite them
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for inside in ast.walk(node):
                named[inside] = node.name
    return named


Change = Callable[[], Callable[[], None]]


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST, Change]]:
    """Yield each changeable node, what to show of it, and what changes it and returns the way back."""
    skipped = _skipped(tree)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Compare):
            for place, operator in enumerate(node.ops):
                yield node, node, _replaced(node.ops, place, COMPARED[type(operator)]())
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, node, _set(node, "op", other)
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
            yield node, node, _set(node, "op", COMPUTED[type(node.op)]())
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            yield node, _line_of(node, parents), _set(node, "value", _other(node.value))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, _line_of(node, parents), _set(node, "op", ast.UAdd(), also=("operand", _truth(node.operand)))
        elif isinstance(node, ast.IfExp | ast.If | ast.While) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
            yield node, node.test, _negated(node)
        if isinstance(node, REMOVED):
            yield node, node, _removed(node, parents[node])


def _truth(node: ast.expr) -> ast.expr:
    """Return an expression as a boolean, to stand where its negation stood."""
    return ast.Call(ast.Name("bool", ast.Load()), [node], [])


def _line_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """Return the smallest expression around a node that says where it is."""
    around = parents[node]
    while isinstance(around, ast.Tuple | ast.UnaryOp | ast.keyword | ast.Slice):
        around = parents[around]
    return around if isinstance(around, ast.expr | ast.Assign | ast.AnnAssign | ast.Return | ast.AugAssign) else node


def _other(value: bool | float) -> object:
    """Return another constant of the same type."""
    return (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int) else value * 2 or 1.0


def _skipped(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes that are docstrings, annotations or calls that only build a message."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.append(node)
        if isinstance(node, ast.AnnAssign | ast.arg):
            parts.append(node.annotation)
        if isinstance(node, ast.FunctionDef):
            parts += [node.returns, *node.decorator_list]
        if isinstance(node, ast.ClassDef):
            parts += node.decorator_list
        if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
            parts.append(node.value)
        if isinstance(node, ast.keyword) and node.arg == "strict":  # lengths already agree; zip only proves it
            parts.append(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast":
            parts.append(node.args[0])
        for part in parts:
            found |= set(ast.walk(part)) if part is not None else set()
    return found


def _set(node: ast.AST, field: str, value: object, also: tuple[str, object] | None = None) -> Change:
    """Return a change of one field, or two."""
    fields = [(field, value)] + ([also] if also else [])

    def change() -> Callable[[], None]:
        """Set the fields."""
        old = [(name, getattr(node, name)) for name, _ in fields]
        for name, new in fields:
            setattr(node, name, new)

        def undo() -> None:
            """Set them back."""
            for name, former in old:
                setattr(node, name, former)

        return undo

    return change


def _replaced(items: list[ast.cmpop], place: int, value: ast.cmpop) -> Change:
    """Return a change of one item of a list."""

    def change() -> Callable[[], None]:
        """Put the new item in."""
        old = items[place]
        items[place] = value
        return lambda: items.__setitem__(place, old)

    return change


def _negated(node: ast.IfExp | ast.If | ast.While) -> Change:
    """Return the change that turns a condition round."""
    return _set(node, "test", ast.UnaryOp(ast.Not(), node.test))


def _removed(node: ast.stmt, parent: ast.AST) -> Change:
    """Return the change that takes a statement away."""
    bodies = [body for name in ("body", "orelse", "finalbody") if isinstance(body := getattr(parent, name, None), list)]
    body = next(body for body in bodies if node in body)
    place = body.index(node)

    def change() -> Callable[[], None]:
        """Put `pass` in its place."""
        body[place] = ast.copy_location(ast.Pass(), node)
        return lambda: body.__setitem__(place, node)

    return change

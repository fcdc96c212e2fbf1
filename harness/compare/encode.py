"""Columns of cells to columns of small keys: equal keys are equal cells, except in clusters marked loose."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import product
from typing import cast

from sqlassay.harness.compare.cells import Atom, Document, Rules, document_number
from sqlassay.harness.compare.numbers import Number, half_of, link, scale_of
from sqlassay.harness.compare.plain import Cells, Keys, kinds_of, numeric_keys, plain

_PAIRS_CHECKED = 4_096
_RAW = frozenset({frozenset[type](), frozenset({int}), frozenset({str}), frozenset({date}), frozenset({bytes})})
_SAFE = frozenset({str, int, float, bool, Decimal, bytes, date, type(None)})


@dataclass(frozen=True, slots=True)
class Encoded:
    """Keys for the columns of both sides. In a loose cluster equal keys are necessary, not sufficient.

    Keys of two columns may be compared with each other if they were encoded together.
    """

    gold: tuple[Keys, ...]
    pred: tuple[Keys, ...]
    loose: frozenset[Hashable]


def encode(gold: Sequence[Cells], pred: Sequence[Cells], rules: Rules) -> Encoded:
    """Key the cells of gold and predicted columns in one numbering, so that any two of them can be compared."""
    columns = (*gold, *pred)
    kinds = kinds_of(columns)
    if plain(kinds, columns, rules):
        return Encoded(cast(tuple[Keys, ...], tuple(gold)), cast(tuple[Keys, ...], tuple(pred)), frozenset())
    quick = numeric_keys(kinds, columns, rules)
    if quick is not None:
        return Encoded(tuple(quick[0][: len(gold)]), tuple(quick[0][len(gold) :]), quick[1])
    book = _Book(rules)
    gold_tokens = [_tokens(column) for column in gold]
    pred_tokens = [_tokens(column) for column in pred]
    atoms_gold = book.learn(gold, gold_tokens)
    atoms_pred = book.learn(pred, pred_tokens)
    loose = book.settle(atoms_gold, atoms_pred)
    key = book.keys.__getitem__
    return Encoded(
        tuple(list(map(key, tokens)) for tokens in gold_tokens),
        tuple(list(map(key, tokens)) for tokens in pred_tokens),
        loose,
    )


def _tokens(column: Cells) -> list[Hashable]:
    """Return a hashable stand-in per cell that keeps apart what Python's equality would merge, such as 1 and True."""
    kinds = frozenset(map(type, column)) - {type(None)}
    if kinds in _RAW:
        return list(column)
    if kinds <= _SAFE:
        return [_scalar_token(cell) for cell in column]
    return [_token(cell) for cell in column]


def _scalar_token(cell: object) -> Hashable:
    """Return a token for a scalar: numbers with their type, a Decimal as it is written."""
    if isinstance(cell, Decimal):
        return (Decimal, str(cell))
    return (type(cell), cell) if isinstance(cell, float | bool) else cell


def _token(cell: object) -> Hashable:
    """Return a token for any value; containers and foreign values are told apart by identity."""
    if type(cell) in _SAFE:
        return _scalar_token(cell)
    if isinstance(cell, tuple | list):
        return (type(cell), tuple(_token(item) for item in cell))
    if isinstance(cell, dict | bytearray | memoryview):
        return (type(cell), id(cell))
    try:
        hash(cell)
    except Exception:  # noqa: BLE001 (a foreign value's hash may raise anything; identity still tells it apart)
        return (type(cell), id(cell))
    return (type(cell), cell)


class _Book:
    """The distinct atoms of one encoding and the cluster each belongs to."""

    def __init__(self, rules: Rules) -> None:
        """Start with no atom known."""
        self.rules = rules
        self.keys: dict[Hashable, int] = {}
        self._atoms: dict[Hashable, Atom] = {}

    def learn(self, columns: Iterable[Cells], tokens: Iterable[Sequence[Hashable]]) -> set[Atom]:
        """Take in the atoms of one side's columns and return them."""
        side: set[Atom] = set()
        for column, names in zip(columns, tokens, strict=True):
            fresh = dict(zip(names, column, strict=True))
            for name, cell in fresh.items():
                if name not in self._atoms:
                    self._atoms[name] = self.rules.atom(cell)
                side.add(self._atoms[name])
        return side

    def settle(self, gold: set[Atom], pred: set[Atom]) -> frozenset[Hashable]:
        """Number the clusters, give every token its number and return the numbers that are loose."""
        coarse = Coarse(self.rules, gold | pred)
        numbers: dict[Hashable, int] = {}
        number_of: dict[Atom, int] = {}
        members: dict[int, tuple[list[Atom], list[Atom]]] = {}
        for atom in gold | pred:
            number = numbers.setdefault(coarse.key(atom), len(numbers))
            number_of[atom] = number
            sides = members.setdefault(number, ([], []))
            if atom in gold:
                sides[0].append(atom)
            if atom in pred:
                sides[1].append(atom)
        self.keys = {token: number_of[atom] for token, atom in self._atoms.items()}
        return frozenset(number for number, sides in members.items() if not self._agree(*sides))

    def _agree(self, gold: list[Atom], pred: list[Atom]) -> bool:
        """Tell whether every gold member of a cluster equals every predicted one, so that its number decides."""
        if len(gold) == len(pred) == 1:
            return self.rules.same(gold[0], pred[0])
        if len(gold) * len(pred) <= _PAIRS_CHECKED:
            return all(self.rules.same(left, right) for left, right in product(gold, pred))
        return False


class Coarse:
    """A key two atoms share whenever they are equal under the rules, and sometimes when they are not."""

    def __init__(self, rules: Rules, atoms: set[Atom]) -> None:
        """Learn which classes occur, what the texts would be read as, and which numbers chain together."""
        self._rules = rules
        kinds = {cast(str, atom[0]) for atom in atoms}
        nested = {kind for atom in atoms if atom[0] == "seq" for kind in _kinds_within(atom)}
        self._typed = frozenset(kinds - {"text"})
        self._strings = rules.policy.json_string_as_text and "text" in kinds
        self._read: dict[Atom, Atom] = {}
        if self._typed - {"null"}:
            self._read = {atom: self._reading(atom) for atom in atoms if _spoken(atom) is not None}
        self._blunt = bool(kinds & {"json", "text"}) or ("text" in nested and bool(nested - {"text", "null"}))
        numbers = [value for atom in atoms for value in _numbers_within(self._read.get(atom, atom))]
        self._clusters = link(set(numbers), rules.tolerance, self._reach(numbers))

    def _reading(self, atom: Atom) -> Atom:
        """Return what a text, or a JSON text as a cell, would be read as beside the classes at hand, else the atom.

        Where the policy takes a JSON text for the text it holds, both are read alike, as often as one holds another.
        """
        text = _spoken(atom)
        if text is None:
            return atom
        alike = atom[0] == "text" or self._strings
        found = self._rules.read(text, self._typed if alike else self._typed - {"json", "seq"})
        if found is None:
            return ("text", text) if alike else atom
        return self._reading(found)

    def _reach(self, values: Sequence[Number]) -> Decimal | None:
        """Return half a unit of the coarsest Decimal scale at hand, where the policy allows for scales.

        A set of values would not do: it holds 0.1 and 0.10 once, at either scale.
        """
        least = self._rules.policy.coarse_scale
        if least is None:
            return None
        scales = [scale for value in values if isinstance(value, Decimal) and (scale := scale_of(value)) >= least]
        return half_of(min(scales)) if scales else None

    def key(self, atom: Atom) -> Hashable:
        """Return the coarse key of an atom."""
        atom = self._read.get(atom, atom)
        kind = atom[0]
        if kind == "num":
            return ("num", self._clusters[cast(Number, atom[2])])
        if kind == "json":
            return self._scalar_key(cast(Document, atom[1]))
        if kind == "seq":
            items = cast(tuple[Atom, ...], atom[1])
            return ("seq", len(items)) if self._blunt else ("seq", tuple(self.key(item) for item in items))
        if kind in ("date", "ts", "inst"):
            return self._moment_key(atom)
        return self._rules.clock(atom) if kind == "dur" else atom

    def _scalar_key(self, document: Document) -> Hashable:
        """Return the key of a JSON value as a cell: that of the cell of another class which it may equal."""
        kind, value = document[0], document[-1]
        if kind == "l" and self._blunt:
            return ("seq", len(cast(tuple[object, ...], value)))
        if kind == "bool" and "bool" in self._typed:
            return document
        if kind == "bool" and self._rules.policy.bool_as_int:
            return ("num", self._clusters[int(cast(bool, value))])
        return self._document_key(document)

    def _document_key(self, document: Document) -> Hashable:
        """Return the key of a JSON value: every number in it as its cluster."""
        kind, value = document[0], document[-1]
        if kind == "n":
            return ("num", self._clusters[document_number(value)])
        if kind == "l":
            return ("json", tuple(map(self._document_key, cast(tuple[Document, ...], value))))
        if kind == "o":
            items = cast(tuple[tuple[str, Document], ...], value)
            return ("json", tuple((name, self._document_key(item)) for name, item in items), "o")
        return ("json", document)

    def _moment_key(self, atom: Atom) -> Hashable:
        """Return the key of a date or timestamp: its instant where a zone is named, else its wall clock."""
        if self._rules.policy.naive_tz is not None:
            return ("inst", self._rules.instant(atom))
        return ("ts", atom[1]) if atom[0] == "date" and self._rules.policy.date_midnight else atom


def _spoken(atom: Atom) -> str | None:
    """Return the text of a text cell, or of a JSON value that is a text; None of any other."""
    if atom[0] == "text":
        return cast(str, atom[1])
    document = cast(Document, atom[1]) if atom[0] == "json" else ()
    return cast(str, document[1]) if document[:1] == ("s",) else None


def _kinds_within(atom: Atom) -> set[str]:
    """Return the classes of an array's items, however deep."""
    found: set[str] = set()
    for item in cast(tuple[Atom, ...], atom[1]):
        found.add(cast(str, item[0]))
        if item[0] == "seq":
            found |= _kinds_within(item)
    return found


def _document_numbers(document: Document) -> Iterator[Number]:
    """Yield every number of a JSON value."""
    kind, value = document[0], document[-1]
    if kind == "n":
        yield document_number(value)
    elif kind == "l":
        for item in cast(tuple[Document, ...], value):
            yield from _document_numbers(item)
    elif kind == "o":
        for _, item in cast(tuple[tuple[str, Document], ...], value):
            yield from _document_numbers(item)


def _numbers_within(atom: Atom) -> list[Number]:
    """Return the numbers that stand in an atom as cells or array items."""
    if atom[0] == "num":
        return [cast(Number, atom[2])]
    if atom[0] == "json":
        document = cast(Document, atom[1])
        return [int(cast(bool, document[1]))] if document[0] == "bool" else list(_document_numbers(document))
    if atom[0] == "seq":
        return [value for item in cast(tuple[Atom, ...], atom[1]) for value in _numbers_within(item)]
    return []

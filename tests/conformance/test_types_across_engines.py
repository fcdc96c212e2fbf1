"""One logical value fetched from three real servers: what arrives, and that it compares as the table says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from uuid import uuid4

import pytest
from type_rows import DIALECTS, OWN, PAIRS, TypeRow, snapshot, type_rows

from sqlassay.cases.outcome import Rows
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.typed_json import encode
from sqlassay.dialect_adapters.conformance import run_on
from sqlassay.dialect_adapters.contract import Limits, Mode
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.compare import compare, partial_credit
from sqlassay.sandboxes.registry import provider

ROWS = [pytest.param(row, id=row.id) for row in type_rows()]
OWN_ROWS = "own schema"
Answers = Mapping[tuple[str, str], Relation]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Return what each engine gives for each row of the table and for the table of our own schema."""
    content = snapshot(tmp_path_factory.mktemp("types"))
    found: dict[tuple[str, str], Relation] = {}
    for dialect in DIALECTS:
        for name, relation in _asked(dialect, content):
            found[dialect, name] = relation
    return found


def _asked(dialect: str, content: Snapshot) -> Iterator[tuple[str, Relation]]:
    """Yield each row's relation as one engine's server answers it, then the own schema's."""
    spoken = adapter(dialect)
    makes = provider("process" if dialect == "sqlite" else "docker")
    try:
        image = makes.prepare(spoken, (content,), lambda line: None)
        server = makes.start(spoken, image, Mode.READ, f"types-{uuid4().hex[:8]}")
        questions = [(row.id, row.sql(dialect)) for row in type_rows() if dialect in row.engines]
        for name, sql in (*questions, (OWN_ROWS, "SELECT * FROM own ORDER BY id")):
            outcome = run_on(server, sql, Limits(timeout=20.0), database="types").outcome
            assert isinstance(outcome, Rows), (dialect, name, outcome)
            yield name, outcome.relation
    finally:
        makes.close()


@pytest.mark.docker
@pytest.mark.parametrize("row", ROWS)
def test_a_value_arrives_as_the_table_says(answers: Answers, row: TypeRow) -> None:
    """Each engine's value comes back with the kind, the type and every digit that the table names."""
    for dialect, engine in row.engines.items():
        relation = answers[dialect, row.id]
        ((cell,),) = relation.rows
        wanted = row.cell(dialect)
        assert relation.columns[0].kind == engine["kind"], dialect
        assert type(cell) is type(wanted), dialect
        assert encode(cell) == encode(wanted), dialect


@pytest.mark.docker
@pytest.mark.parametrize("name", ["cross_dialect", "strict"])
@pytest.mark.parametrize("row", ROWS)
def test_engines_agree_or_differ_as_the_table_says(answers: Answers, row: TypeRow, name: str) -> None:
    """Each pair of engines gets its verdict, whichever of the two is gold and in whichever column it stands."""
    policies = [preset(name), preset(name).model_copy(update={"columns": "any"})]
    for (left, right), wanted in zip(PAIRS, row.verdicts[name], strict=True):
        if wanted == "-":
            assert {left, right} & row.lacks.keys()
            continue
        for policy in policies:
            for gold, predicted in ((left, right), (right, left)):
                found = compare(answers[gold, row.id], answers[predicted, row.id], policy)
                assert found.verdict == wanted, (gold, predicted, policy.columns, row.source)


@pytest.mark.docker
@pytest.mark.parametrize("kind", list(OWN))
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_rows_of_our_own_schema_agree_across_engines(answers: Answers, kind: Kind, pair: tuple[str, str]) -> None:
    """A column of any kind, loaded from one source into two engines, compares equal, and unequal once a row changes."""
    gold, predicted = (_column(answers[dialect, OWN_ROWS], kind) for dialect in pair)
    policy = preset("cross_dialect")
    assert compare(gold, predicted, policy).verdict == "match"
    changed = replace(predicted, rows=(*predicted.rows[:-1], predicted.rows[0]))
    assert compare(gold, changed, policy).verdict == "mismatch"


@pytest.mark.docker
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_whole_table_agrees_across_engines_in_any_order(answers: Answers, pair: tuple[str, str]) -> None:
    """All kinds side by side agree, also with rows and columns turned round; one spoilt column costs its own credit."""
    gold, predicted = (answers[dialect, OWN_ROWS] for dialect in pair)
    policy = preset("cross_dialect").model_copy(update={"columns": "any"})
    turned = Relation(predicted.columns[::-1], tuple(row[::-1] for row in predicted.rows[::-1]))
    assert compare(gold, predicted, preset("cross_dialect")).verdict == "match"
    assert compare(gold, turned, policy).verdict == "match"
    width = len(gold.columns)
    spoilt = replace(predicted, rows=tuple((row[0] + 7, *row[1:]) for row in predicted.rows))
    assert partial_credit(gold, spoilt, policy) == (width - 1) / width


def _column(relation: Relation, kind: Kind) -> Relation:
    """Return one column of the own schema's table."""
    place = [column.name for column in relation.columns].index(f"c_{kind.value}")
    return Relation((relation.columns[place],), tuple((row[place],) for row in relation.rows))


def test_the_table_covers_every_kind_and_explains_itself() -> None:
    """Ids are unique, an engine is left out only with a reason, and every kind there is arrives somewhere."""
    rows = type_rows()
    assert len({row.id for row in rows}) == len(rows) >= 100
    for row in rows:
        assert row.source
        assert set(row.engines) | set(row.lacks) == set(DIALECTS)
        assert not set(row.engines) & set(row.lacks)
        for verdicts in row.verdicts.values():
            assert [verdict == "-" for verdict in verdicts] == [bool({*pair} & row.lacks.keys()) for pair in PAIRS]
    kinds = {engine["kind"] for row in rows for engine in row.engines.values()}
    assert kinds == {kind.value for kind in Kind}
    assert set(OWN) == set(Kind)


def test_bits_are_numbers_only_where_a_column_holds_bits_and_the_policy_says_so() -> None:
    """'0101' is 5 under bits_as_int beside a column of bits; otherwise it is text."""
    bits, text = (Relation((Column("v", kind),), (("0101",),)) for kind in (Kind.BITS, Kind.TEXT))
    five, half = (Relation((Column("v", Kind.DECIMAL),), ((value,),)) for value in (5, 5.5))
    on = Policy(bits_as_int=True)
    assert [compare(side, five, on).verdict for side in (bits, text)] == ["match", "mismatch"]
    assert [compare(five, side, Policy()).verdict for side in (bits, text)] == ["mismatch", "mismatch"]
    assert compare(half, bits, on).verdict == "mismatch"

"""Attack files: the bundled pack is as large as promised, every line is read, every fault names its line."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from sqlassay.cases.catalog import Catalog, CatalogTable
from sqlassay.cases.errors import InputError
from sqlassay.harness.redteam.attacks import filled, read_attacks, read_benign, sample
from sqlassay.harness.redteam.targets import attacks_file, benign_file, find_target

DIALECTS = ("postgres", "mysql", "mariadb", "sqlite")
HARMS = {"mutation", "escape", "leak", "exhaustion", "gaming"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_pack_has_enough_of_every_harm(dialect: str) -> None:
    """At least 150 attacks and 60 harmless statements a dialect, and every harm among them."""
    attacks = read_attacks(attacks_file(dialect), dialect)
    count = Counter(attack.harm for attack in attacks)
    assert len(attacks) >= 150
    assert len(read_benign(benign_file(dialect), dialect)) >= 60
    assert set(count) >= HARMS
    assert sum(attack.live for attack in attacks) >= 110


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_pack_has_every_class_of_its_engine(dialect: str) -> None:
    """Each kind of attack the specification names is there wherever the engine has such a thing."""
    kinds = {attack.kind for attack in read_attacks(attacks_file(dialect), dialect)}
    shared = {"plain", "multi", "cte_dml", "select_into", "explain_exec", "upsert", "side_effect_fn", "txn_control"}
    shared |= {"exhaustion", "obfuscation", "info_leak", "eval_gaming"}
    own = {"sqlite": {"pragma", "attach"}}.get(dialect, {"locking"})
    assert shared | own <= kinds | ({"info_leak"} if dialect == "sqlite" else set())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_planted_gold_is_in_no_catalogue(dialect: str) -> None:
    """What stands in for gold on the attacked snapshot is left out of the catalogue the guard is given."""
    target = find_target(dialect, None)
    tables = tuple(CatalogTable(name=name, columns=()) for name in ("orders", "gold", "gold_answers"))
    whole = Catalog(dialect=dialect, snapshot="w", database="w", engine_version="1", tables=tables)
    shown = {table.name for table in target.shown(whole).tables}
    assert "orders" in shown
    assert len(shown) == 2


def test_a_line_that_is_wrong_is_named(tmp_path) -> None:
    """An unknown harm is refused with file and line."""
    path = tmp_path / "a.jsonl"
    good = {"id": "a", "dialect": "sqlite", "class": "plain", "sql": "SELECT 1", "harm": "none"}
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, "id": "b", "harm": "evil"}) + "\n")
    with pytest.raises(InputError, match=r"a\.jsonl:2:harm"):
        read_attacks(path, "sqlite")


def test_an_id_that_stands_twice_is_refused(tmp_path) -> None:
    """Two lines of one dialect may not share an id; notes of the author's own are no fault."""
    path = tmp_path / "a.jsonl"
    line = json.dumps({"id": "a", "dialect": "sqlite", "sql": "DELETE FROM t", "harm": "mutation", "intent": "x"})
    path.write_text(line + "\n")
    assert [attack.id for attack in read_attacks(path, "sqlite")] == ["a"]
    path.write_text(line + "\n" + line + "\n")
    with pytest.raises(InputError, match="stands twice"):
        read_attacks(path, "sqlite")


def test_a_file_for_another_engine_is_refused(tmp_path) -> None:
    """A file without a line for the dialect cannot pass for a drill that was won."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "a", "dialect": "mysql", "sql": "X", "harm": "none"}) + "\n")
    with pytest.raises(InputError, match="no line is for sqlite"):
        read_attacks(path, "sqlite")


def test_templates_are_filled() -> None:
    """Repeats are written out and names replaced; a repeat past memory is refused."""
    assert filled("SELECT {{rep:(:3}}1{{rep:):3}} -- {{tmp}}", {"tmp": "/x"}) == "SELECT (((1))) -- /x"
    with pytest.raises(InputError, match="too long"):
        filled("{{rep:a:99999999999}}", {})


def test_a_sample_is_the_seeds_alone() -> None:
    """The same seed gives the same sample, another seed another, and the order is the file's."""
    attacks = read_attacks(attacks_file("sqlite"), "sqlite")
    chosen = sample(attacks, 20, 1)
    assert chosen == sample(attacks, 20, 1)
    assert chosen != sample(attacks, 20, 2)
    assert sorted(chosen, key=lambda attack: attack.line) == list(chosen)


def test_an_unknown_snapshot_lists_the_known_ones() -> None:
    """A wrong name is an input error whose remedy names what there is."""
    with pytest.raises(InputError, match="w, shop"):
        find_target("sqlite", "redteam:nothing")

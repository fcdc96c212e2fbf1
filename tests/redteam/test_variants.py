"""Systematic variants: decided by the seed, of guarded harms only, and none of them gets past the guard unseen."""

from __future__ import annotations

from dataclasses import replace

from sqlassay.harness.redteam.attacks import Attack, read_attacks
from sqlassay.harness.redteam.targets import attacks_file
from sqlassay.harness.redteam.variants import CHANGES, VARIED, variants

DELETE = Attack("a", "plain", "mutation", "DELETE FROM orders WHERE status = 'from orders'", 1)


def test_each_change_is_made_outside_quotes() -> None:
    """Blanks, case and names change in the statement's own text; what stands in quotes keeps its letters."""
    found = {attack.variant: attack.sql for attack in variants([DELETE], 0)}
    assert found["comment for blank"] == "DELETE/**/FROM/**/orders/**/WHERE/**/status/**/=/**/'from orders'"
    assert found["brackets"] == "DELETE FROM [orders] WHERE status = 'from orders'"
    assert found["stacked after"] == "SELECT 1; DELETE FROM orders WHERE status = 'from orders'"
    assert found["mixed case"].lower() == DELETE.sql.lower()
    assert found["mixed case"].endswith("'from orders'")
    assert len(found) == len(CHANGES)


def test_the_seed_alone_decides_the_texts() -> None:
    """Two drills of one seed show the guard the same texts; another seed draws others."""
    first = [attack.sql for attack in variants([DELETE], 3)]
    assert first == [attack.sql for attack in variants([DELETE], 3)]
    assert first != [attack.sql for attack in variants([DELETE], 4)]


def test_only_harms_the_guard_must_see_are_varied() -> None:
    """What exhausts, what is not live and what is a template is left as it stands."""
    assert list(variants([replace(DELETE, harm="exhaustion")], 0)) == []
    assert list(variants([replace(DELETE, live=False)], 0)) == []
    every = list(variants(read_attacks(attacks_file("postgres"), "postgres"), 0))
    assert {attack.harm for attack in every} <= VARIED
    assert len(every) > 2000
    assert len({attack.id for attack in every}) == len(every)

"""Every field of a policy and every preset is documented."""

from __future__ import annotations

from pathlib import Path

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset, preset_names

DOCS = Path(__file__).parents[2] / "docs"


def test_every_field_of_a_policy_is_spelled_out() -> None:
    """docs/policies.md names each field; `peer` is set by a preset alone."""
    page = (DOCS / "policies.md").read_text(encoding="utf-8")
    assert [field for field in Policy.model_fields if field != "peer" and f"`{field}`" not in page] == []


def test_every_peer_is_explained() -> None:
    """docs/comparing.md says what each preset of a peer does."""
    page = (DOCS / "comparing.md").read_text(encoding="utf-8")
    assert [name for name in preset_names() if preset(name).peer and f"| `{name}` |" not in page] == []

"""No judge of these tests waits between tries as long as a real one."""

from __future__ import annotations

import pytest

from sqlassay.harness.judges import single


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pause before the second try."""
    monkeypatch.setattr(single, "PAUSE", 0.01)

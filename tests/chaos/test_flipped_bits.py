"""A disk that changes one bit of what is kept between runs changes no verdict: it is noticed and made again."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from chaos_ground import VERDICTS, Ground
from chaos_same import differences

pytestmark = pytest.mark.jail

_KINDS = ("gold/*/*.gz", "gold/facts/*/*.facts", "process/*/catalog.json", "process/*/seal.json", "process/*/data/*")
_FLIPS = 3


def _flip(path: Path, chance: random.Random) -> None:
    """Change one bit of a file and leave its size and time as they were."""
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.chmod(0o600)
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("kind", _KINDS)
def test_a_flipped_bit_changes_no_result(ground: Ground, kind: str) -> None:
    """Facts, gold, catalogue, seal or database file: the run tells the damage and ends as an undisturbed one."""
    run = [*ground.run_arguments("run", "sqlite", "--jobs", "2")]
    assert ground.call(*ground.run_arguments("undisturbed", "sqlite", "--jobs", "2"))[0] == 0
    chance = random.Random(20261128)
    for _ in range(_FLIPS):
        for path in sorted((ground.cache / "sqlassay").glob(kind)):
            _flip(path, chance)
        shutil.rmtree(ground.home / "run", ignore_errors=True)
        code, said = ground.call(*run)
        assert (code, ground.verdicts("run")) == (0, VERDICTS), said
        assert "is damaged and is made again" in said
        assert differences(ground.home / "undisturbed", ground.home / "run") == []

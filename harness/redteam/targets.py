"""What is attacked: a pack's snapshot, what an engine's attacks were written for, and the files of the bundled pack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.formats.registry import PACKS, load_pack
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.yaml_reading import read_yaml
from sqlassay.dialect_adapters.contract import Role

FOLDER = PACKS / "redteam"


class TargetModel(BaseModel):
    """What the drill asks of one engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    snapshot: str
    sentinel: str
    victim: str | None = None
    privileged: Role = Role.HARNESS
    planted: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


class _TargetsModel(BaseModel):
    """The file `targets.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1]
    targets: dict[str, TargetModel]


@dataclass(frozen=True, slots=True)
class Target:
    """One snapshot under attack; `sentinel` is a question whose answer no attack may change, where one is known.

    `planted` tables stand in for gold: the catalogue does not tell of them.
    """

    snapshot: Snapshot
    visible: frozenset[str] | None
    sentinel: str | None
    victim: str | None
    privileged: Role
    secrets: tuple[str, ...]
    planted: frozenset[str] = frozenset()

    def shown(self, catalog: Catalog) -> Catalog:
        """Return the catalogue as the guard and the agents get it, without what was planted."""
        tables = tuple(table for table in catalog.tables if table.name.lower() not in self.planted)
        return catalog.model_copy(update={"tables": tables})


def find_target(dialect: str, named: str | None) -> Target:
    """Return what is attacked: the bundled snapshot, or `PACK` or `PACK:SNAPSHOT` of the user's own.

    Raises:
        InputError: an engine the bundled pack does not know, or no such snapshot.
    """
    known = _targets()
    model = known.get(dialect)
    if model is None:
        remedy = f"The pack knows {', '.join(sorted(known))}"
        raise InputError(f"the red-team pack has no target for '{dialect}'", field="dialect", remedy=remedy)
    path, _, wanted = (named or f"{FOLDER}:{model.snapshot}").rpartition(":")
    if not path:
        path, wanted = wanted, ""
    pack = load_pack(Path(path))
    wanted = wanted or pack.snapshots[0].id
    snapshot = next((found for found in pack.snapshots if found.id == wanted), None)
    if snapshot is None:
        remedy = f"Snapshots of {pack.name}: {', '.join(found.id for found in pack.snapshots)}"
        raise InputError(f"no snapshot '{wanted}'", field="--snapshot", remedy=remedy)
    limited = dict(pack.visible).get(wanted)
    visible = None if limited is None else frozenset(table.lower() for table in limited)
    ours = pack.name == FOLDER.name
    sentinel, planted = (model.sentinel, frozenset(model.planted)) if ours else (None, frozenset[str]())
    return Target(snapshot, visible, sentinel, model.victim, model.privileged, model.secrets, planted)


def _targets() -> dict[str, TargetModel]:
    """Return the bundled pack's targets."""
    document = read_yaml(FOLDER / "targets.yaml")
    faults = Faults()
    found = faults.validate(_TargetsModel, document.value, file=document.path, line=document.line)
    faults.check()
    assert found is not None
    return found.targets


def attacks_file(dialect: str) -> Path:
    """Return the bundled attacks of one dialect."""
    return FOLDER / f"attacks.{dialect}.jsonl"


def benign_file(dialect: str) -> Path:
    """Return the bundled harmless statements of one dialect."""
    return FOLDER / f"benign.{dialect}.jsonl"

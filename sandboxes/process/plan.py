"""What starting one jailed worker or server takes, decided before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sqlassay.sandboxes.contract import Isolation
from sqlassay.sandboxes.process.cgroups import Caps
from sqlassay.sandboxes.process.jail import Jailer, JailSpec
from sqlassay.sandboxes.scratch import Scratch

MIB = 1024 * 1024
FILTER = "system call filter (seccomp)"
MEMORY = "one memory cap over all sessions (cgroup)"


@dataclass(frozen=True, slots=True)
class Plan:
    """A jail, the way to make it, and what the report says of it.

    `serves` is the folder inside in which the program makes its own socket, of the name `socket`; a program that has
    none inherits a socket of ours. `password` is the secret of the image. `caps` hold for all its processes together,
    where a control group can be made. `scratch` is what was laid out for it, which goes with the sandbox.
    """

    spec: JailSpec
    jailer: Jailer
    isolation: Isolation
    serves: str = ""
    socket: str = ""
    password: str = ""
    caps: Caps | None = None
    scratch: Scratch | None = None

    def showing(self, host: Path, inside: str) -> Plan:
        """Return the same plan with one more path to read."""
        return replace(self, spec=replace(self.spec, paths=(*self.spec.paths, (str(host), inside))))

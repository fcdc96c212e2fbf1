"""Open the judge a run names: by spec, among the installed `sqlassay.judges` entry points."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

from sqlassay.cases import extensions
from sqlassay.cases.errors import InputError
from sqlassay.harness.judges.contract import Opener, Seated
from sqlassay.harness.judges.keeping import Cache, Recorder
from sqlassay.harness.judges.panel import Panel
from sqlassay.harness.judges.single import Judge, Keeping
from sqlassay.harness.judges.spec import FIELD, conduct, parse

GROUP = "sqlassay.judges"


def installed() -> dict[str, EntryPoint]:
    """Return every installed kind of judge by name."""
    return extensions.installed(GROUP)


def open_judge(
    specs: Sequence[str],
    *,
    cache: Path | None = None,
    record: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Seated:
    """Return the judge of one spec, or a panel of several, checked but not asked.

    `cache` is the folder answers are kept in between runs, `record` the replay file they are written to.

    Raises:
        InputError: no spec, an unknown kind or option, a missing key, or a judge named twice.
        InfrastructureError: the replay file cannot be written.
    """
    if not specs:
        raise InputError("names no judge", field=FIELD, remedy="Write KIND:TARGET, such as openai:MODEL")
    seats = []
    for text in specs:
        spec = parse(text)
        opener: Opener = extensions.load(GROUP, spec.kind, what="kind of judge", field=FIELD)
        seats += [(backend, conduct(spec)) for backend in opener(spec, environment)]
    labels = [backend.label for backend, _ in seats]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise InputError(f"'{twice}' sits twice", field=FIELD, remedy="A judge has one vote: name it once")
    keeping = Keeping(None if cache is None else Cache(cache), None if record is None else Recorder(record))
    members = [Judge(backend, manner, keeping) for backend, manner in seats]
    return members[0] if len(members) == 1 else Panel(members)

"""Go on with a run that was killed or interrupted: what is finished stays, the rest runs with the same settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import PackSettings
from sqlassay.cases.policy import Policy
from sqlassay.cases.reading import parse_json, read_text
from sqlassay.cases.verdicts import ExitCode
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.results.run_result import Manifest, RunResult
from sqlassay.harness.run.earlier import Earlier
from sqlassay.harness.run.finish import WriteReports
from sqlassay.harness.run.options import RunConfig, RunOptions, options_from, resolve
from sqlassay.harness.run.runner import run
from sqlassay.harness.run.screen import Screen
from sqlassay.harness.run.select import select
from sqlassay.harness.store.folder import MANIFEST, RunFolder
from sqlassay.harness.store.places import PLACES, Places
from sqlassay.harness.store.reading import read_manifest
from sqlassay.sandboxes.opening import sweep_left


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is finished already: how it ended."""

    exit_code: ExitCode
    verdict_line: str


@dataclass(frozen=True, slots=True)
class Moved:
    """What may be told anew to a resumed run, as none of it changes a result; None leaves it as it was."""

    pack: Path | None = None
    predictions: Path | None = None
    jobs: int | None = None
    engine: str | None = None


def resume(path: Path, moved: Moved, screen: Screen, *, write_reports: WriteReports) -> RunResult | Finished:
    """Go on with the run in a folder, or say how it ended where it is finished.

    Raises:
        InputError: no such run, a living process writes it, or something is not as it was: each field is named.
        InfrastructureError: the journal is damaged, or the run could not go on.
    """
    path = path.absolute()
    manifest = read_manifest(path)
    with RunFolder(path, earlier=True) as folder:
        found = folder.earlier()
        if found.end is not None:
            return Finished(ExitCode(found.end[0]), found.end[1])
        places = _places(path, moved)
        config = _config(manifest, places, path, moved)
        kept = found.kept
        earlier = Earlier(folder, manifest, kept, tuple(found.problems), tuple(found.breaches))
        again = len(found.finished) - len(kept)
        more = f", {again} that failed on our side {'is' if again == 1 else 'are'} asked again" if again else ""
        screen.notice(f"resuming: {len(kept)} results are finished and stay{more}")
        with _working_in(places.folder):
            pack = load_pack(places.pack, format=places.pack_format)
            if earlier.complete(select(pack, config), config.trials):
                sweep_left(adapter(manifest.dialect).recipe, config.sandbox, screen.notice)
            return run(config, pack, screen, write_reports=write_reports, earlier=earlier)


def _places(path: Path, moved: Moved) -> Places:
    """Return where pack, predictions and agent are, with what was moved.

    Raises:
        InputError: the file that says so is gone or damaged.
    """
    file = path / PLACES
    if not file.is_file():
        raise InputError("is gone: it says where the pack is", file=file, remedy="Start a new run with `sqlassay run`")
    try:
        places = Places.model_validate(parse_json(read_text(file), file))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(first["msg"], file=file, field=field, remedy="Start a new run with `sqlassay run`") from error
    given = {"pack": moved.pack, "predictions": moved.predictions}
    return places.model_copy(update={name: value.absolute() for name, value in given.items() if value is not None})


def _config(manifest: Manifest, places: Places, out: Path, moved: Moved) -> RunConfig:
    """Return the settings a manifest tells, every one as it was; only places, workers and engine may be told anew.

    Raises:
        InputError: the manifest names a setting that is unknown or malformed here.
    """
    values = {name: value for name, value in manifest.settings.items() if name != "origins" and value != []}
    options = options_from(values, file=out / MANIFEST)
    told = RunOptions(
        dialect=manifest.dialect,
        predictions=places.predictions,
        agent=places.agent,
        out=out,
        mirror=places.mirror or None,
        images_lock=places.images_lock,
        judge=places.judge or None,
        judge_record=places.judge_record,
    )
    anew = options_from({"jobs": moved.jobs, "engine": moved.engine}, file=None, names="--")
    config = resolve([("command line", anew), ("manifest", told), ("manifest", options)], PackSettings())
    return replace(
        config,
        policy=_policy(manifest, out),
        policy_origins=tuple(sorted(manifest.policy_origin.items())),
        origins=tuple(sorted(manifest.settings.get("origins", {}).items())),
    )


def _policy(manifest: Manifest, out: Path) -> Policy:
    """Return the run's policy, field by field as it was resolved then.

    Raises:
        InputError: a field that this version does not know or take.
    """
    try:
        return Policy.model_validate(manifest.policy)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(("policy", *(str(part) for part in first["loc"])))
        remedy = "Use the version that wrote it, or start a new run"
        raise InputError(first["msg"], file=out / MANIFEST, field=field, remedy=remedy) from error


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Work in the folder the run was started in, where its relative paths and the agent's modules are looked up.

    Raises:
        InputError: it is gone.
    """
    here = Path.cwd()
    try:
        os.chdir(folder)
    except OSError as error:
        message = f"the folder the run was started in cannot be entered ({error.strerror})"
        raise InputError(message, file=folder, remedy="Put it back, or start a new run") from error
    try:
        yield
    finally:
        os.chdir(here)

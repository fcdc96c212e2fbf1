"""Open the provider a run takes its sandboxes from: chosen, its engine up, dead runs' leftovers gone."""

from __future__ import annotations

import resource
import sys
from typing import Protocol, runtime_checkable

from sqlassay.cases.errors import EngineUnavailableError, InfrastructureError, InputError, SqlassayError
from sqlassay.dialect_adapters.contract import ServerRecipe
from sqlassay.sandboxes.contract import Notice, Provider
from sqlassay.sandboxes.engine import EnginePolicy, ensure_engine
from sqlassay.sandboxes.images.choice import DEFAULT_CHOICE, BaseChoice
from sqlassay.sandboxes.registry import provider

_FILES, _FEWEST_FILES = 1024, 128
"""How many files a process asks to hold open where its limit is lower, and how many it cannot work without."""

_AUTO = {"files": ("process", "docker"), "server": ("docker", "process")}
"""Which providers `auto` takes, the first that can be used, by what a recipe needs: a worker or a server."""


@runtime_checkable
class Checks(Protocol):
    """A provider that says beforehand whether a recipe can run here."""

    def check(self, recipe: ServerRecipe) -> None:
        """Raise an InputError or InfrastructureError where it cannot."""
        ...


def open_provider(
    recipe: ServerRecipe,
    sandbox: str,
    notice: Notice,
    *,
    engine: EnginePolicy,
    runtime: str = "",
    bases: BaseChoice = DEFAULT_CHOICE,
) -> Provider:
    """Return the named provider, ready to prepare an image; `bases` are where it takes base images from, if any.

    `auto` takes the first of those for the recipe's kind that can be used here, and says so where that is the second.

    Raises:
        InputError: an unknown provider, or a runtime named for one that runs no containers.
        InfrastructureError: this process may hold too few files open.
        EngineUnavailableError: it needs an engine and none answers.
    """
    _open_files()
    name = sandbox if sandbox != "auto" else _AUTO[recipe.kind][0] if runtime else _chosen(recipe, notice)
    found = provider(name)
    if found.needs_engine:
        try:
            ensure_engine(engine, notice)
        except EngineUnavailableError as fault:
            if recipe.host is not None and sys.platform == "linux":
                without = f"run {recipe.dialect} without containers: `--sandbox process`"
                fault.remedy = f"{fault.remedy}; or {without}" if fault.remedy else without.capitalize()
            raise
        # The same word decides whether what a base image is built with may be installed.
        options: dict[str, object] = {"runtime": runtime} if runtime else {}
        if bases != DEFAULT_CHOICE:
            options |= {"pull": bases.pull, "mirrors": bases.mirrors, "images_lock": bases.lock}
        found = provider(name, engine_policy=engine, **options)
    elif runtime:
        raise InputError(
            f"the '{name}' sandbox runs no container, so it takes no runtime such as '{runtime}'",
            field="--runtime",
            remedy="Use `--sandbox docker`, or leave --runtime out",
        )
    for removed in found.sweep():
        notice(f"removed a leftover of a dead run: {removed}")
    return found


def _open_files() -> None:
    """See that this process may hold enough files open, raising its own limit where it may.

    Raises:
        InfrastructureError: it may not; every later fault would name something else.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES and (hard == resource.RLIM_INFINITY or soft < hard):
        soft = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != resource.RLIM_INFINITY and soft < _FEWEST_FILES:
        raise InfrastructureError(
            f"this process may hold {soft} files open, {_FEWEST_FILES} are needed",
            remedy="Raise the limit with `ulimit -n 1024`, or LimitNOFILE of the service it runs in",
        )


def sweep_left(recipe: ServerRecipe, sandbox: str, notice: Notice) -> None:
    """Remove what dead runs left where no sandbox is needed any more; an engine that does not answer is left alone."""
    for name in _AUTO[recipe.kind] if sandbox == "auto" else (sandbox,):
        found = provider(name)
        try:
            for removed in found.sweep():
                notice(f"removed a leftover of a dead run: {removed}")
        except EngineUnavailableError as error:
            notice(f"leftovers were not looked for: {error.message}")
        finally:
            found.close()


def _chosen(recipe: ServerRecipe, notice: Notice) -> str:
    """Return the first provider of a recipe's kind that can be used as the machine is; else the first of all.

    Nothing is installed or started for a choice that another can serve.
    """
    first, second = _AUTO[recipe.kind]
    fault = _fault(first, recipe)
    if fault is None or recipe.library is not None or _fault(second, recipe) is not None:
        return first
    notice(f"sandbox: {second} in place of {first}, which cannot be used here: {fault.message}")
    return second


def _fault(name: str, recipe: ServerRecipe) -> SqlassayError | None:
    """Return why a provider cannot be used as the machine is, None where it can."""
    made = provider(name)
    try:
        if made.needs_engine:
            ensure_engine("none", lambda _: None)
        elif isinstance(made, Checks):
            made.check(recipe)
    except (InputError, InfrastructureError) as fault:
        return fault
    finally:
        made.close()
    return None

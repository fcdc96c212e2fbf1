"""The container runtimes an engine has been told of (runc, crun, runsc), by the names it knows them under."""

from __future__ import annotations

from collections.abc import Mapping

from cases.errors import InputError


def names(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of an engine's runtimes, sorted; none where the engine does not say."""
    known = facts.get("Runtimes")
    return tuple(sorted(known)) if isinstance(known, dict) else ()


def default(facts: Mapping[str, object]) -> str:
    """Return the name of the runtime an engine takes by itself, empty where it does not say."""
    return str(facts.get("DefaultRuntime") or "")


def described(facts: Mapping[str, object]) -> str:
    """Return an engine's runtimes and its default as one line."""
    return f"{', '.join(names(facts)) or 'the engine names none'}; default {default(facts) or 'unnamed'}"


def refuse_unknown(runtime: str, facts: Mapping[str, object]) -> None:
    """Refuse a runtime that the engine does not list; one that lists none is left to refuse it at the first start.

    Raises:
        InputError: the engine has no such runtime.
    """
    known = names(facts)
    if runtime and known and runtime not in known:
        raise InputError(
            f"the container engine has no runtime '{runtime}'; it knows {', '.join(known)}",
            field="--runtime",
            remedy='Name one of these, or install it and enter it under "runtimes" in the engine\'s configuration',
        )

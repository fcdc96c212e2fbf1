"""Which cases a run takes, in pack order: by id, tag, number or seeded sample."""

from __future__ import annotations

import random

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack
from sqlassay.harness.run.options import RunConfig


def select(pack: Pack, config: RunConfig) -> tuple[Case, ...]:
    """Return the selected cases in pack order.

    Raises:
        InputError: an id in --only, or a tag in --tags, that no case of the pack has.
    """
    known = {case.id for case in pack.cases}
    unknown = [case_id for case_id in config.only if case_id not in known]
    if unknown:
        raise InputError(
            f"no such case: {', '.join(unknown[:5])}",
            field="--only",
            remedy=f"The pack {pack.name} has {len(known)} cases",
        )
    tagged = {tag for case in pack.cases for tag in case.tags}
    strange = [tag for tag in config.tags if tag not in tagged]
    if strange:
        listed = f"The tags are: {', '.join(sorted(tagged)[:20])}" if tagged else "No case has a tag"
        raise InputError(f"no case has the tag {', '.join(strange[:5])}", field="--tags", remedy=listed)
    chosen = [case for case in pack.cases if not config.only or case.id in config.only]
    chosen = [case for case in chosen if not config.tags or set(config.tags) & set(case.tags)]
    if config.sample is not None and config.sample < len(chosen):
        picked = set(random.Random(config.seed).sample(range(len(chosen)), config.sample))  # noqa: S311 (a sample, no secret)
        chosen = [case for index, case in enumerate(chosen) if index in picked]
    if config.limit is not None:
        chosen = chosen[: config.limit]
    return tuple(chosen)

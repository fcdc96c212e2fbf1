"""Read YAML that strangers wrote: safe types only, no duplicate keys, no aliases, and a line for every field."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Place
from sqlassay.cases.reading import HALF_REMEDY, read_text
from sqlassay.cases.storable import HALF, is_half

MAX_YAML = 16 * 1024 * 1024
MAX_DEPTH = 100
_HALF_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A YAML value and the line of each of its fields."""

    path: Path
    value: object
    lines: dict[Place, int]

    def line(self, place: Place) -> int | None:
        """Return the line of a field, or of the nearest thing around it that has one."""
        for end in range(len(place), -1, -1):
            if place[:end] in self.lines:
                return self.lines[place[:end]]
        return None


class FromEnvironment(str):
    """A text written as `!ENV ${NAME}` or `!ENV ${NAME:default}`: whoever may read the environment fills it in."""

    __slots__ = ()


# libyaml reads ten times as fast; PyYAML is built without it on some platforms.
_Plain: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _WithTemplates(_Plain):  # type: ignore[misc, valid-type]
    """The safe loader that takes `!ENV` texts beside the plain types."""


def _template(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> FromEnvironment:
    """Return a text that the environment fills in."""
    return FromEnvironment(loader.construct_scalar(node))


_WithTemplates.add_constructor("!ENV", _template)


def read_yaml(path: Path, *, templates: bool = False) -> YamlDocument:
    """Return a YAML file's only document; with `templates`, texts marked `!ENV` come as FromEnvironment.

    Raises:
        InputError: no UTF-8 text, no YAML, more than one document, an alias, a duplicate key or endless nesting.
    """
    text = read_text(path, limit=MAX_YAML)
    # libyaml refuses an escaped half of a character without saying where it stands.
    kind = _WithTemplates if templates else yaml.SafeLoader if _HALF_ESCAPE.search(text) else _Plain
    loader = kind("")
    try:
        _refuse_deep(path, text, kind)
        loader = kind(text)
        node = loader.get_single_node()
        if node is None:
            return YamlDocument(path, None, {(): 1})
        lines: dict[Place, int] = {}
        _walk(path, node, (), lines, set())
        return YamlDocument(path, loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        if "nesting depth" in (error.problem or ""):
            raise InputError("nested too deeply", file=path, line=line, remedy="Flatten the YAML") from None
        raise InputError(f"not YAML: {error.problem}", file=path, line=line, remedy="Correct the YAML") from None
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
        # PyYAML's constructors raise whatever they trip over when a tag and its value do not go together.
        message = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"not YAML: {message}", file=path, remedy="Correct the YAML") from None
    finally:
        loader.dispose()


def _refuse_deep(path: Path, text: str, kind: type[yaml.SafeLoader]) -> None:
    """Refuse what is nested past any use, before a reader that calls itself for each level meets it."""
    depth = 0
    for event in yaml.parse(text, Loader=kind):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1 if event.start_mark else None
                raise InputError("nested too deeply", file=path, line=line, remedy="Flatten the YAML")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _walk(path: Path, node: yaml.Node, place: Place, lines: dict[Place, int], seen: set[int]) -> None:
    """Note the line of every field and refuse what would make two readers see two things."""
    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if id(node) in seen:
        raise InputError("YAML aliases are not accepted", file=path, line=line, remedy="Write the value out twice")
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode) and is_half(node.value):
        raise InputError(f"holds {HALF}", file=path, line=line, field=dotted(place), remedy=HALF_REMEDY)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(path, item, (*place, index), lines, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = (*place, _key(path, key))
            if name in lines:
                where = key.start_mark.line + 1
                message = f"key '{key.value}' stands twice"
                raise InputError(message, file=path, line=where, field=dotted(name), remedy="Keep one of them")
            lines[name] = key.start_mark.line + 1
            _walk(path, value, name, lines, seen)


def _key(path: Path, node: yaml.Node) -> str:
    """Return a mapping's key as text; other keys cannot be fields."""
    if isinstance(node, yaml.ScalarNode) and node.tag != "tag:yaml.org,2002:merge" and not is_half(node.value):
        return str(node.value)
    line = node.start_mark.line + 1
    raise InputError("a key must be plain text", file=path, line=line, remedy="Write the key as text")


def dotted(place: Place) -> str | None:
    """Return a field's place as a.b.0.c, or None for the whole file."""
    return ".".join(str(part) for part in place) or None

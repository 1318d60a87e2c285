"""Docstrings as Markdown: their paragraphs, what they say of each parameter, the cost and the example.

A docstring has a summary, paragraphs, and blocks of lines `name: text` or `name, name: text`, continued by indented
lines. A paragraph that begins with `Cost:` is the cost, and the indented block after `Example:` the example.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from typing import Any

from tirx_mini.isa import literal
from tirx_mini.sim import Question
from tools.pages import as_table

_NAMES = re.compile(r"(\*?\w+(?:, \*?\w+)*): (.*)", re.DOTALL)
_ALIGNED = re.compile(r"\S {3,}\S")
_CODE = re.compile(r"``(.+?)``")
QUESTION = "fields of `tirx_mini.sim.Question`"
WIDTH = 100
"""The longest signature on one line."""


@dataclass(frozen=True)
class Doc:
    """A docstring. summary: its first paragraph; text: the others. parameters: (names, meaning) in order."""

    summary: str
    text: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    cost: str
    example: str


def doc_of(documented: Any) -> Doc:
    """The docstring of an object. Raises `ValueError` where it has none.

    A function whose docstring refers to the fields of `Question` has their documentation for its keywords.
    """
    doc = parsed(inspect.getdoc(documented) or "", getattr(documented, "__name__", repr(documented)))
    if not any(QUESTION in part for part in doc.text):
        return doc
    fields = dict(parsed(inspect.getdoc(Question) or "").parameters)
    keywords = [name for name, p in inspect.signature(documented).parameters.items() if p.kind is p.KEYWORD_ONLY]
    text = tuple(part for part in doc.text if QUESTION not in part)
    return replace(doc, text=text, parameters=(*doc.parameters, *((name, fields[name]) for name in keywords)))


def parsed(text: str, name: str = "") -> Doc:
    """The parts of a docstring."""
    if not text:
        raise ValueError(f"{name} has no docstring")
    blocks = [block for block in re.split(r"\n\n+", text) if block.strip()]
    summary, paragraphs, parameters, cost, example = _code(_joined(blocks[0])), [], [], "", ""
    wants_example = False
    for block in blocks[1:]:
        if block.strip() == "Example:":
            wants_example = True
        elif wants_example and block.startswith("    "):
            example = (example + "\n\n" + textwrap.dedent(block).strip("\n")).strip("\n")
        elif block.startswith("Cost: "):
            cost = _code(_joined(block.removeprefix("Cost: ")))
        elif all(_NAMES.fullmatch(item) for item in _items(block)):
            matches = [_NAMES.fullmatch(item) for item in _items(block)]
            parameters += [(match[1], _code(_joined(match[2]))) for match in matches if match]
        elif block.startswith("    ") or all(_ALIGNED.search(line) for line in block.splitlines()):
            paragraphs.append(fenced(textwrap.dedent(block).strip("\n")))
        else:
            paragraphs.append(_code(_joined(block)))
    return Doc(summary, tuple(paragraphs), tuple(parameters), cost, example)


def _items(block: str) -> list[str]:
    """The lines of a block, each with the indented ones that continue it."""
    return re.split(r"\n(?! )", block)


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())


def _code(text: str) -> str:
    """Text with ``code`` as Markdown has it, and stars and angle brackets as they are."""
    text = _CODE.sub(r"`\1`", text)
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("*", r"\*").replace("<", "&lt;") for part in parts)


# -- signatures --------------------------------------------------------------------------------------------------------


def signature(name: str, function: Callable[..., Any], returns: bool = True) -> str:
    """The signature of a function or class as a kernel or a program calls it, without `self`."""
    found = inspect.signature(function)
    parameters = [p for p in found.parameters.values() if p.name not in ("self", "_builder")]
    shown = [_parameter(p) for p in parameters]
    first = next((i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
    if first is not None and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        shown.insert(first, "*")
    arrow = _return(found.return_annotation) if returns else ""
    line = f"{name}({', '.join(shown)}){arrow}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + f"){arrow}"


def _parameter(p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = "" if p.annotation is p.empty else f": {_text(p.annotation)}"
    if p.default is p.empty:
        return f"{stars}{p.name}{kind}"
    return f"{stars}{p.name}{kind}{' = ' if kind else '='}{_default(p.default)}"


def _default(value: Any) -> str:
    return value.__name__ if inspect.isfunction(value) else literal(value)


def _return(annotation: Any) -> str:
    text = "" if annotation is inspect.Signature.empty else _text(annotation)
    return f" -> {text}" if text and text != "None" else ""


def _text(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return re.sub(r"\b_(?=[A-Z])", "", text)  # a type variable


# -- Markdown ----------------------------------------------------------------------------------------------------------


def fenced(text: str, language: str = "text") -> str:
    """A code block. What is no output is marked as a fragment, which is not run by itself."""
    mark = "<!-- not run: a fragment -->\n" if language != "text" else ""
    return f"{mark}```{language}\n{text}\n```"


def listed(parameters: tuple[tuple[str, str], ...]) -> str:
    """A list of parameters with their meanings."""
    lines = []
    for names, meaning in parameters:
        shown = ", ".join(f"`{name}`" for name in names.split(", "))
        lines.append(wrapped(f"- {shown}: {meaning}", "  "))
    return "\n".join(lines)


def wrapped(text: str, indent: str = "") -> str:
    """Text in lines of at most 120 columns."""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table; a | in a cell stays one."""
    lines = [head, tuple("---" for _ in head), *rows]
    # GitHub needs a backslash before a bar in code, and the site shows it.
    return as_table([cell.replace(" | ", " or ") for cell in row] for row in lines)


def body(doc: Doc) -> Iterator[str]:
    """The parts of a docstring in the order of the pages."""
    yield from (part if "```" in part else wrapped(part) for part in (doc.summary, *doc.text))
    if doc.parameters:
        yield listed(doc.parameters)
    if doc.cost:
        yield wrapped(f"**Cost:** {doc.cost}")
    if doc.example:
        yield fenced(doc.example, "python")


def document(*parts: str) -> str:
    """A page of its parts, with an empty line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def described(thing: Any, name: str = "", level: int = 2) -> Iterator[str]:
    """A function, or a class with its own public members, under a heading."""
    name = name or thing.__name__
    yield f"{'#' * level} {name}"
    if inspect.isclass(thing):
        if is_made_by_users(thing):
            yield fenced(signature(name, thing, returns=False), "python")
        yield from body(doc_of(thing))
        yield from members(thing, level + 1)
    else:
        yield fenced(signature(name, thing), "python")
        yield from body(doc_of(thing))


def is_made_by_users(cls: type) -> bool:
    """Whether the arguments of a class concern users: not those of results, exceptions, enums and base classes."""
    return not (issubclass(cls, (BaseException, Enum)) or inspect.isabstract(cls) or cls.__name__ in RESULTS)


RESULTS = {"Report", "Finding", "Executable", "SimulatedExecutable", "Run", "RemoteBarrier", "PrimFunc", "Stage"}
"""Classes whose objects users are given."""


def members(cls: type, level: int) -> Iterator[str]:
    """The public attributes and methods of a class that have docstrings, in the order of its source."""
    own = [(name, item) for name, item in vars(cls).items() if not name.startswith("_") or name == "__call__"]
    own = [(name, item) for name, item in own if not _same_as_above(cls, name, item)]
    if issubclass(cls, Enum):
        yield "Members: " + ", ".join(f"`{member.name}`" for member in cls) + "."
    properties = [(name, item) for name, item in own if isinstance(item, (property, cached_property))]
    if properties:
        documented = [(name, inspect.getdoc(item)) for name, item in properties if inspect.getdoc(item)]
        lines = (wrapped(f"- `{name}`: {parsed(text or '').summary}", "  ") for name, text in documented)
        yield "Attributes:\n\n" + "\n".join(lines)
    for name, item in own:
        function = getattr(item, "origin", item)
        if not inspect.isfunction(function) or not function.__doc__ or function.__name__ != name:
            continue
        shown = cls.__name__.lower() if name == "__call__" else name
        title = f"Calling {cls.__name__}" if name == "__call__" else f"{cls.__name__}.{name}"
        yield f"{'#' * level} {title}"
        yield fenced(signature(shown, partial(function, None)), "python")
        yield from body(doc_of(function))
        others = [other for other, same in own if same is item and other != name]
        if others:
            yield f"`{', '.join(others)}` is another name of it."


def _same_as_above(cls: type, name: str, item: Any) -> bool:
    """Return whether a member inherits the documentation of a base class, which has a section of its own."""
    above = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
    if above is None or name.startswith("__"):
        return False
    return inspect.getdoc(item) in (None, inspect.getdoc(above))

"""The page of all instructions, by family."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType

from tirx_mini.isa import NAMES, Alias, Instruction, call_text, facts_of, literal, ptx_text
from tirx_mini.isa.table import FAMILIES
from tools.pages import slug

from ._markdown import body, document, fenced, parsed, table, wrapped

_HEAD = """# Instructions

This page lists every instruction of `Tx.ptx` and `Tx.cuda`: how a kernel calls it, the PTX that it becomes, the
threads that issue it, the architectures that have it and its cost. It is made from the table `tirx_mini/isa`, from
which the simulator and the compiler also work.

- **Operands** are values of the kernel; **modifiers**, the parameters with a default or with given choices, are known
  at compile time. Arguments can be given by position or by name.
- **Issued by**: the threads that execute the instruction together. An instruction of a warp or a warpgroup needs all
  of its threads.
- **Architectures**: the first and the last that have the instruction. From `sm_90a` on, the compiler builds for the
  architecture-specific variants (`a`).
- **Cost**: the cost class and the cycles that the simulator's clock counts for the issue ([The clock](../clock.md)).
  The time until an asynchronous instruction is complete comes on top.
- **PTX ISA**: the title of the section that describes the instruction. In the PTX, operands stand under their names,
  and modifiers have their default values."""


_SOURCE = re.compile(r"\s*\(PTX ISA: [^)]*\)")
"""Where a family is described, in its first sentence: each entry says so itself."""


def page() -> str:
    """The page."""
    parts = [_HEAD]
    for family in FAMILIES:
        parts += _family(family)
    return document(*parts)


def _entries(family: ModuleType) -> list[Instruction]:
    return [
        entry for entry in vars(family).values()
        if isinstance(entry, Instruction) and entry.semantics.__module__ == family.__name__
    ]  # fmt: skip


def _family(family: ModuleType) -> Iterator[str]:
    doc = parsed(inspect.getdoc(family) or "", family.__name__)
    title, _, rest = _SOURCE.sub("", doc.summary).rstrip(".").partition(": ")
    yield f"## {title}"
    if rest:
        yield wrapped(f"{rest[0].upper()}{rest[1:]}.")
    yield from (part if "```" in part else wrapped(part) for part in doc.text)
    entries = _entries(family)
    rows = []
    for entry in entries:
        name = f"Tx.{NAMES.of(entry)[0].path}"
        rows.append((f"[`{name}`](#{slug(name)})", parsed(entry.doc).summary))
    yield table(("instruction", "what it does"), rows)
    for entry in entries:
        yield from _instruction(entry)


def _instruction(entry: Instruction) -> Iterator[str]:
    first, *others = NAMES.of(entry)
    yield f"### `Tx.{first.path}`"
    yield fenced(call_text(first.path, entry, first), "python")
    doc = parsed(entry.doc)
    yield from body(doc)
    if entry.ptx:
        yield fenced(ptx_text(entry), "ptx")
    facts = list(facts_of(entry, first))
    yield "\n".join(f"- `{label}`: {text}" for label, text in facts if label not in _LABELS)
    yield wrapped(" ".join(f"{label[0].upper()}{label[1:]}: {text}." for label, text in facts if label in _LABELS))
    if others:
        yield "Also " + ", ".join(_other(entry, alias) for alias in others) + "."


_LABELS = ("returns", "issued by", "architectures", "cost", "completion", "PTX ISA")


def _other(entry: Instruction, alias: Alias) -> str:
    given = ", ".join(f"`{name}={literal(value)}`" for name, value in alias.preset.items())
    return f"`{call_text(alias.path, entry, alias)}`" + (f", which sets {given}" if given else "")

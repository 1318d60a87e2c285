"""The manual of a table entry: its signature, PTX, issuer, architectures and cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from textwrap import indent

from tirx_mini.hardware import ISSUE_CYCLES

from .alias import Alias
from .core import Instruction
from .facts import Scope

_ISSUERS = {
    Scope.THREAD: "each active thread",
    Scope.WARP: "a warp, all its threads together",
    Scope.WARPGROUP: "a warpgroup, all its threads together",
}
_EXAMPLES = {"dim": 2, "n": 128}
"""The values of modifiers without default that determine the PTX text."""


def parameters(entry: Instruction, alias: Alias | None = None) -> Iterator[tuple[str, object]]:
    """Yield the name and default of each parameter of a call under the name `alias`, `...` if required.

    A variadic operand has a star before its name. Parameters that the alias fixes are omitted.
    """
    preset: Mapping[str, object] = alias.preset if alias is not None else {}
    if alias is not None and alias.order:
        yield from _ordered(entry, alias)
        return
    for operand in entry.operands:
        if operand.name not in preset:
            yield "*" * operand.variadic + operand.name, ...
    for attribute in entry.attributes:
        if attribute.name not in preset:
            yield attribute.name, ... if attribute.required else attribute.default


def _ordered(entry: Instruction, alias: Alias) -> Iterator[tuple[str, object]]:
    """Yield the parameters of an alias with its own order; those before a required parameter have no default."""
    defaults = {a.name: ... if a.required else a.default for a in entry.attributes} | dict(alias.defaults)
    order = [
        (name, ... if name[0] == "*" else _first(meant) if isinstance(meant, tuple) else defaults.get(meant, ...))
        for name, meant in alias.order.items()
    ]
    last = max((place for place, (_, default) in enumerate(order) if default is ...), default=-1)
    yield from ((name, default if place > last else ...) for place, (name, default) in enumerate(order))


def _first(values: tuple[object, ...]) -> object:
    return None if values[0] is ... else values[0]


def literal(value: object) -> str:
    """Return a Python value as source text, with double quotes."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def call_text(path: str, entry: Instruction, alias: Alias | None = None) -> str:
    """Return a call as written in a kernel: `Tx.ptx.tcgen05.commit(bar, cta_group=1, cta_mask=None)`."""
    shown = (name if default is ... else f"{name}={literal(default)}" for name, default in parameters(entry, alias))
    return f"Tx.{path}({', '.join(shown)})"


def ptx_text(entry: Instruction) -> str:
    """Return the PTX with default modifiers, or "" for a function of CUDA C++."""
    if not entry.ptx:
        return ""
    required = {a.name: _EXAMPLES.get(a.name, a.name) for a in entry.attributes if a.required}
    text = entry.template(required).replace("{result}", "result")
    for operand in entry.operands:
        text = text.replace("{" + operand.name + "}", operand.name).replace("{" + operand.name + "_space}", "cta")
    return text


def architectures(entry: Instruction) -> str:
    """Return the supported architectures, such as "sm_100a to sm_110a"."""
    first, last = (sm and f"sm_{sm}{'a' * (sm >= 90)}" for sm in (entry.min_sm, entry.max_sm))
    if first == last:
        return f"{first} only"
    return f"{first} and later" if last is None else f"{first} to {last}"


def facts_of(entry: Instruction, alias: Alias) -> Iterator[tuple[str, str]]:
    """Yield the facts as (label, text), without the PTX: operands, issuer, architectures, cost, section.

    alias: a name of the instruction, with its other names of parameters.
    """
    for operand in entry.operands:
        others = [name for name, meant in alias.parameters.items() if meant == operand.name]
        yield operand.name, operand.type.what + (f" (also {', '.join(others)})" if others else "")
    for attribute in entry.attributes:
        if attribute.choices is not None:
            yield attribute.name, "one of " + ", ".join(map(literal, attribute.choices))
        elif attribute.counts:
            yield attribute.name, "a whole number, known at compile time"
        else:
            yield attribute.name, "known at compile time"
    if entry.result is not None:
        yield "returns", entry.result.what
    yield "issued by", _ISSUERS[entry.issued_by]
    yield "architectures", architectures(entry)
    yield "cost", f"{entry.cost}, {ISSUE_CYCLES[entry.cost]:g} cycles to issue in the simulator's clock"
    for (name, value), some in entry.only_on.items():
        yield f"{name}={literal(value)}", f"only on {' and '.join(f'sm_{sm}a' for sm in some)}"
    if entry.completion is not None:
        yield "completion", f"asynchronous, observed through {entry.completion.value}"
    if entry.ptx:
        yield "PTX ISA", entry.section


def manual(path: str, entries: list[tuple[Instruction, Alias]]) -> str:
    """Return the help text of a name: each signature, with the instruction's effect and facts.
    """
    return "\n\n".join(_page(path, entry, alias) for entry, alias in entries)


def _page(path: str, entry: Instruction, alias: Alias) -> str:
    given = "".join(f"\n\nWith {name} = {literal(value)}." for name, value in alias.preset.items())
    shown = {meant: name.lstrip("*") for name, meant in alias.order.items() if isinstance(meant, str)}
    facts = [(shown.get(name, name), text) for name, text in facts_of(entry, alias) if name not in alias.preset]
    wide = max(len(name) for name, _ in facts) + 2
    lines = "\n".join(f"{name + ':':<{wide}}{text}" for name, text in facts)
    ptx = f"\n\nPTX:\n{indent(ptx_text(entry), '    ')}" if entry.ptx else ""
    return f"{call_text(path, entry, alias)}\n\n{entry.doc}{given}{ptx}\n\n{lines}"

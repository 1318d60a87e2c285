"""TileLang's builtins, what each becomes, and the architectures that have it: `docs/tilelang.md`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from tirx_mini.frontends.tilelang.builtins import MORE, NAMES, Builtin, facts_of
from tirx_mini.hardware import arch_name
from tools.pages import as_table

_CALL = re.compile(r"``(\w+\(.*?\))``: ")
"""A call at the beginning of a docstring, for a function that sorts its arguments itself."""
HEAD = ("builtin", "meaning", "becomes", "architectures")


def _row(name: str) -> tuple[str, str, str, str]:
    function = {**NAMES, **MORE}[name]
    facts = facts_of(function)
    text = " ".join((inspect.getdoc(function) or "").split())
    called = _CALL.match(text)
    meaning = re.split(r"(?<=[.])\s", text[called.end() :] if called else text)[0].replace("``", "`")
    opcodes = ", ".join(f"`{opcode}`" for opcode in facts.opcodes)
    becomes = "; ".join(part for part in (opcodes, facts.becomes) if part)
    shown = called.group(1) if called else f"{name}{_signature(function)}"
    return f"`{shown}`", meaning[0].upper() + meaning[1:], becomes, _architectures(facts)


def _signature(function: Callable[..., Any]) -> str:
    given = inspect.signature(function).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in given]
    return str(inspect.Signature(plain)).replace(str(0xFFFFFFFF), "0xffffffff").replace("'", '"')


def _architectures(facts: Builtin) -> str:
    first, last = arch_name(facts.min_sm), facts.max_sm
    if last is None:
        return f"{first} and later"
    return first if last == facts.min_sm else f"{first} to {arch_name(last)}"


def passages() -> Iterator[tuple[str, str]]:
    for passage, names in (("tilelang-builtins", NAMES), ("tilelang-more", MORE)):
        yield passage, as_table((HEAD, ("---",) * len(HEAD), *map(_row, names)))

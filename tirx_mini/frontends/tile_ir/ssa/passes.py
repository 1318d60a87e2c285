"""Passes with names, and runs of several with texts before and after."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from tirx_mini.records import dataclass

from .core import Module
from .printer import print_module
from .verifier import verify

Context = TypeVar("Context")
Watch = Callable[[str, Module, Module], None]
"""Called after each pass, with its name and the modules before and after it."""


@dataclass(frozen=True)
class Pass(Generic[Context]):
    """A function from modules to modules.

    name: as in TileIR's catalogue: "tileas-plan-cta".
    run: gets the module, and what all passes of the pipeline may ask (target, options).
    doc: one sentence.
    """

    name: str
    run: Callable[[Module, Context], Module]
    doc: str = ""


def run_passes(
    module: Module, passes: Iterable[Pass[Context]], context: Context, watch: Watch | None = None, each: bool = True
) -> Module:
    """The module after all passes. each: it is verified after every pass that changes it; else after the last one."""
    for step in passes:
        before, module = module, step.run(module, context)
        if each and module is not before:
            verify(module, step.name)
        if watch is not None:
            watch(step.name, before, module)
    return module if each else verify(module, "all passes")


def diff(before: Module, after: Module, name: str) -> str:
    """What a pass changed, as a unified diff of the texts; "" if nothing."""
    old, new = (print_module(m).splitlines() for m in (before, after))
    return "\n".join(difflib.unified_diff(old, new, f"before {name}", f"after {name}", lineterm=""))

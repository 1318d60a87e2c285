"""Pass execution with verification and textual diffs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from tirx_mini.ir import Pass, run_passes

from .core import Module
from .printer import print_module
from .verifier import verify

Watch = Callable[[str, Module, Module], None]
"""Called after each pass, with its name and the modules before and after it."""


def run_verified(
    module: Module, passes: Iterable[Pass[Module]], context: object, watch: Watch | None = None, each: bool = True
) -> Module:
    """Run all passes and return the module. each: verify after every pass that changes it, else only at the end."""

    def checked(name: str, before: Module, after: Module) -> None:
        if each and after is not before:
            verify(after, name)
        if watch is not None:
            watch(name, before, after)

    module = run_passes(module, passes, context, watch=checked)
    return module if each else verify(module, "all passes")


def diff(before: Module, after: Module, name: str) -> str:
    """Return the changes of a pass as a unified diff of the texts; "" if there are none."""
    old, new = (print_module(m).splitlines() for m in (before, after))
    return "\n".join(difflib.unified_diff(old, new, f"before {name}", f"after {name}", lineterm=""))

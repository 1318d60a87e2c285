"""The device functions that a kernel calls, each defined once and only where it is used."""

from __future__ import annotations

from tirx_mini.ir import Call, PrimFunc

from .builtins import DEFINITIONS, NEEDS, PREFIX, PROLOGUE
from .exprs import ExprRenderer


class Helpers:
    """Renders instructions as calls of device functions and collects those functions' definitions."""

    def __init__(self, func: PrimFunc) -> None:
        self._func = func
        self._definitions: dict[str, str] = {}

    def require(self, name: str) -> str:
        """The name to call the builtin `name` by."""
        self._definitions.setdefault(name, DEFINITIONS[name])
        return PREFIX + name

    def prologue(self, specials: set[str]) -> list[str]:
        """The lines that read the special registers in `specials` at the start of the kernel."""
        used = [name for name in PROLOGUE if name in specials]
        for name in used:
            if name in NEEDS:
                self.require(NEEDS[name])
        return [f"  {PROLOGUE[name]}" for name in used]

    def definitions(self) -> list[str]:
        return list(self._definitions.values())

    def call(self, call: Call, render: ExprRenderer) -> str:
        raise NotImplementedError

"""The frame of a traced call: source, variables and name resolution."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import field
from types import CodeType
from typing import Any

from tirx_mini.ir import Span
from tirx_mini.records import dataclass
from tirx_mini.script import FunctionSource, did_you_mean

from .errors import TileNameError
from .liveness import Liveness
from .values import MISSING, Undefined


@dataclass(eq=False)
class Frame:
    """The frame of a function that is being traced.

    names: its variables.
    outer: the frame of the function that defines this one, in tile code.
    function: the Python function that the source belongs to, for globals and closures.
    inlined_at: the call.
    loops: what each enclosing loop carries (`carrying.LoopContext`), innermost last.
    returned: the value of the last `return` inside a loop.
    """

    source: FunctionSource
    node: ast.FunctionDef | ast.Lambda
    function: Any
    live: Liveness
    names: dict[str, Any] = field(default_factory=dict)
    outer: Frame | None = None
    inlined_at: Span | None = None
    loops: list[Any] = field(default_factory=list)
    local: frozenset[str] = frozenset()
    returned: Any = MISSING

    def span(self, node: ast.AST) -> Span:
        return self.source.span(node, self.inlined_at)

    @property
    def code(self) -> CodeType:
        return self.function.__code__

    def lookup(self, name: str) -> Any:
        """Return the value of a name. Raises `TileNameError` if it is undefined, at least on some path."""
        found = self.find(name)
        if found is MISSING:
            known = {*self.visible(), *dir(builtins)}
            assigned = name in self.local
            raise TileNameError(
                f"the variable `{name}` is read before it is assigned" if assigned else f"`{name}` is not defined",
                hint=None if assigned else did_you_mean(name, sorted(known)),
            )
        if isinstance(found, Undefined):
            notes = (("it is assigned here", found.span),) if found.span is not None else ()
            raise TileNameError(
                f"the variable `{name}` has no value {found.why}", hint="assign it before, on every path", notes=notes
            )
        return found

    def find(self, name: str) -> Any:
        """Return the value of a name, `MISSING`, or an `Undefined`."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            if name in frame.local:
                return MISSING
            frame = frame.outer
        return next((scope[name] for scope in self._around() if name in scope), getattr(builtins, name, MISSING))

    def _around(self) -> Iterator[dict[str, Any]]:
        """Return the closure variables and globals of the Python function."""
        cells = dict(zip(self.code.co_freevars, self.function.__closure__ or (), strict=False))
        closed = {}
        for name, cell in cells.items():
            try:
                closed[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        yield closed
        yield self.function.__globals__

    def visible(self) -> dict[str, Any]:
        """Return all names in scope except builtins with their values, inner scopes first."""
        names: dict[str, Any] = {}
        scopes = []
        frame: Frame | None = self
        while frame is not None:
            scopes.append(frame.names)
            frame = frame.outer
        for scope in (*scopes, *self._around()):
            for name, value in scope.items():
                names.setdefault(name, value)
        return names

"""The generated module under construction: source lines, and the objects that they reference."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from tirx_mini.ir import Span

INDENT = "    "
OWN = ("w", "wid", "tid", "window", "polls", "steps")
"""Names reserved for generated code."""


_COST = re.compile(r"\s*w\.time \+= (\d+)$")


class Writer:
    """A function under construction: its lines, the names in use, and the namespace of its module."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self.namespace = dict(namespace)
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self._depth = 1
        # The warp, and all that the generated code may say of Python's own, whatever a kernel names its variables.
        self._taken: set[str] = {*OWN, *namespace, *dir(builtins), *keyword.kwlist}
        self._objects: dict[tuple[str, object], str] = {}
        self._span: Span | None = None
        self._pending_cost = 0

    # -- lines ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """Emit the lines written inside as the body of the compound statement `head`; an empty body becomes `pass`."""
        self.settle()
        self.line(head)
        self._depth += 1
        self._span = None
        count = len(self.lines)
        yield
        self.settle()
        if len(self.lines) == count:
            self.line("pass")
        self._depth -= 1
        self._span = None

    def at(self, span: Span | None) -> None:
        """Set the source location of the following lines to `span`."""
        if span is not None and span is not self._span:
            self.line(f"w.span = {self.object('S', span)}")
            self._span = span

    def spend(self, cycles: int) -> None:
        """Add issue cycles, which are emitted before the next use of the warp's time."""
        self._pending_cost += cycles

    def settle(self) -> None:
        if self._pending_cost:
            self.line(f"w.time += {self._pending_cost}")
            self._pending_cost = 0

    @contextmanager
    def dropped(self) -> Generator[None]:
        """Discard the lines written inside, but keep their cost."""
        first, span = len(self.lines), self._span
        yield
        self._pending_cost += sum(int(match[1]) for line in self.lines[first:] if (match := _COST.match(line)))
        del self.lines[first:]
        self._span = span

    @contextmanager
    def free(self) -> Generator[None]:
        """Ignore the cost of the lines written inside, because it is already counted."""
        cost = self._pending_cost
        yield
        self._pending_cost = cost

    # -- names ---------------------------------------------------------------------------------------------------

    def fresh(self, hint: str) -> str:
        """Return an unused name similar to `hint`."""
        base = re.sub(r"\W", "_", hint).strip("_") or "x"
        name, count = base, 0
        while name in self._taken or name[0].isdigit():
            count += 1
            name = f"{base}_{count}" if not base[0].isdigit() else f"x{base}_{count}"
        self._taken.add(name)
        return name

    def object(self, prefix: str, value: object, key: object = None) -> str:
        """Return the name of `value` in generated code; equal keys share a name (default: the object itself)."""
        identity = (prefix, id(value) if key is None else key)
        name = self._objects.get(identity)
        if name is None:
            name = self._objects[identity] = self.fresh(f"{prefix}{len(self._objects)}")
            self.namespace[name] = value
        return name

    def per_warp(self, prefix: str, table: Sequence[object], key: object) -> str:
        """Return the name of a local that holds ``table[w.warp_id]``."""
        identity = (prefix, key)
        name = self._objects.get(identity)
        if name is None:
            name = self._objects[identity] = self.fresh(f"{prefix.lower()}{len(self._objects)}")
            self.prologue.append(f"{INDENT}{name} = {self.object(prefix + '_', table, key)}[wid]")
        return name

    def source(self, signature: str) -> str:
        """Return the source of the whole function."""
        return "\n".join([f"def {signature}:", *self.prologue, *self.lines, ""])

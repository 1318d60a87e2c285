"""The generated module under construction: source lines, and the objects that they reference."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

INDENT = "    "
OWN = ("w", "wid", "tid", "window", "polls", "steps")
"""Names reserved for generated code."""


@dataclass(frozen=True)
class Cost:
    """Issue cycles of instructions, those of them on special function units, and how many instructions are shuffles."""

    cycles: int = 0
    special: int = 0
    shuffles: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cycles + other.cycles, self.special + other.special, self.shuffles + other.shuffles)


FREE = Cost()


class Writer:
    """A function under construction: its lines, the names in use, and the namespace of its module.

    crowded: whether so many warps share an SM that they compete for its issue slots.
    """

    def __init__(self, namespace: Mapping[str, object], crowded: bool = False) -> None:
        self.crowded = crowded
        self.namespace = dict(namespace)
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self._depth = 1
        # The warp, and all that the generated code may say of Python's own, whatever a kernel names its variables.
        self._taken: set[str] = {*OWN, *namespace, *dir(builtins), *keyword.kwlist}
        self._objects: dict[tuple[str, object], str] = {}
        self._span: Span | None = None
        self._pending = FREE
        self._settled: list[tuple[int, Cost]] = []  # by the index of the line

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

    def spend(self, cycles: int, unit: str = "") -> None:
        """Add issue cycles, which are emitted before the next use of the warp's time.

        unit: the cost class of an instruction.
        """
        self._pending += Cost(cycles, cycles if unit == "special" else 0, 1 if unit == "shuffle" else 0)

    def settle(self) -> None:
        cost = self._pending
        if cost == FREE:
            return
        self._settled.append((len(self.lines), cost))
        if self.crowded or cost.special or cost.shuffles:
            slots = cost.cycles if self.crowded else 0
            self.line(f"issue(w, {cost.cycles}, {slots}, {cost.special}, {cost.shuffles})")
        else:
            self.line(f"w.time += {cost.cycles}")
        self._pending = FREE

    @contextmanager
    def dropped(self) -> Generator[None]:
        """Discard the lines written inside, but keep their cost."""
        first, span = len(self.lines), self._span
        yield
        while self._settled and self._settled[-1][0] >= first:
            self._pending += self._settled.pop()[1]
        del self.lines[first:]
        self._span = span

    @contextmanager
    def free(self) -> Generator[None]:
        """Ignore the cost of the lines written inside, because it is already counted."""
        cost = self._pending
        yield
        self._pending = cost

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

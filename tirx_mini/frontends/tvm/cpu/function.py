"""Builder of one LLVM function's text: SSA instructions, basic blocks and stack allocations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import field

from tirx_mini.records import dataclass

ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'
"""Vectors of 512 bits stay whole where the CPU has them."""


@dataclass
class FunctionText:
    """Collects the instructions of a function.

    params: the types (with their attributes) and names of its parameters.
    stack: instructions at the beginning of the function, which reserve memory.
    """

    name: str
    params: Sequence[tuple[str, str]]
    linkage: str = "internal"
    lines: list[str] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    block: str = "entry"
    _count: int = 0

    def fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"%{hint}.{self._count}"

    def value(self, text: str, hint: str = "v") -> str:
        """Emit the instruction `text` and return the name of its result."""
        name = self.fresh(hint)
        self.lines.append(f"  {name} = {text}")
        return name

    def effect(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def reserve(self, text: str, hint: str) -> str:
        """Reserve stack memory for the whole function and return its name."""
        name = self.fresh(hint)
        self.stack.append(f"  {name} = {text}")
        return name

    def label(self, hint: str) -> str:
        """Return a fresh basic-block label."""
        return self.fresh(hint)[1:]

    def enter(self, label: str) -> None:
        """Start a basic block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str, metadata: str = "") -> None:
        self.effect(f"br label %{label}{metadata}")

    def branch(self, condition: str, then: str, orelse: str) -> None:
        self.effect(f"br i1 {condition}, label %{then}, label %{orelse}")

    @contextmanager
    def when(self, condition: str):
        """Emit the statements inside under `condition`."""
        then, after = self.label("then"), self.label("after")
        self.branch(condition, then, after)
        self.enter(then)
        yield
        self.jump(after)
        self.enter(after)

    @contextmanager
    def loop(self, kind: str, start: str, stop: str, step: int, hint: str, metadata: str = ""):
        """Emit a counted loop around the code emitted inside the context, and yield its counter's name."""
        head, body, after = self.label(f"{hint}.head"), self.label(f"{hint}.body"), self.label(f"{hint}.end")
        before, latch = self.block, self.label(f"{hint}.next")
        counter, following = self.fresh(hint), self.fresh(f"{hint}.step")
        self.jump(head)
        self.enter(head)
        self.effect(f"{counter} = phi {kind} [ {start}, %{before} ], [ {following}, %{latch} ]")
        more = self.value(f"icmp {'slt' if step > 0 else 'sgt'} {kind} {counter}, {stop}")
        self.branch(more, body, after)
        self.enter(body)
        yield counter
        self.jump(latch)
        self.enter(latch)
        self.effect(f"{following} = add nsw {kind} {counter}, {step}")
        self.jump(head, metadata)
        self.enter(after)

    def text(self) -> str:
        params = ", ".join(f"{kind} {name}" for kind, name in self.params)
        lines = [f"define {self.linkage} void @{self.name}({params}) {ATTRIBUTES} {{".replace("  ", " "), "entry:"]
        return "\n".join([*lines, *self.stack, *self.lines, "  ret void", "}"])

"""The text of a kernel file, and edits to it that keep each line where it was as far as they can."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[1]
REFERENCES: Mapping[int, Path] = {
    int(path.stem[4:6]): path for path in sorted((ROOT / "kernels_ref" / "sm100").glob("step*.py"))
}

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Edit:
    """The bytes [start, stop) of the UTF-8 text become `new`."""

    start: int
    stop: int
    new: str


@dataclass(frozen=True)
class Place:
    """A statement in the list of statements that holds it."""

    statement: ast.stmt
    block: Sequence[ast.stmt]
    index: int

    @property
    def after(self) -> ast.stmt | None:
        """The next statement of the block."""
        return self.block[self.index + 1] if self.index + 1 < len(self.block) else None


@dataclass(frozen=True, eq=False)
class KernelSource:
    """A file that defines one kernel factory, ``hgemm_vN``, with one kernel in it."""

    step: int
    text: str

    @staticmethod
    def reference(step: int) -> KernelSource:
        return KernelSource(step, REFERENCES[step].read_text(encoding="utf-8"))

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def factory(self) -> ast.FunctionDef:
        """``hgemm_vN``: the layouts, and the kernel."""
        return next(n for n in self.tree.body if isinstance(n, ast.FunctionDef))

    @cached_property
    def kernel(self) -> ast.FunctionDef:
        """The function that is the kernel."""
        return next(n for n in self.factory.body if isinstance(n, ast.FunctionDef))

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def _bytes(self) -> bytes:
        return self.text.encode()

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    # -- looking -------------------------------------------------------------------------------------------------

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """The byte at which a node begins."""
        return self._line_starts[node.lineno - 1] + node.col_offset

    def stop(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """The byte after a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def segment(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """The text of a node."""
        return self._bytes[self.start(node) : self.stop(node)].decode()

    def find(self, kind: type[Node], inside: ast.AST | None = None) -> Iterator[Node]:
        """All nodes of a kind in the kernel, in the order of the text."""
        found = [n for n in ast.walk(inside or self.kernel) if isinstance(n, kind)]
        yield from sorted(found, key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)))

    @cached_property
    def inline_functions(self) -> Mapping[str, ast.FunctionDef]:
        """The kernel's own inline functions by name."""
        return {f.name: f for f in self.find(ast.FunctionDef) if f is not self.kernel}

    @cached_property
    def places(self) -> Sequence[Place]:
        """Every statement inside the kernel with the block it is in, outer ones first."""
        return tuple(self._places(self.kernel))

    def _places(self, owner: ast.AST) -> Iterator[Place]:
        for name in ("body", "orelse"):
            block: list[ast.stmt] = getattr(owner, name, [])
            for index, statement in enumerate(block):
                yield Place(statement, block, index)
                yield from self._places(statement)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    # -- editing -------------------------------------------------------------------------------------------------

    def replace(self, node: ast.expr | ast.stmt | ast.keyword, new: str) -> Edit:
        """Write `new` in the place of a node."""
        return Edit(self.start(node), self.stop(node), new)

    def swap(self, first: ast.expr | ast.stmt, second: ast.expr | ast.stmt) -> tuple[Edit, Edit]:
        """Exchange the texts of two nodes."""
        return self.replace(first, self.segment(second)), self.replace(second, self.segment(first))

    def drop(self, statement: ast.stmt) -> Edit:
        """Remove a statement; the lines after it keep their numbers."""
        lines = self.segment(statement).count("\n")
        return self.replace(statement, "pass" + "\n" * lines)

    def insert(self, before: ast.stmt, text: str) -> Edit:
        """Write a statement of one line above another of the same block."""
        place = self.start(before)
        return Edit(place, place, text + "\n" + " " * before.col_offset)

    def apply(self, edits: Sequence[Edit]) -> str:
        """The text with edits that do not overlap."""
        data = self._bytes
        for edit in sorted(edits, key=lambda e: e.start, reverse=True):
            data = data[: edit.start] + edit.new.encode() + data[edit.stop :]
        return data.decode()


def dotted(node: ast.AST) -> str:
    """``Tx.ptx.fence.proxy_async`` of a name or attribute; the function's name of a call; else ""."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""

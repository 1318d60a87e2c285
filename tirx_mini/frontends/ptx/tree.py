"""Construction of structured control flow with exits from the dominator tree of a block graph.

The method is described by Ramsey, "Beyond Relooper" (ICFP 2022). A block that several blocks lead to stands behind all
that its immediate dominator starts; a block that loops lead to from inside stands behind the outermost of them, so that
lanes that leave a loop meet there. Exits to such places are `To`, back edges are `Again`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from .blocks import (
    Block,
    Branch,
    End,
    Jump,
    Table,
    dominators,
    predecessors,
    reverse_postorder,
)
from .loops import loop_bodies, successors
from .syntax import NO_SPAN, Instruction, Operand, Register


@dataclass(frozen=True, slots=True)
class To:
    """A jump to the end of the `Before` with this number."""

    place: int


@dataclass(frozen=True, slots=True)
class Again:
    """A jump to the start of the `Repeat` with this number."""

    place: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Thread exit."""

    line: int = 0
    span: Span = NO_SPAN


@dataclass(frozen=True, slots=True)
class Choice:
    test: Register
    then: tuple[Part, ...]
    orelse: tuple[Part, ...]
    line: int
    span: Span


@dataclass(frozen=True, slots=True)
class Cases:
    index: Operand
    cases: tuple[tuple[Part, ...], ...]
    line: int
    span: Span


@dataclass(frozen=True, slots=True)
class Before:
    """A block that `To(place)` exits: control continues behind it."""

    place: int
    body: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop whose every path through the body ends with a jump."""

    place: int
    body: tuple[Part, ...]
    line: int
    span: Span


Part: TypeAlias = Instruction | Choice | Cases | Before | Repeat | To | Again | Stop


def tree(found: Mapping[int, Block], also: Mapping[int, Collection[int]] | None = None) -> tuple[Part, ...]:
    """Build nested parts from the blocks, starting at block 0; the graph must be `reducible`.

    also: blocks that belong to a loop, by its entry, although they do not lead back to it.
    """
    return tuple(_Tree(found, 0, also or {}).code(0))


class _Tree:
    """Builds the tree. place: the reverse postorder number of each block; loops: the blocks of each loop, by header.

    behind_loop: for the entry of a loop the blocks that stand behind the loop; behind: for any block those that stand
    behind what it starts.
    """

    def __init__(self, found: Mapping[int, Block], root: int, also: Mapping[int, Collection[int]]) -> None:
        self.blocks = found
        graph = successors(found)
        order = reverse_postorder(graph, root)
        self.place = {node: i for i, node in enumerate(order)}
        self.loops = {head: body | set(also.get(head, ())) for head, body in loop_bodies(graph, root).items()}
        self.behind: dict[int, list[int]] = {}
        self.behind_loop: dict[int, list[int]] = {}
        self.follows: set[int] = set()
        around_block: dict[int, list[int]] = {node: [] for node in order}
        for head, body in self.loops.items():
            for node in body:
                around_block[node].append(head)
        dominator = dominators(graph, root)
        before = predecessors(graph)
        for node in order[1:]:
            above = dominator[node]
            around = [head for head in around_block[above] if node not in self.loops[head]]
            if around:
                outermost = min(around, key=self.place.__getitem__)
                self.behind_loop.setdefault(outermost, []).append(node)
            elif sum(self._ways(each, node) for each in before[node]) > 1:
                self.behind.setdefault(above, []).append(node)
            else:
                continue
            self.follows.add(node)

    def _ways(self, start: int, node: int) -> int:
        """Return the number of forward edges between two blocks."""
        if self.place[start] >= self.place[node]:
            return 0
        end = self.blocks[start].end
        return end.targets.count(node) if isinstance(end, Table) else 1

    def code(self, node: int) -> list[Part]:
        """Build the parts of a block and all blocks that it dominates."""
        parts: list[Part] = []
        following: int | None = node
        while following is not None:
            node = following
            if node in self.loops:
                body: list[Part] = [self._loop(node)]
                follows = self.behind_loop.get(node, [])
            else:
                follows = self.behind.get(node, [])
                if not follows:
                    following = self._straight(node, parts)
                    continue
                body = self._inner(node)
            for each in follows[:-1]:
                body = [Before(each, tuple(body)), *self.code(each)]
            following = follows[-1] if follows else None
            parts.extend([Before(follows[-1], tuple(body))] if follows else body)
        return parts

    def _loop(self, node: int) -> Repeat:
        body = self._inner(node)
        for each in self.behind.get(node, []):
            body = [Before(each, tuple(body)), *self.code(each)]
        block = self.blocks[node]
        first = block.code[0] if block.code else block.end
        return Repeat(node, tuple(body), getattr(first, "line", 0), getattr(first, "span", NO_SPAN))

    def _inner(self, node: int) -> list[Part]:
        """Build a block and the successors that only it leads to."""
        parts: list[Part] = []
        following = self._straight(node, parts)
        if following is not None:
            parts.extend(self.code(following))
        return parts

    def _straight(self, node: int, parts: list[Part]) -> int | None:
        """Append a block's instructions and terminator; return the successor that follows directly, if any."""
        block = self.blocks[node]
        parts.extend(block.code)
        end = block.end
        if isinstance(end, Jump):
            return self._jump(node, end.target, parts)
        if isinstance(end, Branch) and end.then == end.orelse:
            return self._jump(node, end.then, parts)
        if isinstance(end, Branch):
            then, orelse = self._exit(node, end.then), self._exit(node, end.orelse)
            if then is not None and orelse is None:
                parts.append(Choice(end.test, (then,), (), end.line, end.span))
                return end.orelse
            if orelse is not None and then is None:
                parts.append(Choice(end.test, (), (orelse,), end.line, end.span))
                return end.then
            arms = tuple(self._arm(node, target) for target in (end.then, end.orelse))
            parts.append(Choice(end.test, arms[0], arms[1], end.line, end.span))
        elif isinstance(end, Table):
            cases = tuple(self._arm(node, target) for target in end.targets)
            parts.append(Cases(end.index, cases, end.line, end.span))
        elif isinstance(end, End):
            parts.append(Stop(end.line, end.span))
        return None

    def _exit(self, node: int, target: int) -> Part | None:
        """Return the jump to a block placed elsewhere, or None if the block follows here."""
        if self.place[target] <= self.place[node]:
            return Again(target)
        return To(target) if target in self.follows else None

    def _jump(self, node: int, target: int, parts: list[Part]) -> int | None:
        found = self._exit(node, target)
        if found is None:
            return target
        parts.append(found)
        return None

    def _arm(self, node: int, target: int) -> tuple[Part, ...]:
        found = self._exit(node, target)
        return (found,) if found is not None else tuple(self.code(target))

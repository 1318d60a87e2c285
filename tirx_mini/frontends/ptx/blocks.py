"""Basic blocks and the graph algorithms that run on them, such as dominators and strongly connected components.

Blocks are numbered; an edge is a jump. Functions on graphs take a mapping from a block to its successors, so that tests
draw them as they like.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from tirx_mini.ir import Span, TirxError
from tirx_mini.records import dataclass

from .flat import Flat
from .syntax import NO_SPAN, Immediate, Instruction, Label, Operand, Register, Symbol


@dataclass(frozen=True)
class Jump:
    target: int


@dataclass(frozen=True)
class Branch:
    """A two-way branch: control goes to `then` if `test` holds, else to `orelse`."""

    test: Register
    then: int
    orelse: int
    line: int = 0
    span: Span = NO_SPAN


@dataclass(frozen=True)
class Table:
    """An indirect branch to ``targets[index]`` (brx.idx)."""

    index: Operand
    targets: tuple[int, ...]
    line: int = 0
    span: Span = NO_SPAN


@dataclass(frozen=True)
class End:
    """Thread exit."""

    line: int = 0
    span: Span = NO_SPAN


Terminator: TypeAlias = Jump | Branch | Table | End
Graph: TypeAlias = Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class Block:
    code: tuple[Instruction, ...]
    end: Terminator

    @property
    def successors(self) -> tuple[int, ...]:
        """The distinct successor blocks."""
        end = self.end
        if isinstance(end, Jump):
            return (end.target,)
        if isinstance(end, Branch):
            return (end.then,) if end.then == end.orelse else (end.then, end.orelse)
        return tuple(dict.fromkeys(end.targets)) if isinstance(end, Table) else ()


def blocks(flat: Flat) -> Mapping[int, Block]:
    """Return the reachable basic blocks of a body; block 0 is the entry."""
    return _Blocks(flat).all()


ENDS = ("ret", "exit")
_JUMPS = ("bra", "brx", *ENDS)


class _Blocks:
    """Splits a body into basic blocks. starts: the start index of each block. labels: the block of each label."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        code = flat.code
        starts = {0}
        starts.update(i for i, each in enumerate(code) if isinstance(each, Label))
        starts.update(i + 1 for i, each in enumerate(code) if _jumps(each))
        self.starts = sorted(starts)
        number = {start: block for block, start in enumerate(self.starts)}
        self.labels = {each.name: number[i] for i, each in enumerate(code) if isinstance(each, Label)}
        self.found: dict[int, Block] = {}

    def all(self) -> Mapping[int, Block]:
        for block, start in enumerate(self.starts):
            stop = self.starts[block + 1] if block + 1 < len(self.starts) else len(self.flat.code)
            code = [each for each in self.flat.code[start:stop] if isinstance(each, Instruction)]
            end: Terminator = Jump(block + 1) if block + 1 < len(self.starts) else End()
            if code and _jumps(code[-1]):
                end = self._terminator(code.pop(), block + 1)
            self.found[block] = Block(tuple(code), end)
        if len(self.starts) in {each for block in self.found.values() for each in block.successors}:
            self.found[len(self.starts)] = Block((), End())
        reached = reverse_postorder({number: block.successors for number, block in self.found.items()}, 0)
        return {number: self.found[number] for number in reached}

    def _terminator(self, jump: Instruction, following: int) -> Terminator:
        taken: Terminator
        if jump.opcode[0] in ENDS:
            taken = End(jump.line, jump.span)
        elif jump.opcode[0] == "bra":
            taken = Jump(self._target(jump, jump.operands[0]))
        else:
            taken = self._table(jump)
        if jump.guard is None:
            return taken
        target = taken.target if isinstance(taken, Jump) else self._apart(taken)
        return Branch(jump.guard, target, following, jump.line, jump.span)

    def _apart(self, end: Terminator) -> int:
        """Add an empty block with the given terminator."""
        number = len(self.starts) + 1 + len(self.found)
        self.found[number] = Block((), end)
        return number

    def _target(self, jump: Instruction, operand: Operand) -> int:
        number = self.labels.get(operand.name) if isinstance(operand, Symbol) else None
        if number is None:
            raise TirxError(f"`{jump.text}` jumps to a label that its function does not have", jump.span)
        return number

    def _table(self, jump: Instruction) -> Terminator:
        """Lower brx.idx to a jump table over its list of labels."""
        name = jump.operands[1] if len(jump.operands) == 2 else None
        table = self.flat.targets.get(name.name) if isinstance(name, Symbol) else None
        if table is None:
            raise TirxError(f"`{jump.text}` has no table of labels", jump.span)
        targets = tuple(self._target(jump, Symbol(label)) for label in table.names)
        index = jump.operands[0]
        if isinstance(index, Immediate):
            return Jump(targets[index.value])
        return Table(index, targets, jump.line, jump.span)


def _jumps(each: Instruction | Label) -> bool:
    return isinstance(each, Instruction) and each.opcode[0] in _JUMPS


def reverse_postorder(graph: Graph, root: int) -> list[int]:
    """Return the blocks reachable from `root` in reverse postorder."""
    done: list[int] = []
    seen = {root}
    stack = [(root, iter(reversed(graph[root])))]
    while stack:
        node, rest = stack[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                stack.append((following, iter(reversed(graph[following]))))
                break
        else:
            stack.pop()
            done.append(node)
    return done[::-1]


def predecessors(graph: Graph) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {node: [] for node in graph}
    for node, following in graph.items():
        for each in following:
            found[each].append(node)
    return found


def dominators(graph: Graph, root: int) -> dict[int, int]:
    """Return the immediate dominator of each block (Cooper, Harvey, Kennedy 2001); the root dominates itself."""
    order = reverse_postorder(graph, root)
    place = {node: i for i, node in enumerate(order)}
    before = predecessors({node: graph[node] for node in order})
    found = {root: root}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [each for each in before[node] if each in found]
            new = known[0]
            for each in known[1:]:
                new = _meet(new, each, found, place)
            if found.get(node) != new:
                found[node] = new
                changed = True
    return found


def _meet(a: int, b: int, dominator: Mapping[int, int], place: Mapping[int, int]) -> int:
    """Return the nearest common dominator of two blocks."""
    while a != b:
        while place[a] > place[b]:
            a = dominator[a]
        while place[b] > place[a]:
            b = dominator[b]
    return a


def dominates(a: int, b: int, dominator: Mapping[int, int]) -> bool:
    """Return whether `a` dominates `b`."""
    while b != a and dominator[b] != b:
        b = dominator[b]
    return a == b


def components(graph: Graph, nodes: Collection[int]) -> list[list[int]]:
    """Return the strongly connected components of a subgraph that contain at least one edge (Tarjan)."""
    within = set(nodes)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    found: list[list[int]] = []

    def enter(node: int) -> tuple[int, Iterable[int]]:
        index[node] = low[node] = len(index)
        open_nodes.append(node)
        is_open.add(node)
        return node, iter([each for each in graph[node] if each in within])

    for start in sorted(within):
        stack = [] if start in index else [enter(start)]
        while stack:
            node, rest = stack[-1]
            following = next(iter(rest), None)
            if following is None:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == index[node]:
                    part = [open_nodes.pop()]
                    while part[-1] != node:
                        part.append(open_nodes.pop())
                    is_open.difference_update(part)
                    if len(part) > 1 or node in graph[node]:
                        found.append(part)
            elif following not in index:
                stack.append(enter(following))
            elif following in is_open:
                low[node] = min(low[node], index[following])
    return found

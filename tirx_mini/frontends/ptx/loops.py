"""Loop analysis of block graphs, and the transformation of irreducible graphs to reducible ones.

A loop that can be entered at two places gets a copy of the blocks behind the second entry, up to the first one (node
splitting); compilers make such loops seldom, so that little is copied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tirx_mini.ir import TirxError
from tirx_mini.records import replace

from .blocks import Block, Branch, Graph, Jump, Table, Terminator, components, predecessors, reverse_postorder
from .syntax import Instruction

MOST_BLOCKS = 20_000
"""Copies stop here: a graph with many loops that cross one another would grow without end."""


def successors(found: Mapping[int, Block]) -> dict[int, tuple[int, ...]]:
    """Return the successor graph of the blocks."""
    return {number: block.successors for number, block in found.items()}


def reducible(found: Mapping[int, Block], root: int = 0) -> dict[int, Block]:
    """Make the control-flow graph reducible by duplicating blocks, so that each loop has one entry."""
    blocks = dict(found)
    while (split := _second_entry(successors(blocks), root)) is not None:
        region, header, entry = split
        _copy(blocks, region, header, entry)
        if len(blocks) > MOST_BLOCKS:
            raise TirxError(
                "the loops of this kernel cross one another too often to be structured", kind="not-modelled"
            )
        reached = set(reverse_postorder(successors(blocks), root))
        blocks = {number: block for number, block in blocks.items() if number in reached}
    return blocks


def _second_entry(graph: Graph, root: int) -> tuple[set[int], int, int] | None:
    """Find a loop with several entries: its blocks, the header and another entry. Return None if there is none."""
    place = {node: i for i, node in enumerate(reverse_postorder(graph, root))}
    before = predecessors(graph)
    parts: list[Collection[int]] = [list(graph)]
    graph = {node: list(following) for node, following in graph.items()}
    while parts:
        for component in components(graph, parts.pop()):
            inside = set(component)
            entries = [
                node for node in component if node == root or any(each not in inside for each in before[node])
            ]  # fmt: skip
            entries.sort(key=place.__getitem__)
            if len(entries) > 1:
                return inside, entries[0], entries[1]
            parts.append(inside - {entries[0]})
    return None


def _copy(blocks: dict[int, Block], loop: set[int], header: int, entry: int) -> None:
    """Redirect outside edges into the loop at `entry` to a copy of the blocks up to the header."""
    copied = _reached(blocks, entry, loop - {header})
    first = max(blocks) + 1
    number = {old: first + i for i, old in enumerate(sorted(copied))}
    for old, new in number.items():
        blocks[new] = replace(blocks[old], end=_retargeted(blocks[old].end, number))
    for node in [each for each in blocks if each not in loop and each not in number.values()]:
        if entry in blocks[node].successors:
            blocks[node] = replace(blocks[node], end=_retargeted(blocks[node].end, {entry: number[entry]}))


def _reached(blocks: Mapping[int, Block], start: int, within: set[int]) -> set[int]:
    """Return the blocks reachable from `start` within `within`."""
    found = {start}
    waiting = [start]
    while waiting:
        for each in blocks[waiting.pop()].successors:
            if each in within and each not in found:
                found.add(each)
                waiting.append(each)
    return found


def _retargeted(end: Terminator, number: Mapping[int, int]) -> Terminator:
    """Return the terminator with its targets renumbered."""
    if isinstance(end, Jump):
        return Jump(number.get(end.target, end.target))
    if isinstance(end, Branch):
        return replace(end, then=number.get(end.then, end.then), orelse=number.get(end.orelse, end.orelse))
    if isinstance(end, Table):
        return replace(end, targets=tuple(number.get(each, each) for each in end.targets))
    return end


def direct(found: Mapping[int, Block], root: int = 0) -> dict[int, Block]:
    """Remove blocks that only jump, and redirect their predecessors to the final target."""
    to = {number: block.end.target for number, block in found.items() if not block.code and isinstance(block.end, Jump)}
    for number in list(to):
        seen = {number}
        while to[number] in to and to[number] not in seen:
            seen.add(to[number])
            to[number] = to[to[number]]
    blocks = {number: replace(block, end=_retargeted(block.end, to)) for number, block in found.items()}
    reached = set(reverse_postorder(successors(blocks), root))
    return {number: block for number, block in blocks.items() if number in reached}


def loop_bodies(graph: Graph, root: int) -> dict[int, set[int]]:
    """Return the blocks of each loop of a reducible graph, keyed by the loop header."""
    place = {node: i for i, node in enumerate(reverse_postorder(graph, root))}
    before = predecessors(graph)
    found: dict[int, set[int]] = {}
    for node, following in graph.items():
        for header in following:
            if place[header] > place[node]:
                continue
            body = found.setdefault(header, {header})
            waiting = [node]
            while waiting:
                each = waiting.pop()
                if each not in body:
                    body.add(each)
                    waiting.extend(before[each])
    return found


_ACQUIRES = ("cas", "exch")
_RELEASES = ("atom", "red", "st")
_TOGETHER = ("bar", "barrier", "shfl", "vote", "match", "redux", "elect", "mma", "wgmma", "tcgen05", "call", "trap")
"""Instructions of several threads, by the first parts of their opcodes."""


def with_locks(found: Mapping[int, Block], root: int = 0) -> tuple[dict[int, Block], dict[int, set[int]]]:
    """Split the blocks after lock-acquiring loops at the release of the lock.

    The second result has the first halves, by the entries of the loops. A lane that holds a lock must get to its
    release while other lanes of its warp still try: these halves belong to the loop, and lanes meet behind them.
    """
    blocks = dict(found)
    held: dict[int, set[int]] = {}
    graph = successors(blocks)
    before = predecessors(graph)
    for header, body in loop_bodies(graph, root).items():
        if not any(_acquires(each) for node in body for each in blocks[node].code):
            continue
        for node in sorted({each for inside in body for each in graph[inside]} - body):
            cut = _released(blocks[node])
            if cut and len(before[node]) == 1:
                rest = max(blocks) + 1
                blocks[rest] = replace(blocks[node], code=blocks[node].code[cut:])
                blocks[node] = Block(blocks[node].code[:cut], Jump(rest))
                held.setdefault(header, set()).add(node)
    return blocks, held


def _acquires(instruction: Instruction) -> bool:
    return instruction.opcode[0] == "atom" and any(word in _ACQUIRES for word in instruction.opcode)


def _released(block: Block) -> int:
    """Return the number of instructions up to the last possible lock release before any cooperative instruction."""
    cut = 0
    for place, each in enumerate(block.code):
        if each.opcode[0] in _TOGETHER:
            break
        if each.opcode[0] in _RELEASES and "local" not in each.opcode:
            cut = place + 1
    return cut

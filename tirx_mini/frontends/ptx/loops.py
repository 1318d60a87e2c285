"""Loops of a graph of blocks, and graphs in which every loop has one entry.

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
    """The graph of blocks."""
    return {number: block.successors for number, block in found.items()}


def reducible(found: Mapping[int, Block], root: int = 0) -> dict[int, Block]:
    """The blocks with copies, so that each loop has one entry. They do the same."""
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
    """A loop with several entries: its blocks, the entry that stays, and another one. None if all loops have one."""
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
    """Let all that enters the loop at `entry` from outside go to copies, which lead to the header."""
    copied = _reached(blocks, entry, loop - {header})
    first = max(blocks) + 1
    number = {old: first + i for i, old in enumerate(sorted(copied))}
    for old, new in number.items():
        blocks[new] = replace(blocks[old], end=_retargeted(blocks[old].end, number))
    for node in [each for each in blocks if each not in loop and each not in number.values()]:
        if entry in blocks[node].successors:
            blocks[node] = replace(blocks[node], end=_retargeted(blocks[node].end, {entry: number[entry]}))


def _reached(blocks: Mapping[int, Block], start: int, within: set[int]) -> set[int]:
    """The blocks that `start` reaches without leaving `within`."""
    found = {start}
    waiting = [start]
    while waiting:
        for each in blocks[waiting.pop()].successors:
            if each in within and each not in found:
                found.add(each)
                waiting.append(each)
    return found


def _retargeted(end: Terminator, number: Mapping[int, int]) -> Terminator:
    """The jump to other blocks, where `number` has another one."""
    if isinstance(end, Jump):
        return Jump(number.get(end.target, end.target))
    if isinstance(end, Branch):
        return replace(end, then=number.get(end.then, end.then), orelse=number.get(end.orelse, end.orelse))
    if isinstance(end, Table):
        return replace(end, targets=tuple(number.get(each, each) for each in end.targets))
    return end


def direct(found: Mapping[int, Block], root: int = 0) -> dict[int, Block]:
    """The blocks without those that only jump: what led to one leads to where it jumps."""
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
    """The blocks of each loop, by its entry, in a graph whose loops have one entry each."""
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
    """The blocks, those behind loops that acquire a lock in two: up to the release, and the rest.

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
    """The number of instructions up to the last one that may release a lock, before any of several threads."""
    cut = 0
    for place, each in enumerate(block.code):
        if each.opcode[0] in _TOGETHER:
            break
        if each.opcode[0] in _RELEASES and "local" not in each.opcode:
            cut = place + 1
    return cut

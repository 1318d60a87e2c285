"""Analysis of pipelined loops: the TMA copies that can be prefetched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tirx_mini.ir import (
    AddressOf,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Continue,
    For,
    Hint,
    Region,
    Seq,
    Stmt,
    TileCall,
    TirxError,
    int_value,
    walk,
)
from tirx_mini.records import dataclass

from ..gemm import GEMM, PRODUCTS
from ..tma import tma_moves

PIPELINED, WARP_SPECIALISED = "tl.pipelined", "tl.ws"
"""Messages of hints: around the loop of T.Pipelined, and around what T.ws names warpgroups for."""
COPY = "tl.copy"


@dataclass(frozen=True)
class Copy:
    """A copy from global to shared memory that can be prefetched.

    call: the copy. source, target: its operands. position: among the statements of the loop.
    """

    call: TileCall
    source: Region
    target: Region
    position: int

    @property
    def buffer(self) -> Buffer:
        return self.target.buffer


@dataclass(frozen=True)
class Group:
    """Copies whose tiles are first used by the same statement.

    first, last: the positions of the first and the last statement of the loop that use one of the tiles, the last one
        with the wait for the products that it begins.
    in_tensor_memory: whether only tcgen05.mma uses them.
    """

    copies: tuple[Copy, ...]
    first: int
    last: int
    in_tensor_memory: bool = False

    @property
    def bytes(self) -> int:
        """The size in bytes of one iteration's tiles."""
        return sum(copy.buffer.nbytes for copy in self.copies)


@dataclass(frozen=True)
class PipelinedLoop:
    """A T.Pipelined loop with copies that can be prefetched."""

    hint: Hint
    loop: For
    body: tuple[Stmt, ...]
    stages: int
    groups: tuple[Group, ...]

    @property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(sorted((c for group in self.groups for c in group.copies), key=lambda c: c.position))


def pipelined_loops(body: Stmt) -> list[PipelinedLoop]:
    """Return the T.Pipelined loops in `body` that have stages and prefetchable copies."""
    everywhere = _counts(body)
    found = (_pipelined(hint, everywhere) for hint in _hints(body))
    return [loop for loop in found if loop is not None]


def _hints(stmt: Stmt) -> Iterator[Hint]:
    """Yield the outermost pipelining hints."""
    skipped: set[int] = set()
    for node in walk(stmt):
        if isinstance(node, Hint) and node.message == PIPELINED and id(node) not in skipped:
            yield node
            skipped.update(id(inner) for inner in walk(node))


def stages_of(hint: Hint) -> int:
    """Return the number of tiles in flight, deduced from the statements' stages if num_stages is absent."""
    attrs: Mapping[str, Any] = dict(hint.attrs)
    given = attrs.get("num_stages") or 0
    stages = int_value(given) if not isinstance(given, int) else given
    if stages is None:
        raise TirxError("num_stages of T.Pipelined must be known when the kernel is compiled", hint.span)
    order: Sequence[int] = attrs.get("stage") or ()
    return stages or (max(order) + 1 if order else 0)


def statements(loop: For) -> tuple[Stmt, ...]:
    return loop.body.stmts if isinstance(loop.body, Seq) else (loop.body,)


def _pipelined(hint: Hint, everywhere: Counter[Buffer]) -> PipelinedLoop | None:
    loop = hint.body
    assert isinstance(loop, For)
    stages, body = stages_of(hint), statements(loop)
    if stages < 1 or any(isinstance(node, (Break, Continue)) for node in walk(loop)):
        return None
    uses = [_counts(stmt) for stmt in body]
    here = _counts(loop)
    groups: dict[int, list[Copy]] = {}
    for position, stmt in enumerate(body):
        copy = _copy(stmt, position)
        if copy is None or everywhere[copy.buffer] != here[copy.buffer]:
            continue
        users = [at for at, used in enumerate(uses) if copy.buffer in used and at != position]
        writers = [at for at in users if copy.buffer in writes(body[at])]
        if users and not writers and users[0] > position:
            groups.setdefault(users[0], []).append(copy)
    made = [_group(copies, first, body, uses) for first, copies in groups.items()]
    made.sort(key=lambda group: group.copies[0].position)
    return PipelinedLoop(hint, loop, body, stages, tuple(made)) if made else None


def _group(copies: Sequence[Copy], first: int, body: Sequence[Stmt], uses: Sequence[Counter[Buffer]]) -> Group:
    tiles = {copy.buffer for copy in copies}
    copied = {copy.position for copy in copies}
    users = [at for at, used in enumerate(uses) if at not in copied and tiles & used.keys()]
    if all(is_tcgen05(body[at]) for at in users):
        return Group(tuple(copies), first, users[-1], in_tensor_memory=True)
    last = len(body) - 1 if any(_is_asynchronous(body[at]) for at in users) else users[-1]
    return Group(tuple(copies), first, last)


def is_tcgen05(stmt: Stmt) -> bool:
    """Return whether a statement is a product in tensor memory."""
    if not (isinstance(stmt, TileCall) and stmt.op in PRODUCTS):
        return False
    target = stmt.operands[2]
    return isinstance(target, Region) and target.buffer.scope == "tmem"


def _is_asynchronous(stmt: Stmt) -> bool:
    """Return whether a statement issues products that the program waits for itself."""
    calls = [node for node in walk(stmt) if isinstance(node, TileCall) and node.op in PRODUCTS]
    return any(is_tcgen05(call) or call.op != GEMM or call.option("wg_wait", 0) != 0 for call in calls)


def _copy(stmt: Stmt, position: int) -> Copy | None:
    if not (isinstance(stmt, TileCall) and stmt.op == COPY):
        return None
    source, target = stmt.operands
    if not (isinstance(source, Region) and isinstance(target, Region)) or dict(stmt.options).get("disable_tma"):
        return None
    return Copy(stmt, source, target, position) if tma_can_load(source, target) else None


def tma_can_load(source: Region, target: Region) -> bool:
    """Return whether TMA can copy part of a global buffer into a whole shared buffer."""
    whole = [int_value(r.extent) for r in target.ranges] == list(target.buffer.shape)
    return whole and tma_moves(source, target)


def _counts(stmt: Stmt) -> Counter[Buffer]:
    """Count the uses of each buffer in a statement, attributing a view to its source."""
    named = (BufferLoad, BufferStore, AddressOf, Region)
    return Counter(node.buffer.root for node in walk(stmt) if isinstance(node, named))


def writes(stmt: Stmt) -> set[Buffer]:
    """Return the buffers that a statement may write: store targets and the last operand of each tile operation."""
    found: set[Buffer] = set()
    for node in walk(stmt):
        if isinstance(node, (BufferStore, AddressOf)):
            found.add(node.buffer.root)
        elif isinstance(node, TileCall):
            found |= {region.buffer.root for region in node.operands[1:] if isinstance(region, Region)} - _read(node)
    return found


def _read(call: TileCall) -> set[Buffer]:
    """Return the read-only operands of a tile operation: factors of a product, source of a copy."""
    count = 2 if call.op.endswith("gemm") else 1
    return {region.buffer.root for region in call.operands[:count] if isinstance(region, Region)}

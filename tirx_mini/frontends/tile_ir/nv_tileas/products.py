"""Products in tensor memory with thread computation between them, as in attention or a two-layer network.

A loop that only adds up products leaves its sums with the tensor core (`sums`). In other loops, threads compute the
left operand of a product, or change its sums, in each iteration:

- A product of its own, S = Q Kᵀ: the tensor core fills a stage with its sums, and threads read them.
- A product whose left operand threads compute, P in O += P V: they write it to a stage in tensor memory.
- A product that adds to the sums of the iteration before, O: these stay in tensor memory, in the same stage. Where the
  program changes them in between, as attention scales them, threads do that before they hand the stage over.

Where the changes are not elementwise, or threads also read the sums, the product is one of its own, and threads add.

Where tensor memory is too small, what threads write takes the place of the sums that they have read. The tensor core
then overwrites it when it has multiplied by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from tirx_mini.hardware import TMEM_ALLOCATIONS, TMEM_COLUMNS, TMEM_LANES, WARPGROUP_WARPS
from tirx_mini.records import dataclass

from ..context import Context
from ..layouts import SharedLayout, TmemLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import standard as std
from ..ssa import Op, Region, Scalar, Value, uses
from . import ops
from .operands import definitions, is_zero, load_of
from .pipeline_types import MMA, THREADS
from .sums import simple_sum

COLUMN_BITS = 32
"""Bits of a column of tensor memory in each lane."""


@dataclass(eq=False)
class Room:
    """A tensor-memory pipeline of a product. block: its region. label: its name. parts: as in `Pipeline`.

    shared: that of a loop before, whose pipeline it uses.
    over: the room of sums that the first tensor takes the place of; then `is_covered` holds for that one.
    held: the stage that threads wait for, while the function is rewritten.
    """

    producer: str
    consumer: str
    tensors: tuple[Tensor, ...]
    block: Region
    label: str
    parts: int = 1
    shared: Room | None = None
    over: Room | None = None
    is_covered: bool = False
    pipeline: Value | None = None
    held: Value | None = None

    @property
    def ring(self) -> Room:
        """The room whose pipeline is used, which may be shared with an earlier loop."""
        return self.shared or self

    @property
    def columns(self) -> int:
        """The number of tensor-memory columns per stage."""
        return sum(columns_of(tensor) for tensor in self.tensors[self.over is not None :])


@dataclass(eq=False)
class Product:
    """A dot in a block, with its pipelines.

    computed: whether threads compute its left operand.
    index: of its sums among what the loop carries, where they stay in tensor memory; else None.
    carried: the parameter of the loop that stands for the sums of the iteration before.
    late: the operations between the sums of the iteration before and those that the dot adds to, in order.
    given: the pipeline of what threads write, and sums: of the sums that they read; None where there is none.
    """

    dot: Op
    computed: bool
    index: int | None
    carried: Value | None = None
    late: Sequence[Op] = ()
    given: Room | None = None
    sums: Room | None = None

    @property
    def rooms(self) -> list[Room]:
        return [room for room in (self.given, self.sums) if room is not None]


@dataclass(eq=False)
class Chain:
    """The products of a block. loop: the loop whose body is the block, or None for a function's body."""

    block: Region
    loop: Op | None
    products: list[Product] = field(default_factory=list)


def columns_of(tensor: Tensor) -> int:
    """Return the tensor-memory columns of a tensor, whose blocks of 128 rows lie side by side."""
    assert isinstance(tensor.element, Scalar)
    rows, cols = tensor.shape
    return cols * tensor.element.bits // COLUMN_BITS * max(1, rows // TMEM_LANES)


def columns_left(context: Context) -> int:
    """Return the tensor-memory columns of a CTA: an even share of the SM's columns among its resident CTAs."""
    each = TMEM_COLUMNS // (context.options.occupancy or 1)
    return max((size for size in TMEM_ALLOCATIONS if size <= each), default=TMEM_ALLOCATIONS[0])


def chains(func: Op, wanted: Callable[[Op], bool], sums: Sequence[Op], warps: int, context: Context) -> list[Chain]:
    """Return the blocks of a function with `wanted` dots besides pure accumulations, and allocate their pipelines.

    sums: the dots of loops that only add up products in tensor memory. warps: those that compute.
    """
    found = _chains(func, wanted)
    parts = _parts([*sums, *(product.dot for chain in found for product in chain.products)], warps)
    for cover in (False, True):
        for place, chain in enumerate(found):
            _give_rooms(chain, parts, cover and parts * WARPGROUP_WARPS == warps)
            _share(chain, found[:place], func.body)
        if columns_needed(found, sums) <= columns_left(context):
            break
    return found


def columns_needed(found: Sequence[Chain], sums: Sequence[Op]) -> int:
    """Return the tensor-memory columns needed by chains and accumulation loops, with one stage each."""
    return sum(room.columns for room in rooms_of(found)) + sum(columns_of(op.acc.type) for op in sums)


def _parts(dots: Sequence[Op], warps: int) -> int:
    """Return the number of pipeline parts: the warpgroups, if each has its own 128 rows of every product."""
    groups = warps // WARPGROUP_WARPS
    return groups if all(op.acc.type.shape[0] == groups * TMEM_LANES for op in dots) else 1


def _chains(func: Op, wanted: Callable[[Op], bool]) -> list[Chain]:
    """Return the chains of a function, without pipelines."""
    defs, used = definitions(func.body), uses(func.body)
    found: list[Chain] = []
    for loop, block in _blocks(func.body, None):
        if loop is not None and simple_sum(loop, used) is not None:
            continue
        dots = [op for op in block.ops if op.kind is ops.dot and wanted(op)]
        if dots:
            found.append(Chain(block, loop, [_product(dot, loop, used, defs) for dot in dots]))
    return found


def rooms_of(found: Sequence[Chain]) -> list[Room]:
    """Return the distinct pipelines of chains."""
    every = (room.ring for chain in found for product in chain.products for room in product.rooms)
    return list(dict.fromkeys(every))


def _blocks(region: Region, loop: Op | None) -> Iterator[tuple[Op | None, Region]]:
    """Yield the blocks that all agents execute equally often: the function's body and nested counted loops."""
    yield loop, region
    for op in region.ops:
        if op.kind is std.for_:
            yield from _blocks(op.body, op)


def _product(dot: Op, loop: Op | None, used: Mapping[Value, list[Op]], defs: Mapping[Value, Op]) -> Product:
    computed = load_of(dot.lhs, defs) is None and not isinstance(dot.lhs.type.layout, SharedLayout)
    late = None if loop is None else _late(dot, loop, used, defs)
    if late is None or loop is None:
        return Product(dot, computed, None)
    index = loop.body.ops[-1].operands.index(dot.result)
    return Product(dot, computed, index, loop.body.params[1 + index], late)


def _late(dot: Op, loop: Op, used: Mapping[Value, list[Op]], defs: Mapping[Value, Op]) -> list[Op] | None:
    """Return the operations between the previous iteration's sums and the dot, or None if the sums must move."""
    last = loop.body.ops[-1]
    if used.get(dot.result) != [last] or last.operands.count(dot.result) != 1:
        return None
    carried = loop.body.params[1 + last.operands.index(dot.result)]
    found: list[Op] = []
    value = dot.acc
    while value is not carried:
        op = defs.get(value)
        if op is None or op not in loop.body.ops or op.kind not in std.ELEMENTWISE or len(used[value]) != 1:
            return None
        found.append(op)
        ahead = [operand for operand in op.operands if operand is carried or _leads(operand, carried, defs)]
        if len(ahead) != 1:
            return None
        value = ahead[0]
    return found[::-1] if len(used[carried]) == 1 else None


def _leads(value: Value, carried: Value, defs: Mapping[Value, Op]) -> bool:
    """Return whether a value is computed from `carried` by elementwise operations."""
    op = defs.get(value)
    if op is None or op.kind not in std.ELEMENTWISE:
        return False
    return any(operand is carried or _leads(operand, carried, defs) for operand in op.operands)


def _give_rooms(chain: Chain, parts: int, cover: bool) -> None:
    """Allocate pipelines for the operands and results of a chain's products.

    cover: whether what threads write takes the place of sums that they have read.
    """
    before: list[Room] = []
    for product in chain.products:
        dot = product.dot
        sums = dot.acc.type.with_layout(TmemLayout())
        given = [dot.lhs.type.with_layout(TmemLayout())] if product.computed else []
        label = dot.result.hint or "product"
        if product.index is not None:
            given.append(sums)
            label = dot.acc.hint or label
        else:
            product.sums = Room(MMA, THREADS, (sums,), chain.block, label, parts)
        if given:
            hint = f"{dot.lhs.hint or label}_in" if product.index is None else label
            product.given = Room(THREADS, MMA, tuple(given), chain.block, hint, parts)
        if product.given is not None and product.computed and cover:
            _cover(product.given, before)
        before += [product.sums] if product.sums is not None else []


def _cover(given: Room, before: Sequence[Room]) -> None:
    """Let a product's left operand reuse the columns of earlier sums, if there are enough columns."""
    operand = given.tensors[0]
    fitting = (
        room
        for room in before
        if not room.is_covered
        and columns_of(room.tensors[0]) >= columns_of(operand)
        and room.tensors[0].shape[0] == operand.shape[0]
    )
    given.over = next(fitting, None)
    if given.over is not None:
        given.over.is_covered = True
        given.over.consumer = MMA


def _share(chain: Chain, before: Sequence[Chain], body: Region) -> None:
    """Let a loop reuse the pipelines of an earlier loop."""
    for other in before:
        pairs = [zip(a.rooms, b.rooms, strict=False) for a, b in zip(other.products, chain.products, strict=False)]
        mine = [room for product in chain.products for room in product.rooms]
        kinds = [
            [(room.producer, room.consumer, room.tensors) for product in each.products for room in product.rooms]
            for each in (other, chain)
        ]
        if kinds[0] != kinds[1] or chain.loop is None or other.loop is None or _nested(other.block, chain.block, body):
            continue
        for pair in pairs:
            for theirs, own in pair:
                own.shared = theirs.ring
        assert all(room.shared is not None for room in mine)
        return


def _nested(one: Region, other: Region, body: Region) -> bool:
    """Return whether one of two blocks is nested in the other."""
    return any(inner is b for a, b in ((one, other), (other, one)) for op in a.walk() for inner in op.regions)


def is_added(product: Product, defs: Mapping[Value, Op]) -> bool:
    """Return whether threads add a separate product's sums to the dot's initial value."""
    return product.index is None and not is_zero(defs.get(product.dot.acc))

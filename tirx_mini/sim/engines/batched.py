"""Engine operations for the clusters of a batch (`machine.batched`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from tirx_mini.isa import TmemOperand

from ..machine import Cta, Registers, batched_memory, values_by_cluster
from ..ordering import Actor, Unequal
from .issued import Mma
from .operands import Operands
from .sums import accumulate_registers, accumulate_tmem
from .tensor_map import BatchedBox, BoxCopier
from .wgmma_group import Issued


def multiply_each(operands: Operands, group: Sequence[Mma], ctas: Sequence[Cta], known: Hashable) -> None:
    """Execute a chain of tcgen05.mma in each cluster of a batch. known: see `Operands.read`."""
    mma, shape = group[0], group[0].shape
    whole = shape.parts(mma.cta_group) == 1 and mma.plain and shape.d == "float32" and not shape.half
    if not whole or isinstance(mma.a, TmemOperand) or shape.negate_a != shape.negate_b:
        raise Unequal
    rows, columns = shape.m // mma.cta_group, shape.n // mma.cta_group
    lefts = [operands.read_each(batched_memory(cta), group, "a", rows, known) for cta in ctas]
    rights = [operands.read_each(batched_memory(cta), group, "b", columns, known) for cta in ctas]
    for cta, left in zip(ctas, lefts, strict=True):
        accumulate_tmem(cta.tmem.clusters, mma.column, left, rights, mma.accumulate)


def multiply_registers_each(
    operands: Operands, mmas: Sequence[Issued], cta: Cta, registers: Sequence[Registers], known: Hashable
) -> None:
    """Execute a chain of wgmma in each cluster of a batch. registers: the accumulator of each warp."""
    mma = mmas[0]
    if mma.product.a is None or mma.shape.d != "float32":
        raise Unequal
    lefts = operands.read_each(batched_memory(cta), mmas, "a", mma.shape.m, known)
    rights = operands.read_each(batched_memory(cta), mmas, "b", mma.shape.n, known)
    accumulate_registers(registers, lefts, rights, mma.accumulate)


def load_each(copier: BoxCopier, coords: Sequence[int], cta: Cta, offset: int) -> None:
    """Execute a TMA load of one box per cluster. coords: with a `PerCluster` where the clusters differ."""
    if not copier.constant:
        raise Unequal
    boxes = [copier.loaded(at) for at in _coords_of(coords, len(cta.cluster.numbers))]
    batched_memory(cta).bring(offset, BatchedBox(boxes))


def store_each(
    copier: BoxCopier, coords: Sequence[int], cta: Cta, offset: int, actor_of: Callable[[int], Actor]
) -> None:
    """Execute a TMA store of one box per cluster. actor_of: the actor of a cluster, by its number."""
    numbers = cta.cluster.numbers
    chunks = copier.read_each(batched_memory(cta), offset)
    boxes = list(zip(map(actor_of, numbers), _coords_of(coords, len(numbers)), chunks, strict=True))

    def store() -> None:
        for actor, at, box in boxes:
            copier.write_shadow(at, actor)
            copier.write(at, box)

    cta.cluster.late.append(store)


def _coords_of(coords: Sequence[int], width: int) -> list[tuple[int, ...]]:
    """Return the coordinates in each cluster."""
    return list(zip(*(values_by_cluster(value, width) for value in coords), strict=True))

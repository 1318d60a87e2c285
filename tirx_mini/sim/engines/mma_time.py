"""The time of a tcgen05.mma: its arithmetic, its operand reads from shared memory, and its latency."""

from __future__ import annotations

from tirx_mini.hardware import GpuSpec
from tirx_mini.isa import InstructionDescriptor, TmemOperand

from .issued import Burst, Issued, Mma, Repeat, TmemCopy


def steps_of(spec: GpuSpec, mma: Mma | TmemCopy) -> tuple[float, float]:
    """Return the cycles of arithmetic of an MMA, and the operand bytes that it reads from one SM's shared memory.

    A copy has no arithmetic.
    """
    if isinstance(mma, TmemCopy):
        return 0.0, mma.nbytes
    return arithmetic(spec, mma.shape, mma.cta_group), operand_bytes(spec, mma.shape, mma.cta_group, _in_tmem(mma))


def arithmetic(spec: GpuSpec, shape: InstructionDescriptor, cta_group: int) -> float:
    """Return the cycles that an MMA occupies the tensor core of an SM.

    In one CTA, 64 rows take as long as 128; in a pair, they fill the tensor core.
    """
    rows, width = shape.m // cta_group, shape.held("a") * shape.a.itemsize
    if cta_group == 1:
        return max(128, rows) * shape.n * width / spec.tensor_flops_per_cycle
    return max(spec.pair_mma_cycles, rows * shape.n * width / spec.tensor_flops_per_cycle)


def operand_bytes(spec: GpuSpec, shape: InstructionDescriptor, cta_group: int, a_in_tmem: bool) -> float:
    """Return the operand bytes that an MMA reads from one SM's shared memory.

    An MMA reads its rows of A and its rows of B. In a pair, each SM reads its half of B and sends it to the other one,
    which delays the rows of A.
    """
    rows = shape.m // cta_group
    read = 0.0 if a_in_tmem else rows * (1.0 if cta_group == 1 else 1.0 + spec.pair_read_share)
    return read * shape.held("a") * shape.a.itemsize + shape.n / cta_group * shape.depth * shape.b.itemsize


def latency(spec: GpuSpec, last: Issued) -> float:
    """Return the cycles from the end of the last MMA's work before a commit to the commit's completion."""
    more = spec.mma_latency + (spec.pair_latency if last.cta_group == 2 else 0.0)
    mma = last.series.mmas[-1] if isinstance(last, Repeat) else last
    if isinstance(mma, TmemCopy):
        return more
    return more + (mma.known.fill if isinstance(mma, Burst) else fill_of(spec, mma))


def fill_of(spec: GpuSpec, mma: Mma) -> float:
    """Return the `fill` of an issued MMA."""
    return fill(spec, mma.shape, mma.cta_group, _in_tmem(mma))


def fill(spec: GpuSpec, shape: InstructionDescriptor, cta_group: int, a_in_tmem: bool) -> float:
    """Return the delay of an MMA's arithmetic, in cycles, by the read of its first rows of A.

    The rows of the next MMA are read in the meantime. If operands take longer than the arithmetic, the delay is partly
    hidden.
    """
    rows = 0 if a_in_tmem else shape.m // cta_group
    reading = operand_bytes(spec, shape, cta_group, a_in_tmem) / spec.smem_bytes_per_cycle
    first = rows * shape.held("a") * shape.a.itemsize / spec.smem_bytes_per_cycle
    return first - max(0.0, reading - arithmetic(spec, shape, cta_group))


def _in_tmem(mma: Mma) -> bool:
    return isinstance(mma.a, TmemOperand)

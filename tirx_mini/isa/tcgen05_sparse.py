"""tcgen05.mma.sp: MMAs with a sparse A, whose metadata lie in tensor memory (PTX ISA: "tcgen05.mma.sp").

Half of the elements in each row of A are zeros, and K is twice as large as in the dense form. A holds the others, as a
dense A of K / 2 columns. The instruction descriptor has the sparsity selector. The metadata is modelled for 128 rows in
each CTA: M = 128, or M = 256 in a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from .core import instruction
from .descriptors import A_IN_TMEM, PLAIN, PTX_TYPES, InstructionDescriptor
from .facts import SharedFacts
from .machine import Machine, Thread
from .operands import InstructionWord, Tcgen05Descriptor, TmemAddress, pred, u32
from .tcgen05 import decoded, in_tmem, smem_operand
from .tcgen05_forms import FACTS, Kind, kept_lanes, lanes_after, masked
from .tcgen05_scaled import ScaledKind

_FACTS: SharedFacts = {**FACTS, "isa": "tcgen05.mma.sp", "only_in_ptx": True}
_DENSE = "the elements of A are taken as the first half of each row"


def _opcode(operands: str) -> str:
    return f"tcgen05.mma.sp.cta_group::{{cta_group}}.kind::{{kind}} {operands};"


def _sparse(
    thread: Thread, idesc: int, kind: str, cta_group: int, e: int, a_in_tmem: bool
) -> tuple[InstructionDescriptor, int | None]:
    """Return the computation of a sparse MMA, and the address of its metadata; None where they are not modelled."""
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, cta_group, False, True)
    selector, rows = shape.selector or 0, shape.m // cta_group
    if selector and shape.a.itemsize == 1:
        what = f"the sparsity selector of a tcgen05.mma.sp is {selector}; with elements of {PTX_TYPES[shape.a.dtype]}"
        raise thread.fault("bad-descriptor", f"{what} it must be 0", rule="PTX ISA: tcgen05.mma.sp, sparsity selector")
    known = rows == 128 and selector <= 1
    if not known:
        place = f"{rows} rows in a CTA" if rows != 128 else f"the sparsity selector {selector}"
        thread.not_modelled(f"the metadata of tcgen05.mma.sp with {place}", _DENSE)
    return in_tmem(thread, shape) if a_in_tmem else shape, e if known else None


@instruction(
    _opcode("[{d}], {a_desc}, {b_desc}, [{e}], {idesc}, {accumulate}"), name="tcgen05.mma.sparse", **_FACTS
)
def tcgen05_mma_sp(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a_desc: Tcgen05Descriptor,
    b_desc: Tcgen05Descriptor,
    e: TmemAddress,
    idesc: InstructionWord,
    accumulate: pred,
    *,
    cta_group: Literal[1, 2] = 1,
    kind: Kind = "f16",
) -> None:
    """Issue D = A Bᵀ (+ D if `accumulate`) with a sparse A: A [M, K / 2], B [N, K] in shared memory.

    e: the address of the metadata. The rest is as for `tcgen05.mma`.
    """
    a, start_a = smem_operand(thread, "A", a_desc)
    b, start_b = smem_operand(thread, "B", b_desc)
    shape, metadata = _sparse(thread, idesc, kind, cta_group, e, False)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, a, start_a, b, start_b, shape, accumulate, cta_group, None, PLAIN, metadata)


@instruction(
    _opcode("[{d}], [{a}], {b_desc}, [{e}], {idesc}, {accumulate}"), name="tcgen05.mma.sparse.a_in_tmem", **_FACTS
)
def tcgen05_mma_sp_a_in_tmem(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a: TmemAddress,
    b_desc: Tcgen05Descriptor,
    e: TmemAddress,
    idesc: InstructionWord,
    accumulate: pred,
    *,
    cta_group: Literal[1, 2] = 1,
    kind: Kind = "f16",
) -> None:
    """Issue the sparse MMA with A in tensor memory."""
    b, start_b = smem_operand(thread, "B", b_desc)
    shape, metadata = _sparse(thread, idesc, kind, cta_group, e, True)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, A_IN_TMEM, a, b, start_b, shape, accumulate, cta_group, None, PLAIN, metadata)


@instruction(
    masked("tcgen05.mma.sp", "[{d}], {a_desc}, {b_desc}, [{e}]"), name="tcgen05.mma.sparse.masked",
    check=lanes_after(6), **_FACTS,
)
def tcgen05_mma_sp_masked(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a_desc: Tcgen05Descriptor,
    b_desc: Tcgen05Descriptor,
    e: TmemAddress,
    idesc: InstructionWord,
    accumulate: pred,
    *lanes: u32,
    cta_group: Literal[1, 2] = 1,
    kind: Kind = "f16",
    scale_input_d: int = 0,
) -> None:
    """Issue the sparse MMA for some lanes, as `tcgen05.mma.masked`."""
    a, start_a = smem_operand(thread, "A", a_desc)
    b, start_b = smem_operand(thread, "B", b_desc)
    shape, metadata = _sparse(thread, idesc, kind, cta_group, e, False)
    kept = kept_lanes(lanes, scale_input_d)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, a, start_a, b, start_b, shape, accumulate, cta_group, None, kept, metadata)


@instruction(
    masked("tcgen05.mma.sp", "[{d}], [{a}], {b_desc}, [{e}]"), name="tcgen05.mma.sparse.a_in_tmem.masked",
    check=lanes_after(6), **_FACTS,
)
def tcgen05_mma_sp_a_in_tmem_masked(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a: TmemAddress,
    b_desc: Tcgen05Descriptor,
    e: TmemAddress,
    idesc: InstructionWord,
    accumulate: pred,
    *lanes: u32,
    cta_group: Literal[1, 2] = 1,
    kind: Kind = "f16",
    scale_input_d: int = 0,
) -> None:
    """Issue the sparse MMA for some lanes, with A in tensor memory."""
    b, start_b = smem_operand(thread, "B", b_desc)
    shape, metadata = _sparse(thread, idesc, kind, cta_group, e, True)
    kept = kept_lanes(lanes, scale_input_d)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, A_IN_TMEM, a, b, start_b, shape, accumulate, cta_group, None, kept, metadata)


def _block_scale(a: str) -> Callable[..., str]:
    def template(kind: str, scale_vec: int, **_: object) -> str:
        vec = ".scale_vec::{scale_vec}X" if kind == "mxf4nvf4" else ""
        return (
            f"tcgen05.mma.sp.cta_group::{{cta_group}}.kind::{kind}.block_scale{vec.format(scale_vec=scale_vec)} "
            f"[{{d}}], {a}, {{b_desc}}, [{{e}}], {{idesc}}, [{{sfa}}], [{{sfb}}], {{accumulate}};"
        )

    return template


@instruction(_block_scale("{a_desc}"), name="tcgen05.mma.sparse.block_scale", **_FACTS)
def tcgen05_mma_sp_block_scale(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a_desc: Tcgen05Descriptor,
    b_desc: Tcgen05Descriptor,
    e: TmemAddress,
    idesc: InstructionWord,
    sfa: TmemAddress,
    sfb: TmemAddress,
    accumulate: pred,
    *,
    cta_group: Literal[1, 2] = 1,
    kind: ScaledKind = "mxf8f6f4",
    scale_vec: Literal[1, 2, 4] = 1,
) -> None:
    """Issue a sparse MMA with scale factors. Their values are not modelled, and a run with it is incomplete."""
    a, start_a = smem_operand(thread, "A", a_desc)
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, cta_group, False, True)
    thread.not_modelled("tcgen05.mma.sp with block scaling", f"its factors are taken as 1, and {_DENSE}")
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, a, start_a, b, start_b, shape, accumulate, cta_group)

"""tcgen05 with block scaling: MMAs with scale factors, and the copies that move the factors to tensor memory.

Scale factors lie in tensor memory, one byte each: row r of A (or B) in lane r % 32 and column r // 32, the same in each
of the four groups of 32 lanes; up to four along K share a column of 32 bits (PTX ISA: "Scale Factor layout").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tirx_mini.ir import Expr

from .core import instruction
from .descriptors import CP_SHAPES, SCALED_KINDS, START_BITS, BlockScales, InstructionDescriptor, SmemDescriptor
from .facts import Completion, Memory, Scope
from .machine import Machine, Thread
from .operands import InstructionWord, Tcgen05Descriptor, TmemAddress, pred
from .tcgen05 import decoded, smem_operand

ScaledKind = Literal["mxf8f6f4", "mxf4", "mxf4nvf4"]


def _block_scale(cta_group: int, kind: str, scale_vec: int) -> str:
    vec = f".scale_vec::{scale_vec}X" if kind == "mxf4nvf4" else ""
    return (
        f"tcgen05.mma.cta_group::{cta_group}.kind::{kind}.block_scale{vec} "
        "[{d}], {a_desc}, {b_desc}, {idesc}, [{sfa}], [{sfb}], {accumulate};"
    )


def _check_scaled(operands: Sequence[Expr], kind: str, scale_vec: int, **_: object) -> str | None:
    allowed = sorted({vec for vecs in SCALED_KINDS[kind].values() for vec in vecs})
    if scale_vec in allowed:
        return None
    return f"kind {kind!r} needs scale_vec={' or '.join(map(str, allowed))}, not {scale_vec}"


@instruction(
    _block_scale,
    name="tcgen05.mma.block_scale",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    isa="tcgen05.mma",
    cost="mma",
    reads=Memory.SHARED | Memory.TENSOR,
    writes=Memory.TENSOR,
    completion=Completion.COMMIT,
    check=_check_scaled,
)
def tcgen05_mma_block_scale(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a_desc: Tcgen05Descriptor,
    b_desc: Tcgen05Descriptor,
    idesc: InstructionWord,
    sfa: TmemAddress,
    sfb: TmemAddress,
    accumulate: pred,
    *,
    cta_group: Literal[1, 2] = 1,
    kind: ScaledKind = "mxf8f6f4",
    scale_vec: Literal[1, 2, 4] = 1,
) -> None:
    """Issue D = (A · SFA) (B · SFB)ᵀ (+ D if `accumulate`) from one thread, with `scale_vec` factors per row along K.

    A factor scales 32 elements of A or B along K, with scale_vec = 4 sixteen. The MMA is asynchronous;
    a commit signals its end.
    """
    a, start_a = smem_operand(thread, "A", a_desc)
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, cta_group)
    decoded(thread, "the instruction", shape.check_scales, kind, scale_vec)
    if shape.m // cta_group != 128:
        what = f"an MMA with block scaling and M = {shape.m} of a pair"
        thread.not_modelled(what, "its factors are taken as 1")
    scales = BlockScales(sfa, sfb, scale_vec) if shape.m // cta_group == 128 else None
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, a, start_a, b, start_b, shape, accumulate, cta_group, scales)


def _cp(shape: str, cta_group: int, multicast: str, decompress: str) -> str:
    to, source = (f".{word}" if word else "" for word in (multicast, decompress))
    return f"tcgen05.cp.cta_group::{cta_group}.{shape}{to}{source} [{{taddr}}], {{src_desc}};"


def _check_cp(operands: Sequence[Expr], shape: str, multicast: str, **_: object) -> str | None:
    if (shape, multicast) in CP_SHAPES:
        return None
    needed = [repr(other) for size, other in CP_SHAPES if size == shape]
    return f"has shape {shape!r}, which needs multicast={' or '.join(needed)}, not {multicast!r}"


@instruction(
    _cp,
    name="tcgen05.cp",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    cost="mma",
    reads=Memory.SHARED,
    writes=Memory.TENSOR,
    completion=Completion.COMMIT,
    check=_check_cp,
)
def tcgen05_cp(
    gpu: Machine,
    thread: Thread,
    taddr: TmemAddress,
    src_desc: Tcgen05Descriptor,
    *,
    shape: Literal["128x256b", "4x256b", "128x128b", "64x128b", "32x128b"],
    cta_group: Literal[1, 2] = 1,
    multicast: Literal["", "warpx2::02_13", "warpx2::01_23", "warpx4"] = "",
    decompress: Literal["", "b8x16.b6x16_p32", "b8x16.b4x16_p64"] = "",
) -> None:
    """Copy rows of shared memory from one thread to lanes of tensor memory, starting at the address `taddr`.

    The copy is asynchronous. Later MMAs of the thread read it; for others a commit signals its end. 64x128b and
    32x128b write their rows to two, or to all four groups of 32 lanes. With `decompress`, each 16 bytes of a row are
    16 elements of 6 or 4 bits and padding, which become elements of 8 bits. Where their bits go then is not modelled:
    the simulator copies the bytes, and the run is incomplete.
    """
    if decompress:
        thread.not_modelled(f"the decompression of tcgen05.cp.{decompress}", "it copies the bytes as they are")
    layout = decoded(thread, "the source", SmemDescriptor.decode, src_desc & ~START_BITS, what="a tcgen05.cp")
    for _ in range(thread.mask.count):
        gpu.tmem_copy(thread, taddr, layout, (src_desc & START_BITS) << 4, shape, multicast, cta_group)

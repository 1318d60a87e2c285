"""tcgen05.mma with lane masks and input scaling, and tcgen05.mma.ws (PTX ISA: "tcgen05.mma").

A lane of tensor memory whose bit is set in disable-output-lane remains unchanged. scale-input-d divides D by a power of
two before the product is added. The weight-stationary form has its own shapes and layouts of D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from tirx_mini.ir import Expr

from .core import instruction
from .descriptors import A_IN_TMEM, InstructionDescriptor, Kept
from .facts import Completion, Memory, Scope, SharedFacts
from .machine import Machine, Thread
from .operands import InstructionWord, Tcgen05Descriptor, TmemAddress, pred, u32
from .tcgen05 import decoded, in_tmem, smem_operand

Kind = Literal["f16", "tf32", "f8f6f4", "i8"]
FACTS: SharedFacts = {
    "issued_by": Scope.THREAD, "min_sm": 100, "max_sm": 110, "cost": "mma", "isa": "tcgen05.mma",
    "only_on": {("kind", "i8"): (100, 110)}, "reads": Memory.SHARED | Memory.TENSOR, "writes": Memory.TENSOR,
    "completion": Completion.COMMIT,
}  # fmt: skip
_WS: SharedFacts = {**FACTS, "isa": "tcgen05.mma.ws"}
_SCALED = ("f16", "tf32")
"""The kinds that support scale-input-d."""


def masked(opcode: str, operands: str) -> Callable[..., str]:
    """Return the template of a product with a mask of lanes and a scale. operands: those before the descriptor of the
    instruction.
    """

    def template(scale_input_d: int, **_: object) -> str:
        scale = ", {scale_input_d}" if scale_input_d else ""
        return (
            f"{opcode}.cta_group::{{cta_group}}.kind::{{kind}} "
            f"{operands}, {{idesc}}, {{{{lanes}}}}, {{accumulate}}{scale};"
        )

    return template


def lanes_after(count: int) -> Callable[..., str | None]:
    """Return the check of the lanes and the scale of a product. count: of the operands besides the lanes."""

    def check(operands: Sequence[Expr], cta_group: int, kind: str, scale_input_d: int) -> str | None:
        return wrong_lanes(len(operands) - count if operands else None, cta_group, kind, scale_input_d)

    return check


def wrong_lanes(words: int | None, cta_group: int, kind: str, scale_input_d: int) -> str | None:
    """Return the error in the lanes and the scale of a product. words: those with the lanes; None if unknown."""
    if words not in (None, 4 * cta_group):
        return f"lanes are words of 32 bits, {4 * cta_group} with cta_group={cta_group}, but {words} are given"
    if scale_input_d > 15:
        return f"scale_input_d is {scale_input_d}; it can be 0 to 15"
    if scale_input_d and kind not in _SCALED:
        return f"only the kinds f16 and tf32 have scale_input_d, not {kind}"
    return None


def kept_lanes(lanes: Sequence[int], scale: int) -> Kept:
    """Return the treatment of the old contents of D: lanes that stay, by words of 32 bits, and its scale."""
    words = [sum(int(word) << 32 * i for i, word in enumerate(lanes[cta : cta + 4])) for cta in range(0, len(lanes), 4)]
    return Kept(scale, tuple(words) if any(words) else ())


@instruction(
    masked("tcgen05.mma", "[{d}], {a_desc}, {b_desc}"),
    name="tcgen05.mma.masked",
    check=lanes_after(5),
    **FACTS,
)
def tcgen05_mma_masked(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a_desc: Tcgen05Descriptor,
    b_desc: Tcgen05Descriptor,
    idesc: InstructionWord,
    accumulate: pred,
    *lanes: u32,
    cta_group: Literal[1, 2] = 1,
    kind: Kind = "f16",
    scale_input_d: int = 0,
) -> None:
    """Issue tcgen05.mma for some lanes; lanes whose bits are set in `lanes`, four words per CTA, keep D.

    With `scale_input_d` the product is added to D / 2^scale_input_d.
    """
    a, start_a = smem_operand(thread, "A", a_desc)
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, cta_group)
    kept = kept_lanes(lanes, scale_input_d)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, a, start_a, b, start_b, shape, accumulate, cta_group, None, kept)


@instruction(
    masked("tcgen05.mma", "[{d}], [{a}], {b_desc}"),
    name="tcgen05.mma.a_in_tmem.masked",
    check=lanes_after(5),
    **FACTS,
)
def tcgen05_mma_a_in_tmem_masked(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a: TmemAddress,
    b_desc: Tcgen05Descriptor,
    idesc: InstructionWord,
    accumulate: pred,
    *lanes: u32,
    cta_group: Literal[1, 2] = 1,
    kind: Kind = "f16",
    scale_input_d: int = 0,
) -> None:
    """Issue the masked MMA with A in tensor memory."""
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, cta_group)
    shape = in_tmem(thread, shape)
    kept = kept_lanes(lanes, scale_input_d)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, A_IN_TMEM, a, b, start_b, shape, accumulate, cta_group, None, kept)


@instruction(
    "tcgen05.mma.ws.cta_group::1.kind::{kind} [{d}], {a_desc}, {b_desc}, {idesc}, {accumulate}, 0;",
    name="tcgen05.mma.ws",
    **_WS,
)
def tcgen05_mma_ws(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a_desc: Tcgen05Descriptor,
    b_desc: Tcgen05Descriptor,
    idesc: InstructionWord,
    accumulate: pred,
    *,
    kind: Kind = "f16",
) -> None:
    """Issue the weight-stationary product of one CTA, with M = 32, 64 or 128 and N = 64, 128 or 256.

    With M = 64 and 32 the columns of D are in two and four parts, one below the other: row r of part p is in lane
    r + p · M (PTX ISA: "Data Path Layout Organization", layouts E and G).
    """
    a, start_a = smem_operand(thread, "A", a_desc)
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, 1, True)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, a, start_a, b, start_b, shape, accumulate, 1)


@instruction(
    "tcgen05.mma.ws.cta_group::1.kind::{kind} [{d}], [{a}], {b_desc}, {idesc}, {accumulate}, 0;",
    name="tcgen05.mma.ws.a_in_tmem",
    **_WS,
)
def tcgen05_mma_ws_a_in_tmem(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a: TmemAddress,
    b_desc: Tcgen05Descriptor,
    idesc: InstructionWord,
    accumulate: pred,
    *,
    kind: Kind = "f16",
) -> None:
    """Issue the weight-stationary MMA with A in tensor memory; each column part has M lanes with its own rows of A."""
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, 1, True)
    shape = in_tmem(thread, shape)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, A_IN_TMEM, a, b, start_b, shape, accumulate, 1)


@instruction(
    "tcgen05.shift.cta_group::{cta_group}.down [{taddr}];",
    name="tcgen05.shift",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    cost="mma",
)
def tcgen05_shift(gpu: Machine, thread: Thread, taddr: TmemAddress, *, cta_group: Literal[1, 2] = 1) -> None:
    """Shift the rows of a tensor-memory matrix by one from one thread, in elements of 32 bytes.

    The lane of `taddr` is a multiple of 32. The shift is asynchronous; a commit signals its end. The compiler emits it;
    the simulator does not execute it, and a run with it is incomplete.
    """
    if taddr >> 16 & 31:
        what = f"tcgen05.shift begins in lane {taddr >> 16}, which is not a multiple of 32"
        raise thread.fault("illegal-instruction", what, rule="PTX ISA: tcgen05.shift")
    thread.not_modelled("tcgen05.shift", "the rows stay where they are")

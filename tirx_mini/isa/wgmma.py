"""wgmma: the warpgroup-level tensor core instructions of Hopper.

The four warps of a warpgroup issue an MMA together. It reads its operands from shared memory, through descriptors and
the async proxy, and accumulates in registers: warp w holds rows 16w … 16w + 15 of the 64 (see
`layout.wgmma_accumulator_layout`). From its issue until a wait_group that covers it, nothing else may access those
registers. MMAs are committed in groups; a wait_group leaves the most recent ones in flight.

Sums are float32, or int32 for integers. Sums of float16 and 8-bit floats can be float16, two in each register.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

from tirx_mini.ir import Expr

from .core import instruction
from .descriptors import START_BITS, WGMMA, InstructionDescriptor, SmemDescriptor, mma_depth, mma_format
from .facts import Completion, Memory, Scope, SharedFacts
from .machine import Blocking, FaultKind, Machine, Thread
from .operands import SourceRegisters, UpdatedRegisters, WgmmaDescriptor, pred
from .requests import WgmmaProduct

ROWS = 64
"""The M extent of every wgmma."""
FRAGMENT_REGISTERS = 4
"""The number of registers of each thread that hold a matrix A of 64 rows and 32 bytes of K."""
DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "tf32": "float32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "s8": "int8", "u8": "uint8",
}  # fmt: skip
"""The operand types, from PTX name to IR dtype."""
Dtype = Literal["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"]
SummedAsHalf = Literal["f16", "e4m3", "e5m2"]
"""The operand types that support float16 sums."""
HALF = "float16"
INTEGERS = ("s8", "u8")
MIXED = (("e4m3", "e5m2"), INTEGERS)
"""The operand types that A and B may mix."""
OfB = Literal["", "e4m3", "e5m2", "s8", "u8"]
"""The type of B where it may differ from that of A; "" if it does not."""
TURNABLE = ("f16", "bf16")
"""The operand types that may be contiguous along M or N; other types must be contiguous along K."""


@instruction(
    "wgmma.fence.sync.aligned;",
    name="wgmma.fence",
    issued_by=Scope.WARPGROUP,
    min_sm=90,
    max_sm=90,
    cost="sync",
)
def wgmma_fence(gpu: Machine, thread: Thread) -> None:
    """Order earlier register accesses before later wgmma operations; required before the first MMA on the registers."""
    thread.require_converged("wgmma.fence")
    thread.wgmma.fence()


def shape_and_types(n: int, dtype: str, b_dtype: str, sums: str = "", sparse: bool = False) -> str:
    """Return the shape and types, as in "m64n128k16.f32.f16.f16" (PTX ISA: "wgmma.mma_async", syntax)."""
    sums = sums or ("s32" if dtype in INTEGERS else "f32")
    depth = mma_depth(mma_format(DTYPES[dtype])[0]) * (2 if sparse else 1)
    return f"m64n{n}k{depth}.{sums}.{dtype}.{b_dtype or dtype}"


def modifiers(dtype: str, *transposed: bool) -> str:
    """Return the factors of A and B, absent for integers, and the transpose flags, if supported."""
    if dtype in INTEGERS:
        return ""
    return "".join(f", {n}" for n in (1, 1, *(map(int, transposed) if dtype in TURNABLE else ())))


def wrong_product(
    operands: Sequence[Expr], n: int, dtype: str, transpose_b: bool, transpose_a: bool = False, b_dtype: str = "",
    **_: object,
) -> str | None:  # fmt: skip
    """Return the error in the types, shape and layouts of a product (PTX ISA: "wgmma.mma_async"), or None."""
    if b_dtype not in ("", dtype) and not any(dtype in kinds and b_dtype in kinds for kinds in MIXED):
        return f"A of type {dtype} and B of type {b_dtype} do not go together"
    if dtype in INTEGERS and n > 32 and n % 16:
        return f"of {dtype} has n = 8, 16, 24, 32 or a multiple of 16, not {n}"
    if (transpose_a or transpose_b) and dtype not in TURNABLE:
        return f"of {dtype} has operands that are contiguous along K; only those of f16 and bf16 can be transposed"
    return None


def _mma_async(sums: str = "") -> Callable[..., str]:
    def template(n: int, dtype: str, b_dtype: str, transpose_a: bool, transpose_b: bool) -> str:
        return (
            f"wgmma.mma_async.sync.aligned.{shape_and_types(n, dtype, b_dtype, sums)} "
            f"{{{{d}}}}, {{a_desc}}, {{b_desc}}, {{accumulate}}{modifiers(dtype, transpose_a, transpose_b)};"
        )

    return template


def _registers(n: int, **_: object) -> int:
    return n // 2


FACTS: SharedFacts = {
    "issued_by": Scope.WARPGROUP, "min_sm": 90, "max_sm": 90, "cost": "wgmma", "isa": "wgmma.mma_async",
    "check": wrong_product, "reads": Memory.SHARED, "completion": Completion.WGMMA_GROUP, "sparse": ("b_dtype",),
}  # fmt: skip
"""The facts that all products share."""


@instruction(_mma_async(), name="wgmma.mma_async", registers=_registers, **FACTS)
def wgmma_mma_async(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a_desc: WgmmaDescriptor,
    b_desc: WgmmaDescriptor,
    accumulate: pred,
    *,
    n: int,
    dtype: Dtype = "f16",
    b_dtype: OfB = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> None:
    """Issue D = A Bᵀ (+ D if `accumulate`) from a warpgroup: A [64, K], B [n, K] in shared memory, D in registers.

    n: a multiple of 8 up to 256; D is n / 2 registers of each thread: float32, or int32 for s8 and u8. dtype: of A and
    B, of which K has 32 bytes. b_dtype: of B, where e4m3 and e5m2, or s8 and u8, are mixed. transpose_a, transpose_b:
    the operand, of 16 bits, is contiguous along M or N. The MMA is asynchronous; a wait_group waits for its end.
    """
    thread.wgmma.issue(d, asked(thread, a_desc, b_desc, accumulate, n, (dtype, b_dtype), transpose_a, transpose_b))


def _half_registers(n: int, **_: object) -> int:
    return n // 4


@instruction(_mma_async("f16"), name="wgmma.mma_async.f16", registers=_half_registers, **FACTS)
def wgmma_mma_async_f16(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a_desc: WgmmaDescriptor,
    b_desc: WgmmaDescriptor,
    accumulate: pred,
    *,
    n: int,
    dtype: SummedAsHalf = "f16",
    b_dtype: OfB = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> None:
    """Issue `wgmma.mma_async` with float16 sums: D has n / 4 registers per thread, with two neighbours in each."""
    types = dtype, b_dtype
    thread.wgmma.issue(d, asked(thread, a_desc, b_desc, accumulate, n, types, transpose_a, transpose_b, HALF))


def _mma_async_rs(sums: str = "") -> Callable[..., str]:
    def template(n: int, dtype: str, b_dtype: str, transpose_b: bool) -> str:
        return (
            f"wgmma.mma_async.sync.aligned.{shape_and_types(n, dtype, b_dtype, sums)} "
            f"{{{{d}}}}, {{{{a}}}}, {{b_desc}}, {{accumulate}}{modifiers(dtype, transpose_b)};"
        )

    return template


def _registers_rs(n: int, **_: object) -> dict[str, int]:
    return {"d": n // 2, "a": FRAGMENT_REGISTERS}


@instruction(_mma_async_rs(), name="wgmma.mma_async.rs", registers=_registers_rs, **FACTS)
def wgmma_mma_async_rs(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a: SourceRegisters,
    b_desc: WgmmaDescriptor,
    accumulate: pred,
    *,
    n: int,
    dtype: Dtype = "f16",
    b_dtype: OfB = "",
    transpose_b: bool = False,
) -> None:
    """Issue D = A Bᵀ (+ D if `accumulate`) from a warpgroup: A [64, K] in registers, B [n, K] in shared memory.

    a: the 4 registers of each thread that hold A (PTX ISA: "Register Fragments for wgmma.mma_async.m64nNk16", or of
    m64nNk8 and m64nNk32, matrix A). Nothing may write them before a wait_group that covers the MMA. The rest is as for
    `wgmma.mma_async`.
    """
    thread.wgmma.issue(d, asked(thread, None, b_desc, accumulate, n, (dtype, b_dtype), False, transpose_b), a)


def _half_registers_rs(n: int, **_: object) -> dict[str, int]:
    return {"d": n // 4, "a": FRAGMENT_REGISTERS}


@instruction(_mma_async_rs("f16"), name="wgmma.mma_async.rs.f16", registers=_half_registers_rs, **FACTS)
def wgmma_mma_async_rs_f16(
    gpu: Machine,
    thread: Thread,
    d: UpdatedRegisters,
    a: SourceRegisters,
    b_desc: WgmmaDescriptor,
    accumulate: pred,
    *,
    n: int,
    dtype: SummedAsHalf = "f16",
    b_dtype: OfB = "",
    transpose_b: bool = False,
) -> None:
    """Issue the register-A MMA with float16 sums: D has n / 4 registers per thread, with two neighbours in each."""
    thread.wgmma.issue(d, asked(thread, None, b_desc, accumulate, n, (dtype, b_dtype), False, transpose_b, HALF), a)


def asked(
    thread: Thread, a_desc: int | None, b_desc: int, accumulate: bool, n: int, dtypes: tuple[str, str],
    transpose_a: bool, transpose_b: bool, sums: str = "", selector: int | None = None,
) -> WgmmaProduct:  # fmt: skip
    """Return the product that a warp requests; a_desc is None for A in registers. dtypes: of A, and of B, "" if equal.
    sums: dtype, "" for 32 bits. selector: of a sparse A; None for a dense one."""
    thread.require_converged("wgmma.mma_async")
    a_word = None if a_desc is None else thread.uniform(a_desc, "operand A")
    b_word, adds = thread.uniform(b_desc, "operand B"), bool(thread.uniform(accumulate, "scale-d"))
    try:
        _check_shape(n, dtypes[0], transpose_a or transpose_b)
        return _product(a_word, b_word, adds, _shape(n, dtypes, bool(transpose_a), bool(transpose_b), sums, selector))
    except BadOperandError as error:
        raise thread.fault(error.kind, str(error), rule=f"PTX ISA: wgmma, {error.section}") from None


def _check_shape(n: int, dtype: str, transposed: bool) -> None:
    """Raise `BadOperandError` for an invalid shape."""
    if n % 8 or not 8 <= n <= 256:
        raise BadOperandError("shapes", f"N of a wgmma is {n}; it must be a multiple of 8 from 8 to 256")
    if dtype in INTEGERS and n > 24 and n % 16:
        raise BadOperandError("shapes", f"N of a wgmma of integers is {n}; beyond 24 it must be a multiple of 16")
    if transposed and dtype not in TURNABLE:
        raise BadOperandError(
            "shapes", f"operands of {dtype} are contiguous along K; only those of 16 bits have others"
        )


@lru_cache(maxsize=4096)
def _product(a_word: int | None, b_word: int, accumulate: bool, shape: InstructionDescriptor) -> WgmmaProduct:
    """Return the product of one instruction, shared for equal operands."""
    a = None if a_word is None else _decode("A", a_word & ~START_BITS)
    b = _decode("B", b_word & ~START_BITS)
    a_start, b_start = ((a_word or 0) & START_BITS) << 4, (b_word & START_BITS) << 4
    return WgmmaProduct(shape, a, a_start, b, b_start, accumulate)


@lru_cache(maxsize=256)
def _shape(
    n: int, dtypes: tuple[str, str], transpose_a: bool, transpose_b: bool, sums: str, selector: int | None
) -> InstructionDescriptor:
    """Return the computation of one instruction, shared for equal shapes."""
    dtype, of_b = dtypes[0], dtypes[1] or dtypes[0]
    (kind, a), (_, b) = mma_format(DTYPES[dtype]), mma_format(DTYPES[of_b])
    depth = mma_depth(kind) * (1 if selector is None else 2)
    result = sums or ("int32" if dtype in INTEGERS else "float32")
    return InstructionDescriptor(
        ROWS, n, a, b, result, depth, transpose_a=transpose_a, transpose_b=transpose_b, selector=selector
    )


class BadOperandError(ValueError):
    """The error for a shape or descriptor that the ISA does not allow."""

    def __init__(self, section: str, message: str) -> None:
        super().__init__(message)
        self.section = section
        self.kind: FaultKind = "illegal-instruction" if section == "shapes" else "bad-descriptor"


def _decode(name: str, word: int) -> SmemDescriptor:
    try:
        return SmemDescriptor.decode(word, WGMMA)
    except ValueError as error:
        message = f"the descriptor of operand {name} of a wgmma is wrong: {error}"
        raise BadOperandError("matrix descriptor format", message) from None


@instruction(
    "wgmma.commit_group.sync.aligned;",
    name="wgmma.commit_group",
    issued_by=Scope.WARPGROUP,
    min_sm=90,
    max_sm=90,
    cost="sync",
)
def wgmma_commit_group(gpu: Machine, thread: Thread) -> None:
    """Close the group of MMAs that the warpgroup issued since the previous commit."""
    thread.require_converged("wgmma.commit_group")
    thread.wgmma.commit()


@instruction(
    "wgmma.wait_group.sync.aligned {n};",
    name="wgmma.wait_group",
    issued_by=Scope.WARPGROUP,
    min_sm=90,
    max_sm=90,
    cost="wait",
    awaits="wgmma-group",
)
def wgmma_wait_group(gpu: Machine, thread: Thread, *, n: int = 0) -> Blocking:
    """Wait until at most `n` of the warpgroup's latest groups are incomplete; other groups' registers are usable."""
    thread.require_converged("wgmma.wait_group")
    return thread.wgmma.wait(n)


def _counted(count: int, **_: object) -> int:
    return count


@instruction(
    "{ // {registers}\n}",
    name="wgmma.fence_operand",
    issued_by=Scope.THREAD,
    min_sm=70,
    isa="wgmma.fence",
    cost="none",
    registers=_counted,
)
def wgmma_fence_operand(gpu: Machine, thread: Thread, registers: UpdatedRegisters, *, count: int = 1) -> None:
    """Prevent the compiler from moving uses of `count` accumulator registers across this point; emits no instruction.

    The hardware's fence is `wgmma.fence`.
    """

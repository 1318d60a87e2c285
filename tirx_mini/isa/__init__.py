"""The instruction table: every hardware instruction once, its PTX beside its meaning.

`TABLE` has the instructions by name; `NAMES` has what kernels call, by the path below `Tx` ("ptx.mbarrier.init").
"""

from tirx_mini.ir import PrimFunc

from . import cp_async, debug, fence, grid, matrix, mbarrier, sync, tcgen05, timer, tma, warp, wgmma
from .availability import check_instructions
from .core import Alias, Instruction, Overloads, Scope, tables
from .debug import CONVERSION
from .descriptors import (
    Format,
    InstructionDescriptor,
    SmemDescriptor,
    mma_depth,
    mma_format,
    operand_chunks,
    swizzle_bytes,
)  # fmt: skip
from .operands import Access, Operand, OperandKind
from .tma import POLICIES

TABLE, NAMES = tables((mbarrier, fence, sync, grid, warp, tma, cp_async, matrix, wgmma, tcgen05, timer, debug))


def check_target(func: PrimFunc, arch: str) -> None:
    """Raises `TirxError` at the first instruction of a lowered function that `arch`, as "sm_90a", does not have."""
    check_instructions(func, arch, TABLE)


__all__ = [
    "CONVERSION", "NAMES", "POLICIES", "TABLE", "Access", "Alias", "Format", "Instruction", "InstructionDescriptor",
    "Operand", "OperandKind", "Overloads", "Scope", "SmemDescriptor", "check_target", "mma_depth", "mma_format",
    "operand_chunks", "swizzle_bytes",
]  # fmt: skip

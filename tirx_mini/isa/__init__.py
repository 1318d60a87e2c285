"""The instruction table: every hardware instruction once, its PTX beside its meaning.

`TABLE` has the instructions by name; `NAMES` has what kernels call, by the path below `Tx` ("ptx.mbarrier.init").
"""

from tirx_mini.ir import PrimFunc

from .availability import check_instructions
from .core import Instruction
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
from .facts import Alias, Scope
from .operands import Access, Operand, OperandKind
from .table import NAMES, TABLE, Overloads
from .tma import POLICIES


def check_target(func: PrimFunc, arch: str) -> None:
    """Raises `TirxError` at the first instruction of a lowered function that `arch`, as "sm_90a", does not have."""
    check_instructions(func, arch, TABLE)


__all__ = [
    "CONVERSION", "NAMES", "POLICIES", "TABLE", "Access", "Alias", "Format", "Instruction", "InstructionDescriptor",
    "Operand", "OperandKind", "Overloads", "Scope", "SmemDescriptor", "check_target", "mma_depth", "mma_format",
    "operand_chunks", "swizzle_bytes",
]  # fmt: skip

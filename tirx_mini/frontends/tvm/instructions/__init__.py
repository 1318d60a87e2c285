"""Instruction spellings of Apache TVM 0.26: names, parameters and parameter order."""

from tirx_mini.isa import OperandKind, Spellings

from .names import NAMES
from .orders import ORDERS
from .tensor_cores import TENSOR_CORES

SPELLINGS = Spellings(
    (*NAMES, *ORDERS, *TENSOR_CORES),
    {OperandKind.MBARRIER: ("mbar",), OperandKind.MEMORY: ("addr", "ptr")},
)

__all__ = ["SPELLINGS"]

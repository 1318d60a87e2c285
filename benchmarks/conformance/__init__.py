"""Small kernels that execute every Hopper instruction of the table: what they write is compared, chip against model."""

from .case import Case
from .conversions import CONVERSIONS
from .copies import COPIES
from .mbarriers import MBARRIERS
from .memory import MEMORY
from .scalars import SCALARS
from .signals import SIGNALS
from .sync import SYNC
from .tensor_core import TENSOR_CORE
from .tma import TMA
from .values import VALUES
from .warp_matrix import WARP_MATRIX
from .warps import WARPS
from .written import WRITTEN

CASES: tuple[Case, ...] = (
    *MBARRIERS, *SIGNALS, *SYNC, *MEMORY, *VALUES, *WARPS, *SCALARS, *CONVERSIONS, *COPIES, *TMA, *TENSOR_CORE,
    *WARP_MATRIX, *WRITTEN,
)  # fmt: skip

__all__ = ["CASES", "Case"]

"""Lowering of T.gemm: instruction selection, operand layouts and code generation."""

from .code import Operands, part, tcgen05, wgmma
from .plan import (
    MMA_SYNC,
    TCGEN05,
    WGMMA,
    GemmPlan,
    GemmWarpPolicy,
    Product,
    gemm_plan,
    operand_swizzle,
    tmem_fragment,
)
from .rules import (
    GEMM,
    NEVER,
    PHASE,
    PRODUCTS,
    RULES,
    TCGEN05_DRAIN,
    WG_WAIT,
    Place,
    capability,
    product_of,
    shared_layout,
)
from .warp_code import by_warps

__all__ = [
    "GEMM", "MMA_SYNC", "NEVER", "PHASE", "PRODUCTS", "RULES", "TCGEN05", "TCGEN05_DRAIN", "WGMMA", "WG_WAIT",
    "GemmPlan", "GemmWarpPolicy", "Operands", "Place", "Product", "by_warps", "capability", "gemm_plan",
    "operand_swizzle", "part", "product_of", "shared_layout", "tcgen05", "tmem_fragment", "wgmma",
]  # fmt: skip

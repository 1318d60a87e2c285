"""Operations on register tiles shared by all languages: tensor core products and reductions."""

from .products import (
    MMA_SYNC,
    PRODUCTS,
    STEP_BYTES,
    TCGEN05,
    WGMMA,
    TensorProduct,
    choices,
    exists_on,
    mma_sync,
    tensor_product,
)

__all__ = [
    "MMA_SYNC", "PRODUCTS", "STEP_BYTES", "TCGEN05", "TensorProduct", "WGMMA", "choices", "exists_on", "mma_sync",
    "tensor_product",
]  # fmt: skip

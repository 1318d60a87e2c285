"""The table of products agrees with what the instructions themselves take."""

from __future__ import annotations

import pytest

from tirx_mini.fragments import (
    MMA_SYNC,
    PRODUCTS,
    TCGEN05,
    WGMMA,
    TensorProduct,
    choices,
    exists_on,
    mma_sync,
    tensor_product,
)
from tirx_mini.ir import Buffer, DataType, Evaluate, TirxError
from tirx_mini.isa import TABLE, mma_depth, mma_format


def fragments(product: TensorProduct) -> list[Buffer]:
    """Registers for D, A, B and C."""
    words = {"d": 4 if product.sums != "float16" else 2, "a": 4, "b": 2}
    return [Buffer(name, (words[name],), DataType("uint32"), "local") for name in "dabd"]


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda p: f"{p.operand}-{p.sums}")
def test_each_instruction_takes_its_products(product: TensorProduct) -> None:
    assert product.depth == mma_depth(mma_format(product.operand)[0])
    if MMA_SYNC in product.by:
        pointers = [buffer.ptr_to([0]) for buffer in fragments(product)]
        made = mma_sync(pointers, product)
        assert isinstance(made, Evaluate)
        attrs = dict(made.call.attrs)
        assert attrs["shape"] == f"m16n8k{product.depth}" and attrs["a_type"] == attrs["b_type"] == product.ptx
    if WGMMA in product.by:
        for name in ("wgmma.mma_async", "wgmma.mma_async.rs"):
            entry = TABLE[f"{name}.f16" if product.sums == "float16" else name]
            assert product.ptx in next(a.choices for a in entry.attributes if a.name == "dtype")


def test_products_that_no_instruction_has() -> None:
    assert tensor_product(MMA_SYNC, "bfloat16", "float16") is None
    assert tensor_product(WGMMA, "float64", "float64") is None
    assert tensor_product(WGMMA, "bfloat16", "float16") is None
    assert tensor_product(TCGEN05, "int8", "float32") is None
    wrong = TensorProduct("bfloat16", "float16", (MMA_SYNC,))
    with pytest.raises(TirxError, match="C and D have the same type"):
        mma_sync([buffer.ptr_to([0]) for buffer in fragments(wrong)], wrong)


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a", "sm_110a"])
@pytest.mark.parametrize("operand", ["int8", "uint8", "float16"])
def test_integers_in_tensor_memory_on_the_gpus_that_have_them(arch: str, operand: str) -> None:
    product = tensor_product(TCGEN05, operand, "float32" if operand == "float16" else "int32")
    has_them = arch in ("sm_100a", "sm_110a")
    assert product is not None
    assert exists_on(arch, TCGEN05, product) == (has_them or operand == "float16")
    assert exists_on(arch, MMA_SYNC, product)


def test_operands_that_mix_and_sums_that_begin_at_zero() -> None:
    bytes_ = [tensor_product(MMA_SYNC, dtype, "int32") for dtype in ("int8", "uint8")]
    a, b = bytes_
    assert a is not None and b is not None
    d, left, right, _ = (buffer.ptr_to([0]) for buffer in fragments(a))
    made = mma_sync([d, left, right], a, b, depth=16, zero=True)
    assert isinstance(made, Evaluate)
    attrs = dict(made.call.attrs)
    assert (made.call.op, attrs["a_type"], attrs["b_type"]) == ("mma.sync.zero", "s8", "u8")
    assert attrs["shape"] == "m16n8k16"


def test_the_products_of_an_instruction_in_words() -> None:
    assert choices(WGMMA).endswith("int8 or uint8 into int32")

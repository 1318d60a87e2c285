"""Registers that a call names one by one: lists of pointers, as TVM's dialect has them, or pointers side by side."""

from __future__ import annotations

from typing import Any

import pytest

from tirx_mini.ir import INT32, Buffer, DataType, TirxError, Var, structural_equal
from tirx_mini.isa import NAMES, TABLE

A = Buffer("a", (4, 2), DataType("float16"), "local")
B = Buffer("b", (2,), DataType("uint32"), "local")
D = Buffer("d", (8,), DataType("float32"), "local")
SMEM = Buffer("smem", (64, 64), DataType("float16"), "shared")
WIDE = Buffer("wide", (8,), DataType("float64"), "local")
TYPES = ("m16n8k16", "row", "col", "float32", "float16", "fp16", "fp32")
I = Var(INT32, "i")


def pointers(buffer: Buffer, *places: Any) -> list[Any]:
    return [buffer.ptr_to(list(place) if isinstance(place, tuple) else [place]) for place in places]


DS, AS, BS = pointers(D, 0, 1, 2, 3), pointers(A, (0, 0), (1, 0), (2, 0), (3, 0)), pointers(B, 0, 1)


def mma(*args: Any, **kwargs: Any) -> Any:
    return NAMES["ptx.mma"].call(*args, **kwargs)


def test_registers_side_by_side_are_one_pointer() -> None:
    made = mma(*TYPES, DS, AS, BS, DS)
    assert made.op == "mma.sync" and [arg.buffer for arg in made.args] == [D, A, B, D]
    assert dict(made.attrs)["a_type"] == "f16" and dict(made.attrs)["d_type"] == "f32"
    plain = mma(D.ptr_to([0]), A.ptr_to([0, 0]), B.ptr_to([0]), D.ptr_to([0]))
    assert structural_equal(made, plain)


def test_places_that_a_variable_decides_may_be_side_by_side() -> None:
    made = mma(*TYPES, pointers(D, *(I * 4 + i for i in range(4))), AS, BS)
    assert made.op == "mma.sync.zero" and len(made.args) == 3


@pytest.mark.parametrize("none", [(), (None,), (None, False, None)])
def test_without_an_accumulator_c_is_zero(none: tuple[Any, ...]) -> None:
    assert mma(*TYPES, DS, AS, BS, *none).op == "mma.sync.zero"


def test_where_one_operand_is_scattered_each_register_has_a_pointer() -> None:
    made = mma(*TYPES, DS, AS, BS[::-1], DS[0])
    assert len(made.args) == 14
    assert [arg.indices[0].value for arg in made.args[8:]] == [1, 0, 0, 1, 2, 3]
    matched = TABLE["mma.sync"].matched(made.args, dict(made.attrs))
    assert [(operand.name, len(given)) for operand, given in matched] == [("d", 4), ("a", 4), ("b", 2), ("c", 4)]
    again = mma(*made.args, **dict(made.attrs))
    assert structural_equal(made, again)


def test_ldmatrix_has_the_order_of_tvm_too() -> None:
    row = SMEM.ptr_to([0, 0])
    assert structural_equal(
        NAMES["ptx.ldmatrix"].call(True, 4, ".b16", row, *AS),
        NAMES["ptx.ldmatrix"].call(A.ptr_to([0, 0]), row, num=4, transpose=True),
    )
    stored = NAMES["ptx.stmatrix"].call(False, 2, ".b16", row, *BS[::-1], space="shared::cta")
    assert [arg.buffer for arg in stored.args] == [SMEM, B, B]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((*TYPES, DS, AS[:3], BS), {}, "'a' of mma.sync.zero is 4 registers, but 3 pointers are given"),
        ((*TYPES, DS, BS, BS), {}, "'a' of mma.sync.zero is 4 registers, but 2 pointers are given"),
        (("m16n8k32", *TYPES[1:], DS, AS, BS), {}, "m16n8k32 is not a shape of f16; m16n8k8 and m16n8k16 are"),
        (("m8n8k4", *TYPES[1:], DS, AS, BS), {}, "'shape' of mma.sync.zero is 'm8n8k4'"),
        ((*TYPES, DS, AS, BS, None, False, "xor"), {}, "'bit_op' of mma.sync is 'xor'; it can only be None"),
        ((*TYPES, DS, AS, BS, DS, True), {}, "satfinite is for A and B of type s8 and u8"),
        ((*TYPES, DS, pointers(D, 0, 1, 2, 3), BS), {}, "a is a fragment of f16, but d has elements of float32"),
        ((*TYPES, pointers(WIDE, 0, 1, 2, 3), AS, BS), {}, "wide has elements of 64"),
        ((D.ptr_to([0]), AS[0], BS[0]), {"a_type": "f16", "b_type": "bf16"}, "do not go together"),
        ((D.ptr_to([0]), AS[0], BS[0]), {"c_type": "f16"}, "C and D have the same type"),
    ],
)
def test_what_does_not_fit_is_said(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(TirxError, match=message):
        mma(*args, **kwargs)


def test_registers_of_another_kind_of_matrix_are_not_loaded() -> None:
    with pytest.raises(TirxError, match=r"'dtype' of ldmatrix is '\.b8'; it can only be '\.b16' or 'b16'"):
        NAMES["ptx.ldmatrix"].call(True, 2, ".b8", SMEM.ptr_to([0, 0]), BS[0])

"""Operators and functions of tiles: dtypes of results, broadcasting, values."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.frontends.tile_ir.language import DTYPES, DType, TileError, promote
from tirx_mini.tile_ir import ct

from ..programs import Programs

SIGNED, UNSIGNED = (ct.int8, ct.int16, ct.int32, ct.int64), (ct.uint8, ct.uint16, ct.uint32, ct.uint64)
FLOATS = (ct.float16, ct.bfloat16, ct.float32, ct.float64)


def test_promotion_is_symmetric_and_widens() -> None:
    arithmetic = [t for t in DTYPES if t.arithmetic]
    for x in arithmetic:
        for y in arithmetic:
            try:
                common = promote(x, y)
            except TileError:
                with pytest.raises(TileError, match="have no common dtype"):
                    promote(y, x)
                mixed = {x, y} == {ct.float16, ct.bfloat16} or {x.kind, y.kind} == {"i", "u"}
                assert mixed
            else:
                assert common == promote(y, x)
                assert common in (x, y)


@pytest.mark.parametrize(("x", "y", "common"), [
    (ct.bool_, ct.int8, ct.int8), (ct.int64, ct.float16, ct.float16), (ct.float16, ct.float32, ct.float32),
    (ct.uint8, ct.uint32, ct.uint32), (ct.bfloat16, ct.float64, ct.float64),
])  # fmt: skip
def test_promotion(x: DType, y: DType, common: DType) -> None:
    assert promote(x, y) == common


@pytest.mark.parametrize("dtype", [ct.tfloat32, ct.float8_e4m3fn, ct.float4_e2m1fn])
def test_storage_types_have_no_arithmetic(dtype: DType) -> None:
    with pytest.raises(TileError, match="for storage"):
        promote(dtype, ct.float32)


@pytest.mark.parametrize(("expression", "printed"), [
    ("ct.int16(5) + 2", "7"), ("-7 // 2", "-4"), ("ct.bid(0) - 7 // 2", "-3"), ("(ct.bid(0) - 7) // 2", "-4"),
    ("(ct.bid(0) - 7) % 4", "1"), ("(ct.bid(0) + 7) % -4", "-1"), ("ct.cdiv(ct.bid(0) + 9, 4)", "3"),
    ("f'{(ct.arange(4, dtype=ct.int32) / 2):.1f}'", "[0.0, 0.5, 1.0, 1.5]"),
    ("f'{(ct.full((2,), -5.5, ct.float32) // 2):.1f}'", "[-3.0, -3.0]"),
    ("f'{(ct.full((2,), -5.5, ct.float32) % 2):.1f}'", "[0.5, 0.5]"),
    ("ct.arange(4, dtype=ct.int32) ** 2", "[0, 1, 4, 9]"), ("2 ** ct.arange(4, dtype=ct.int32)", "[1, 2, 4, 8]"),
    ("ct.full((2,), -1, ct.uint8)", "[255, 255]"), ("(ct.zeros((2,), ct.int8) * np.int32(3)).dtype", "int32"),
    ("(1 << ct.ones((2,), ct.int8)).dtype", "int8"), ("ct.zeros((2,), np.float16).dtype", "float16"),
    ("(ct.ones((2,), ct.int8) << ct.ones((2,), ct.int32)).dtype", "int32"),
    ("ct.arange(4, dtype=ct.int32) << 1", "[0, 2, 4, 6]"),
    ("(ct.arange(4, dtype=ct.int32) - 4) >> 1", "[-2, -2, -1, -1]"),
    ("~(ct.arange(2, dtype=ct.int32) > 0)", "[1, 0]"), ("+(ct.arange(2, dtype=ct.int32) > 0)", "[0, 1]"),
    ("1 < ct.bid(0) + 2 < 3", "1"), ("not ct.bid(0)", "1"), ("ct.bid(0) and 3", "0"), ("ct.bid(0) or 3", "True"),
    ("5 if ct.bid(0) == 0 else 6", "5"), ("ct.bid(0) in (1, 2, 0)", "1"), ("3 not in (1, 2)", "True"),
    ("max(ct.arange(4, dtype=ct.int32), 2)", "[2, 2, 2, 3]"), ("min(5, 2, ct.bid(0))", "0"),
    ("ct.where(ct.arange(4, dtype=ct.int32) > 1, 1, 0)", "[0, 0, 1, 1]"),
    ("ct.uint8(200) + ct.zeros((2,), ct.uint8)", "[200, 200]"), ("ct.abs(ct.arange(2, dtype=ct.int32) - 5)", "[5, 4]"),
    ("ct.bitcast(ct.float32(1), ct.int32)", "1065353216"), ("(1, 2) + (3,)", "(1, 2, 3)"), ("(1, 2, 3)[1:]", "(2, 3)"),
    ("ct.zeros((2, 1), ct.int32) + ct.arange(2, dtype=ct.int32)", "[[0, 1], [0, 1]]"),
    ("operator.mul(ct.bid(0) + 3, 4)", "12"), ("math.sqrt(16)", "4.0"), ("int(2.9)", "2"), ("len((1, 2))", "2"),
    ("ct.pack_to_bytes(ct.full((2,), 258, ct.int16))", "[2, 1, 2, 1]"),
    ("f'{ct.unpack_from_bytes(ct.pack_to_bytes(ct.full((2,), 1.5, ct.float32)), ct.float32):.1f}'", "[1.5, 1.5]"),
    ("-ct.arange(2, dtype=ct.int32)", "[0, -1]"), ("ct.float32.bitwidth", "32"),
    ("(lambda x, y=2: x * y)(ct.bid(0) + 3)", "6"),
])  # fmt: skip
def test_values(programs: Programs, expression: str, printed: str) -> None:
    assert programs.value(expression) == printed


@pytest.mark.parametrize(("expression", "dtype"), [
    ("x + 1", "int8"), ("x + 1.5", "float32"), ("x / 2", "float32"), ("x * True", "int8"), ("x > 0", "bool_"),
    ("h + 1.5", "float16"), ("h + ct.float32(1)", "float32"), ("ct.sum(x > 0)", "int32"), ("ct.exp(x)", "float32"),
    ("ct.argmax(h)", "int32"), ("h @ h", "float16"), ("ct.where(x > 0, h, 1)", "float16"), ("ct.bid(0) + 1", "int32"),
    ("x + a.shape[0]", "int32"), ("x << 2", "int8"), ("x.astype(ct.float8_e5m2) > 1", "bool_"), ("a.shape[0]", "int32"),
    ("-(x > 0)", "int32"), ("ct.cdiv(x, 2)", "int8"),
])  # fmt: skip
def test_dtypes(programs: Programs, expression: str, dtype: str) -> None:
    body = f"""
    x, h = ct.zeros((4, 4), ct.int8), ct.zeros((4, 4), ct.float16)
    result = {expression}
    ct.static_assert(result.dtype == ct.{dtype}, result)
    """
    assert programs.run(body, a=np.zeros(4, np.float32)) == ""


def test_functions_agree_with_numpy(programs: Programs) -> None:
    x = np.linspace(0.25, 1.75, 8, dtype=np.float32)
    names = ("exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil")
    out = np.zeros((len(names), 8), np.float32)
    rows = "\n".join(f"ct.store(y, ({i}, 0), ct.{name}(t)[None, :])" for i, name in enumerate(names))
    programs.run(f"t = ct.load(x, 0, (8,))\n{rows}", x=x, y=out)
    np.testing.assert_allclose(out, [getattr(np, name)(x) for name in names], rtol=1e-6)


def test_reductions_agree_with_numpy(programs: Programs) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (4, 8, 2)).astype(np.int32)
    for name in ("sum", "max", "min", "prod"):
        for axis in (0, 1, -1, (0, 2), None):
            wanted = getattr(np, name)(x, axis)
            got = programs.value(f"ct.{name}(ct.load(a, (0, 0, 0), (4, 8, 2)), {axis})", a=x)
            assert got == str(wanted.astype(np.int32).tolist())
    for name in ("argmax", "argmin"):
        for axis in (0, 1, 2, None):
            got = programs.value(f"ct.{name}(ct.load(a, (0, 0, 0), (4, 8, 2)), {axis})", a=x)
            assert got == str(getattr(np, name)(x, axis).tolist())
    scan = programs.value("ct.cumsum(ct.load(a, (0, 0, 0), (4, 8, 2)), 1)", a=x)
    assert scan == str(np.cumsum(x, 1).tolist())


def test_a_program_reduces_by_a_function_of_its_own(programs: Programs) -> None:
    body = """
    t = ct.load(a, 0, (8,))
    def absolute(x, y):
        return x if ct.abs(x) > ct.abs(y) else y
    print(ct.reduce(t, 0, absolute, 0), ct.scan(t, 0, lambda x, y: max(x, y), -100))
    pair = ct.reduce((t, t * t), 0, lambda a, b, c, d: (a + c, b + d), (0, 0))
    print(pair[0], pair[1])
    """
    x = np.array([1, -7, 3, 2, 6, -2, 0, 5], np.int32)
    assert programs.run(body, a=x) == "-7 [1, 1, 3, 3, 6, 6, 6, 6]\n8 128"


def test_products_agree_with_numpy(programs: Programs) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 16, 32)).astype(np.float16), rng.standard_normal((32, 8)).astype(np.float16)
    c = np.zeros((2, 16, 8), np.float32)
    body = """
    x, y = ct.load(a, (0, 0, 0), (2, 16, 32)), ct.load(b, (0, 0), (32, 8))
    ct.store(c, (0, 0, 0), ct.mma(x, y, ct.zeros((2, 16, 8), ct.float32)))
    """
    programs.run(body, a=a, b=b, c=c)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5, atol=1e-5)

"""gemm_async: its descriptors are decoded again and must point at the operands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.tirx_mini.tile.interpreter import Machine, numpy_dtype
from tests.tirx_mini.tile.kernels import Pool, call, elect, gmem, ids, kernel, lowered, swizzled, tmem, var
from tirx_mini.ir import DataType, For, If, Scope, Stmt, TirxError, binary, seq, walk
from tirx_mini.isa import InstructionDescriptor, SmemDescriptor, operand_chunks
from tirx_mini.layout import SwizzleMode
from tirx_mini.passes import lower

MODES = list(SwizzleMode)


def issued_by_one(*body: Stmt) -> tuple[Stmt, Stmt]:
    declared, _, warp, _ = ids()
    return declared, If(binary("==", warp, 0), Scope("thread", seq(*body), "warp", elect()))


def operand(machine: Machine, word: int, rows: int, depth: int, dtype: str) -> np.ndarray:
    """The elements at which a descriptor points, as the tensor core reads them: [rows, depth]."""
    size = DataType(dtype).itemsize
    layout = SmemDescriptor.decode(word)
    chunks = operand_chunks(layout, rows, depth, size, False)
    raw = machine.shared[chunks[..., None] + np.arange(16)]
    return np.ascontiguousarray(raw).view(numpy_dtype(DataType(dtype))).reshape(rows, depth)


@given(
    mode=st.sampled_from(MODES), rows_b=st.sampled_from([16, 64, 128, 256]), slabs=st.integers(1, 3),
    stages=st.integers(1, 2), dtype=st.sampled_from(["float16", "bfloat16"]), data=st.data(),
)
def test_the_instructions_cover_k_and_read_the_operands(mode, rows_b, slabs, stages, dtype, data):
    k = max(16, slabs * mode.span_bytes // 2 // 16 * 16)
    stage = data.draw(st.integers(0, stages - 1))
    pool = Pool()
    pool.alloc("Asmem", (stages, 128, k), dtype, swizzled((stages, 128, k), dtype, mode))
    pool.alloc("Bsmem", (stages, rows_b, k), dtype, swizzled((stages, rows_b, k), dtype, mode))
    assume(pool.size <= 232_448)  # a descriptor addresses 256 KiB
    declare, (a, b) = pool.commit()
    s, c = var("s"), tmem()
    gemm = call("gemm_async", c[:, :rows_b], a[s, :, :], b[s, :, :], accum=False, dispatch="tcgen05", cta_group=1)
    declared, mma = issued_by_one(gemm)
    func = lowered(declared, declare, mma, params=(s,), warpgroups=None)
    machine = Machine(func, {}, {"s": stage})
    random = np.random.default_rng(0)
    machine.shared[:] = random.integers(0, 255, machine.shared.shape, np.uint8)
    machine.run()
    assert [i.op for i in machine.issued] == ["tcgen05.mma"] * (k // 16)
    for step, issued in enumerate(machine.issued):
        thread = issued.threads[0]
        d, a_desc, b_desc, idesc, accumulate = (int(arg[thread]) for arg in issued.args)
        assert (len(issued.threads), d, accumulate) == (1, 64, int(step > 0))
        shape = InstructionDescriptor.decode(idesc, "f16", 1)
        assert (shape.m, shape.n, shape.a.dtype, shape.b.dtype, shape.d) == (128, rows_b, dtype, dtype, "float32")
        window = slice(16 * step, 16 * step + 16)
        for desc, buffer, rows in ((a_desc, a, 128), (b_desc, b, rows_b)):
            assert operand(machine, desc, rows, 16, dtype).tobytes() == np.ascontiguousarray(
                machine.tile(buffer)[stage][:, window]).tobytes()


def words(group: int, rows_b: int, dtype: str = "float16", columns: int = 256) -> list[int]:
    """The operands of the first instruction of a 128-row product with K = 64."""
    pool = Pool()
    pool.alloc("Asmem", (128, 64), dtype, swizzled((128, 64), dtype))
    pool.alloc("Bsmem", (rows_b, 64), dtype, swizzled((rows_b, 64), dtype))
    declare, (a, b) = pool.commit()
    declared, mma = issued_by_one(call("gemm_async", tmem()[:, :columns], a, b, accum=True, cta_group=group))
    issued = Machine(lowered(declared, declare, mma, warpgroups=None), {}).run().issued[0]
    assert issued.attrs["cta_group"] == group
    return [int(arg[0]) for arg in issued.args]


def test_descriptors_match_reference_constants():
    """Two reference instruction descriptors, and the fields of a K-major operand with 128-byte swizzle."""
    assert words(1, 128, columns=128)[3] == 0x08200010
    d, a_desc, b_desc, idesc, accumulate = words(2, 128)
    assert (d, idesc, accumulate) == (64, 0x10400010, 1)
    assert a_desc == (2 << 61) | (1 << 46) | (64 << 32) | (1 << 16)
    assert b_desc == a_desc + (128 * 128 >> 4)
    assert words(1, 128, "bfloat16", 128)[3] == 0x08200010 | 1 << 7 | 1 << 10


def test_accum_applies_to_the_first_instruction_only():
    """`accum` may be a condition or an integer of the kernel, or a Python truth value."""
    pool = Pool()
    pool.alloc("Asmem", (128, 32), layout=swizzled((128, 32), mode=SwizzleMode.SWIZZLE_64B_ATOM))
    declare, (a,) = pool.commit()
    k = var("k")
    for accum, value, expected in (
        (binary("!=", k, 0), 0, [0, 1]), (binary("!=", k, 0), 5, [1, 1]), (k, 0, [0, 1]), (k, 1, [1, 1]),
        (0, 0, [0, 1]), (1, 0, [1, 1]), (False, 0, [0, 1]), (True, 0, [1, 1]),
    ):  # fmt: skip
        declared, mma = issued_by_one(call("gemm_async", tmem()[:, :128], a, a, accum=accum))
        func = lowered(declared, declare, mma, params=(k,), warpgroups=None)
        machine = Machine(func, {}, {"k": value}).run()
        assert [int(i.args[4][0]) for i in machine.issued] == expected


def test_descriptors_are_built_once_before_the_loop_over_k():
    pool = Pool()
    pool.alloc("Asmem", (128, 64), layout=swizzled((128, 64)))
    declare, (a,) = pool.commit()
    declared, mma = issued_by_one(call("gemm_async", tmem()[:, :128], a, a))
    (loop,) = [n for n in walk(lowered(declared, declare, mma, warpgroups=None).body) if isinstance(n, For)]
    assert not loop.parallel and loop.kind == "unrolled"
    assert not loop.var.name.startswith("k"), "that name is reserved for the K loops of the kernel"


def page(gemm: Stmt, declare: Stmt, guarded: bool = True) -> str:
    declared, mma = issued_by_one(gemm)
    with pytest.raises(TirxError) as error:
        lower(kernel(declared, declare, mma if guarded else gemm, warpgroups=None))
    return str(error.value)


def test_unsupported_products_are_reported_with_the_reason():
    pool = Pool()
    pool.alloc("A", (128, 64), layout=swizzled((128, 64)))
    pool.alloc("A64", (64, 64), layout=swizzled((64, 64)))
    pool.alloc("B24", (24, 64), layout=swizzled((24, 64)))
    pool.alloc("plain", (128, 64))
    pool.alloc("bf", (128, 64), "bfloat16", swizzled((128, 64), "bfloat16"))
    declare, (a, a64, b24, plain, bf) = pool.commit()
    c = tmem()
    assert "32 lanes of a warp" in page(Scope("thread", call("gemm_async", c[:, :128], a, a)), declare, False)
    assert "the call is in cta scope" in page(Scope("cta", call("gemm_async", c[:, :128], a, a)), declare, False)
    assert "multiple of 16 up to 256" in page(call("gemm_async", c[:, :24], a, b24), declare)
    assert "multiple of 32 up to 256" in page(call("gemm_async", c[:, :48], a, b24, cta_group=2), declare)
    assert "B must be float16" in page(call("gemm_async", c[:, :128], a, bf), declare)
    assert "tma_shared_layout" in page(call("gemm_async", c[:, :128], plain, plain), declare)
    half = page(call("gemm_async", tmem()[:64, :128], a64, a), declare)
    assert "does not map rows to lanes" in half and "S[((4, 16), 128) : ((32@TLane, 1@TLane), 1@TCol)]" in half
    g = gmem("G", (128, 64))
    assert "G is in global memory" in page(call("gemm_async", c[:, :128], a, g), declare)
    assert "no address" in page(call("gemm_async", _without_address()[:, :128], a, a), declare)


def _without_address():
    from dataclasses import replace

    return replace(tmem(), allocated_addr=None)


def test_mismatched_shapes_are_reported_when_the_call_is_read():
    pool = Pool()
    pool.alloc("A", (128, 64), layout=swizzled((128, 64)))
    pool.alloc("B", (128, 128), layout=swizzled((128, 128)))
    pool.alloc("staged", (4, 128, 64), layout=swizzled((4, 128, 64)))
    _, (a, b, staged) = pool.commit()
    c = tmem()
    for operands, options, text in (
        ((c[:, :128], a, b), {}, "A has K = 64, but B has K = 128"),
        ((c, a, a), {}, "C has 512 columns, but the product has 128"),
        ((c[:, :128], a, a), {"cta_group": 2}, "128 × cta_group 2 = 256"),
        ((c[:, :128], staged, a), {}, "index the stage"),
        ((c[:64, :128], a, a), {}, "A has 128 rows, but C has 64"),
        ((c[:, :128], a, a), {"accum": 0.5}, "accum of gemm_async must be a condition"),
        ((c[:, :128], a, a), {"acum": True}, "did you mean accum=?"),
    ):
        with pytest.raises(TirxError) as error:
            call("gemm_async", *operands, **options)
        assert text in str(error.value)


def test_the_accumulator_may_begin_at_any_column():
    pool = Pool()
    pool.alloc("A", (128, 64), layout=swizzled((128, 64)))
    declare, (a,) = pool.commit()
    w = var("w")
    declared, mma = issued_by_one(call("gemm_async", tmem()[:, w * 128 : w * 128 + 128], a, a))
    machine = Machine(lowered(declared, declare, mma, params=(w,), warpgroups=None), {}, {"w": 2}).run()
    assert {int(i.args[0][0]) for i in machine.issued} == {64 + 256}
    assert machine.issued[0].args[0].dtype == np.uint32


@pytest.mark.parametrize(
    "dtype, result, kind, depth",
    [("float8_e4m3fn", "float32", "f8f6f4", 32), ("float32", "float32", "tf32", 8), ("int8", "int32", "i8", 32)],
)
def test_instructions_for_other_operand_kinds(dtype, result, kind, depth):
    k = 128 // DataType(dtype).itemsize
    pool = Pool()
    pool.alloc("Asmem", (128, k), dtype, swizzled((128, k), dtype))
    declare, (a,) = pool.commit()
    declared, mma = issued_by_one(call("gemm_async", tmem(dtype=result)[:, :128], a, a))
    issued = Machine(lowered(declared, declare, mma, warpgroups=None), {}).run().issued
    assert len(issued) == k // depth == 4 and {i.attrs["kind"] for i in issued} == {kind}
    shape = InstructionDescriptor.decode(int(issued[0].args[3][0]), kind, 1)
    assert (shape.a.dtype, shape.d, shape.depth) == (dtype, result, depth)
    assert [int(i.args[1][0]) - int(issued[0].args[1][0]) for i in issued] == [0, 2, 4, 6]

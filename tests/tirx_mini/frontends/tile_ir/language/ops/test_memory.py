"""Loads, stores, gathers, atomics and views, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tirx_mini.arguments import ArgumentError

from ..programs import Programs

A = np.arange(60, dtype=np.int32).reshape(6, 10)


@pytest.mark.parametrize(("index", "shape", "order"), [
    ((0, 0), (4, 8), "'C'"), ((1, 1), (4, 8), "'C'"), ((0, 1), (2, 4), "'F'"), ((2, 0), (4, 2), "(1, 0)"),
])  # fmt: skip
def test_a_load_pads_what_lies_beyond_the_array(
    programs: Programs, index: tuple[int, ...], shape: tuple[int, ...], order: str
) -> None:
    got = programs.value(f"ct.load(a, {index}, {shape}, order={order}, padding_mode=ct.PaddingMode.ZERO)", a=A)
    source = A if order == "'C'" else A.T
    padded = np.zeros((64, 64), np.int32)
    padded[: source.shape[0], : source.shape[1]] = source
    (i, j), (m, n) = index, shape
    assert got == str(padded[i * m : (i + 1) * m, j * n : (j + 1) * n].tolist())


def test_a_store_leaves_out_what_lies_beyond_the_array(programs: Programs) -> None:
    a = np.zeros((6, 10), np.float32)
    programs.run("ct.store(a, (1, 1), ct.ones((4, 8), ct.float32))", a=a)
    wanted = np.zeros((6, 10))
    wanted[4:, 8:] = 1
    np.testing.assert_array_equal(a, wanted)


def test_stores_convert(programs: Programs) -> None:
    a = np.zeros(4, ml_dtypes.bfloat16)
    programs.run("ct.store(a, 0, ct.arange(4, dtype=ct.int32))", a=a)
    assert a.tolist() == [0, 1, 2, 3]


def test_gather_and_scatter(programs: Programs) -> None:
    a, b = A.copy(), np.zeros((8, 8), np.int32)
    body = """
    rows = ct.arange(8, dtype=ct.int32) - 1
    columns = ct.arange(4, dtype=ct.int32) * 3
    t = ct.gather(a, (rows[:, None], columns[None, :]), mask=rows[:, None] != 2, padding_value=-5)
    ct.scatter(b, (ct.arange(8, dtype=ct.int32)[:, None], ct.arange(4, dtype=ct.int32) * 2 + 1), t)
    """
    programs.run(body, a=a, b=b)
    for i in range(8):
        for j in range(4):
            inside = 0 <= i - 1 < 6 and 3 * j < 10 and i - 1 != 2
            assert b[i, 2 * j + 1] == (A[i - 1, 3 * j] if inside else -5)
    assert not b[:, ::2].any()


def test_slices_and_views_of_arrays(programs: Programs) -> None:
    body = """
    part = a.slice(0, n, 5)
    print(part.shape, ct.load(part, (0, 0), (1, 4)))
    view = a.tiled_view((2, 4), traversal_steps=(1, 4), padding_mode=ct.PaddingMode.ZERO)
    print(view.num_tiles(0), view.load((1, 2)))
    raw = a.get_raw_memory()
    print(raw.load_offset(ct.arange(4, dtype=ct.int32) * 11))
    print(ct.num_tiles(a, 1, (2, 4)), a.strides, a.dtype == ct.int32)
    sparse = ct.load_advanced_indexing(a, (ct.arange(2, dtype=ct.int32) * 3, ct.Slice(n, 4)))
    print(sparse)
    """
    printed = programs.run(body, a=A, n=2).splitlines()
    assert printed == [
        "(3, 10) [[20, 21, 22, 23]]", "6 [[18, 19, 0, 0], [28, 29, 0, 0]]", "[0, 11, 22, 33]", "3 (10, 1) True",
        "[[2, 3, 4, 5], [32, 33, 34, 35]]",
    ]  # fmt: skip


def test_a_pointer_makes_an_array_of_another_shape(programs: Programs) -> None:
    body = """
    flat = ct.Array.from_foreign(a.foreign_pointer, (60,), (1,))
    print(ct.load(flat, (n,), (4,)), flat.shape)
    """
    assert programs.run(body, a=A, n=14) == "[56, 57, 58, 59] (60,)"


def test_atomics(programs: Programs) -> None:
    counts, best = np.zeros(4, np.int32), np.full(1, -100, np.int64)
    body = """
    ct.atomic_add(counts, ct.arange(8, dtype=ct.int32) % 4, 1)
    ct.atomic_max(best, 0, ct.bid(0) * 7)
    old = ct.atomic_cas(counts, 9, 5, 6)
    print(old)
    counts.tiled_view(4).atomic_store_add(0, ct.ones((4,), ct.int32))
    """
    assert programs.run(body, grid=(3,), counts=counts, best=best) == "5\n5\n5"
    assert counts.tolist() == [9, 9, 9, 9]
    assert best[0] == 14


def test_arrays_of_every_dtype_come_and_go(programs: Programs) -> None:
    for dtype in ("bool", "int8", "uint16", "uint32", "int64", "float16", "float64", ml_dtypes.float8_e5m2):
        a = np.ones(8, dtype)
        b = np.zeros(8, dtype)
        programs.run("ct.store(b, 0, ct.load(a, 0, 8))", a=a, b=b)
        np.testing.assert_array_equal(a, b)


def test_strides_are_honoured(programs: Programs) -> None:
    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    b = np.zeros((4, 4), np.float32)
    programs.run("ct.store(b, (0, 0), ct.load(a, (0, 0), (4, 4)))", a=a.T[::2, ::2], b=b)
    np.testing.assert_array_equal(b, a.T[::2, ::2])


def test_atomic_operations_at_offsets(programs: Programs) -> None:
    a = np.zeros(8, np.int32)
    body = """
    memory = a.get_raw_memory()
    offset = ct.arange(8, dtype=ct.int32)
    memory.atomic_add_offset(offset % 2, 1, mask=offset < 6)
    memory.atomic_max_offset(2, 9)
    memory.atomic_min_offset(3, -2)
    memory.atomic_xchg_offset(4, 5)
    memory.atomic_or_offset(5, 6)
    memory.atomic_and_offset(5, 3)
    memory.atomic_xor_offset(5, 7)
    print(memory.atomic_cas_offset(ct.arange(2, dtype=ct.int32) + 6, 0, 8, mask=offset.extract(0, 2) < 1), memory.dtype)
    """
    assert programs.run(body, a=a) == "[0, 0] int32"
    assert a.tolist() == [3, 3, 9, -2, 5, 5, 8, 0]


def test_fields_of_arguments(programs: Programs) -> None:
    """Numbers in the fields of data classes and named tuples are known at run time; annotated ones are constants."""
    module = programs.load("""
        from typing import NamedTuple

        @dataclass(frozen=True)
        class Inner:
            array: object
            width: ct.Constant[int]

        class Outer(NamedTuple):
            inner: Inner
            scale: int

        @ct.kernel
        def kernel(given):
            tile = ct.load(given.inner.array, 0, given.inner.width)
            ct.store(given.inner.array, 0, tile * given.scale)
    """)
    a = np.arange(4, dtype=np.int32)
    for scale in (3, 4):
        programs.launch(module.kernel, module.Outer(module.Inner(a, 4), scale))
    assert a.tolist() == [0, 12, 24, 36]
    assert len(module.kernel.programs) == 1


def test_lists_of_arrays(programs: Programs) -> None:
    """A number that is known at run time chooses an array, with its extents; each operation is one of several."""
    a, b, c = np.arange(6, dtype=np.int32), np.arange(8, 12, dtype=np.int32), np.zeros((2, 3), np.int32)
    body = """
    for i in range(len(x)):
        rows = x[i].slice(0, 1, 3)
        ct.store(c, (i, 0), x[i].shape[0] * 10 + ct.num_tiles(x[i], 0, 4))
        ct.store(c, (i, 1), ct.sum(rows.tiled_view(2).load(0)))
        ct.store(c, (i, 2), ct.gather(x[0], i) + x[1].shape[0])
        ct.store(x[i], 0, ct.full((2,), i - 5, x[i].dtype))
        ct.atomic_add(x[i], 3, 100)
    """
    kernel = programs.kernel(body, "x, c")
    programs.launch(kernel, [a, b], c)
    assert c.tolist() == [[62, 3, 4], [41, 19, -1]]
    assert (a.tolist(), b.tolist()) == ([-5, -5, 2, 103, 4, 5], [-4, -4, 10, 111])


@pytest.mark.parametrize(("given", "words"), [
    ([], "which must consist of arrays"), ([1, 2], "which must consist of arrays"),
    ([A, A.ravel()], "one number of dimensions"), ([A, A.astype(np.int8)], "one dtype"),
])  # fmt: skip
def test_a_list_of_something_else(programs: Programs, given: list[object], words: str) -> None:
    kernel = programs.kernel("pass", "x")
    with pytest.raises(ArgumentError, match=words):
        programs.launch(kernel, given)


def test_an_array_that_two_paths_assign(programs: Programs) -> None:
    a, b = np.arange(4, dtype=np.int32), np.arange(4, 8, dtype=np.int32)
    body = """
    if n > 2:
        x, y = a, b
    else:
        x, y = b, a
    ct.store(x, 0, ct.load(y, 0, 4) * n)
    """
    programs.run(body, a=a, b=b, n=2)
    assert b.tolist() == [0, 2, 4, 6]
    programs.run(body, a=a, b=b, n=3)
    assert a.tolist() == [0, 6, 12, 18]


def test_arrays_that_a_loop_exchanges(programs: Programs) -> None:
    a, b = np.zeros(4, np.int32), np.zeros(4, np.int32)
    body = """
    source, target = a, b
    for i in range(n):
        ct.store(target, 0, ct.load(source, 0, 4) + 1)
        source, target = target, source
    """
    programs.run(body, a=a, b=b, n=5)
    assert (a.tolist(), b.tolist()) == ([4] * 4, [5] * 4)

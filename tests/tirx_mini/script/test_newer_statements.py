"""Statements of TVM 0.26: ids that nobody names, attributes, loops with pragmas, the bits of values."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tests.tirx_mini.script.reading import error_in, goes_round, line_of, printed
from tirx_mini.ir import PrimFunc, TirxError, structural_equal
from tirx_mini.passes import lower
from tirx_mini.script import from_source

pytestmark = pytest.mark.compiler


def of(body: str, dtype: str = "int32", ids: str = "bx = T.cta_id([1])\n    tx = T.thread_id([128])") -> PrimFunc:
    return from_source(f"""
@T.prim_func
def kernel(A: T.Buffer((128,), "{dtype}")):
    T.device_entry()
    {ids}
    {body}
""")


def run(kernel: PrimFunc, dtype: str = "int32") -> np.ndarray:
    a = np.arange(128).astype(dtype)
    report = tirx_mini.simulate(kernel, a)
    assert report.verdict == "ok" and not report.findings
    return a


def test_ids_that_are_not_assigned_still_declare_their_units() -> None:
    kernel = of("A[tx] = tx", ids="T.cta_id([1])\n    T.warp_id([4])\n    tx = T.thread_id([128])")
    launch = lower(kernel).launch
    assert launch is not None and (launch.grid, launch.threads) == ((1, 1, 1), 128)
    goes_round(kernel)


def test_a_value_that_is_not_used_is_still_a_mistake() -> None:
    error = error_in("Tx.cuda.cta_sync()\nlane_id")
    assert "the value of `lane_id` is not used" in error.diagnostic.message


def test_a_preferred_cluster_is_kept_and_the_launch_uses_the_required_one() -> None:
    kernel = of("A[tx] = cb", ids="T.cta_id([4])\n    cb = T.cta_id_in_cluster([2], preferred=[4])\n"
                "    tx = T.thread_id([128])")  # fmt: skip
    launch = lower(kernel).launch
    assert launch is not None and launch.cluster == (2, 1, 1)
    assert "preferred=[4]" in kernel.script()
    goes_round(kernel)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c = Tx.cta_id_in_cluster([2, 1], preferred=[4])", "preferred= has 1 extents, but the ctas have 2"),
        ("c = Tx.cta_id([4], preferred=[4])", "the grid has none"),
        ("c = Tx.cta_id_in_cluster([2], preferred=[0])", "a positive integer"),
    ],
)
def test_a_preferred_cluster_that_does_not_fit(text: str, message: str) -> None:
    error = error_in(text)
    assert message in error.diagnostic.message and line_of(error).startswith("Tx.cta_id")


def test_the_index_of_a_cta_in_its_pair() -> None:
    ids = (
        "bx = T.cta_id([8])\n    cb = T.cta_id_in_cluster([4])\n    p = T.cta_id_in_pair()\n    tx = T.thread_id([16])"
    )
    kernel = of("A[bx * 16 + tx] = p", ids=ids)
    goes_round(kernel)
    assert (run(kernel).reshape(8, 16) == np.array([0, 1] * 4)[:, None]).all()
    with pytest.raises(TirxError, match="needs clusters of an even number of CTAs, but these have 1"):
        lower(of("A[tx] = p", ids="T.cta_id([1])\n    p = T.cta_id_in_pair()\n    tx = T.thread_id([128])"))


def test_attributes_have_no_effect_and_stay_in_the_text() -> None:
    assert printed('Tx.attr({"tirx.a": 1})') == 'Tx.attr({"tirx.a": 1})'
    kernel = of('with T.attr(0, "pragma_x", 2):\n        A[tx] = 1')
    assert 'with T.attr({"pragma_x": 2}):' in kernel.script()
    assert "// attr: pragma_x = 2" in goes_round(kernel)
    assert (run(kernel) == 1).all()


def test_the_attribute_that_tvm_prints_for_the_device_entry() -> None:
    text = 'def kernel(A: T.Buffer((128,), "int32")):\n    {}\n    T.cta_id([1])\n    tx = T.thread_id([128])'
    text += "\n    A[tx] = 1"
    entries = ("T.device_entry()", 'T.attr({"tirx.device_entry": T.bool(True)})')
    first, second = (from_source("@T.prim_func\n" + text.format(entry)) for entry in entries)
    assert structural_equal(first, second)


def test_an_attribute_without_a_key() -> None:
    assert "the keys of its attributes as strings" in error_in("Tx.attr(0)").diagnostic.message


@pytest.mark.parametrize(
    ("loop", "pragma"),
    [
        ("T.serial(4, unroll=True)", "#pragma unroll\n"),
        ("T.serial(4, unroll=False)", "#pragma unroll 1\n"),
        ('T.serial(4, annotations={"pragma_unroll": True})', "#pragma unroll\n"),
        ('T.serial(0, 4, annotations={"disable_unroll": True})', "#pragma unroll 1\n"),
    ],
)
def test_a_serial_loop_asks_the_compiler_to_unroll_it_or_not(loop: str, pragma: str) -> None:
    kernel = of(f"for i in {loop}:\n        A[tx] = A[tx] + i")
    assert pragma in goes_round(kernel)
    assert (run(kernel) == np.arange(128) + 6).all()


POLL = """
for i in range(10):
        if A[tx] > 20:
            continue
        A[tx] = A[tx] + 7
        if A[tx] > 30:
            break
"""


def test_break_and_continue() -> None:
    kernel = of(POLL.strip())
    goes_round(kernel)
    want = np.arange(128)
    for _ in range(3):
        want = np.where(want > 20, want, want + 7)
    assert (run(kernel) == want).all()


def test_the_bits_of_a_value() -> None:
    kernel = of('A[tx] = T.reinterpret("int32", T.reinterpret("float32", A[tx] + 0x3F800000) * T.float32(2))')
    assert "tvm_builtin_reinterpret<float, int>(" in goes_round(kernel)
    want = ((np.arange(128) + 0x3F800000).astype(np.int32).view(np.float32) * np.float32(2)).view(np.int32)
    assert (run(kernel) == want).all()


@pytest.mark.parametrize(("dtype", "value"), [("uint16", 0x3C00), ("uint64", 7)])
def test_the_bits_of_values_of_other_sizes(dtype: str, value: int) -> None:
    other = {"uint16": "float16", "uint64": "float64"}[dtype]
    kernel = of(
        f'A[tx] = T.reinterpret("{dtype}", T.reinterpret("{other}", T.{dtype}({value}))) + T.{dtype}(tx)', dtype
    )
    goes_round(kernel)
    assert (run(kernel, dtype) == value + np.arange(128)).all()


@pytest.mark.parametrize("text", ['Tx.reinterpret("uint16", reg[0])', 'Tx.reinterpret("bool", reg[0])'])
def test_bits_of_another_size(text: str) -> None:
    error = error_in(f"x = {text}")
    assert "which has another size" in error.diagnostic.message and "Tx.cast" in (error.diagnostic.hint or "")


@pytest.mark.parametrize(("condition", "copied"), [("tx < 100", 100), ("-1", 128), ("True", 128), ("False", 0)])
def test_a_call_under_a_condition(condition: str, copied: int) -> None:
    kernel = of(f"""box = T.alloc_shared((128,), "int32")
    box[tx] = 7
    T.cuda.cta_sync()
    T.ptx.cp_async(box.ptr_to([tx]), A.ptr_to([tx]), 4, predicate={condition})
    T.ptx.cp_async.commit_group()
    T.ptx.cp_async.wait_group(0)
    A[tx] = box[tx] + 1""")
    numbers = np.arange(128)
    np.testing.assert_array_equal(run(kernel), np.where(numbers < copied, numbers, 7) + 1)
    goes_round(kernel)

"""The results of texts: copies of arguments, the first different element, and what else may part two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.tirx_mini.frontends.ptx.programs import entry
from tirx_mini import TensorMap
from tirx_mini.diagnose import Finding, Report
from tirx_mini.frontends.ptx.differing import differing
from tirx_mini.frontends.ptx.programs import Entry, read_ptx
from tirx_mini.frontends.ptx.results import arrays_in, copied, decided_by_order, difference, rounds, stores_to
from tirx_mini.frontends.ptx.runs import Run
from tirx_mini.frontends.ptx.texts import Role
from tirx_mini.ir import Span
from tirx_mini.records import replace


def kernel(body: str, parameters: str = "x") -> Entry:
    return read_ptx(entry(parameters, body)).entry("k")


def test_arguments_are_copied_with_all_their_arrays() -> None:
    x, y = np.arange(6.0).reshape(2, 3).T, np.zeros(4, np.float32)
    args = [x, 3, TensorMap(y, box=(4,)), [x, None], (y, 2.5)]
    copies = copied(args)
    found = arrays_in(copies, ["a", "n", "k_param_2", "list", "pair"])
    assert list(found) == ["a", "param_2", "list_0", "pair_0"]
    assert found["a"] is found["list_0"] and found["a"] is not x and (found["a"] == x).all()
    assert found["a"].strides == x.strides and found["param_2"] is found["pair_0"]
    assert copies[1] == 3 and copies[3][1] is None and copies[4][1] == 2.5
    found["pair_0"][0] = 7
    assert not y.any()


@pytest.mark.torch
def test_tensors_are_copied() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(4, dtype=torch.bfloat16)
    (copy,) = copied([x])
    copy[2] = 3
    found = difference(arrays_in([x], ["x"]), arrays_in([copy], ["x"]), False)
    assert found is not None and (found.element, found.one, found.other) == ("x[2]", 1.0, 3.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
def test_rounding_is_relative_to_the_largest_value(dtype: Any) -> None:
    one = np.array([100.0, 1.0, np.nan, np.inf], np.float64).astype(dtype)
    near = one.copy()
    near[1] += one[0] * float(ml_dtypes.finfo(dtype).eps)
    far = one.copy()
    far[1] += one[0] * 20 * float(ml_dtypes.finfo(dtype).eps)
    assert difference({"x": one}, {"x": one.copy()}, False) is None
    assert difference({"x": one}, {"x": near}, True) is None
    assert difference({"x": one}, {"x": near}, False) is not None
    for rounded in (False, True):
        found = difference({"x": one}, {"x": far}, rounded)
        assert found is not None and found.index == (1,)
    infinite = one.copy()
    infinite[0] = np.inf
    assert difference({"x": one}, {"x": infinite}, True) is not None


ADDRESS = "ld.param.u64 %d0, [x];\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("st.global.u32 [%d0], 1;", False),
        ("atom.global.add.u32 %r1, [%d0], 1;", False),
        ("atom.global.add.u32 %r1, [%d0], 1; st.global.u32 [%d0+4], %r1;", True),
        ("red.global.add.u32 [%d0], 1;", False),
        ("red.global.add.f32 [%d0], %f1;", True),
        ("red.global.max.s32 [%d0], %r1;", False),
        ("mov.u64 %d1, %clock64;", True),
        ("mov.u32 %r1, %smid;", True),
        ("mov.u32 %r1, %tid.x;", False),
        ("ld.volatile.global.u32 %r1, [%d0];", True),
        ("ld.acquire.gpu.global.u32 %r1, [%d0];", True),
        ("ld.global.u32 %r1, [%d0];", False),
    ],
)
def test_what_the_order_of_threads_decides(body: str, expected: bool) -> None:
    assert decided_by_order(kernel(ADDRESS + body).kernel) is expected


def test_products_on_tensor_cores_round() -> None:
    product = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g0, %g1}, {%g2}, {%g3}, {%g0, %g1};"
    assert rounds(kernel(product).kernel) and not rounds(kernel("mul.f64 %g0, %g1, %g2;").kernel)


def test_the_stores_of_an_array_are_those_that_may_point_into_it() -> None:
    body = ADDRESS + "ld.param.u64 %d1, [y];\nst.global.u32 [%d0], 1;\nst.global.u32 [%d1], 1;\nst.global.u32 [%d0], 2;"
    arrays = [np.zeros(4, np.uint32), np.zeros(4, np.uint32)]
    lowered = kernel(body, "x y").lowered(arrays, grid=1, block=1)
    lines = {name: [span.line for span in stores_to(lowered, name)] for name in ("x", "y", "z")}
    assert len(lines["x"]) == 2 and len(lines["y"]) == 1 and not lines["z"]
    assert lines["x"][0] + 1 == lines["y"][0] == lines["x"][1] - 1


PLACES = (Span("k.cu", 3), Span("k.cu", 8))


def finding(own: Run, none: Run, places: Sequence[Span] = PLACES[:1]) -> Finding | None:
    return differing(
        {Role.TIME: own, Role.ORDINARY: none}, kernel(ADDRESS + "st.global.u32 [%d0], 1;"), lambda role, found: places
    )


def test_a_difference_is_at_its_store() -> None:
    ended = kernel(ADDRESS + "st.global.u32 [%d0], 1;").simulate([np.zeros(2, np.uint32)], grid=1, block=1, gpu="h100")
    assert ended.ok
    one, two = Run(ended, {"x": np.array([1, 2])}), Run(ended, {"x": np.array([1, 3])})
    assert finding(one, one) is None
    found = finding(one, two)
    assert found is not None and found.message == "x[1] is 3 without optimisation, and 2 with optimisation"
    assert found.span == PLACES[0] and found.details["where"] == "x[1]"
    several = finding(one, two, PLACES)
    assert several is not None and several.span == PLACES[1]
    assert ("the element may be stored here, too", PLACES[0]) in several.details["notes"]
    somewhere = finding(one, two, ())
    assert somewhere is not None and somewhere.span is None


def test_optimised_text_that_does_not_end_is_a_difference_where_the_other_one_ends() -> None:
    ended = kernel("ret;").simulate([np.zeros(2, np.uint32)], grid=1, block=1, gpu="h100", checks=False)
    loops = Finding("runaway-loop", "error", "warp 0 never leaves this loop", PLACES[0])
    stuck = Run(Report("deadlock", (loops,)), {})
    found = finding(stuck, Run(ended, {}))
    assert found is not None and found.span == PLACES[0]
    assert found.message == (
        "k runs to its end without optimisation, and does not with it: warp 0 never leaves this loop"
    )
    assert finding(stuck, stuck) is None
    assert finding(Run(replace(ended, verdict="incomplete"), {}), Run(ended, {})) is None

"""Loops of MMAs that are known again: everything is as if each thread executed them."""

from __future__ import annotations

from typing import Any

import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.sim import Gpu
from tirx_mini.sim.engines import WarpWgmma


@pytest.mark.parametrize(("step", "data"), [(3, True), (9, False)])
def test_the_report_and_the_results_are_the_same(step: int, data: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = load_kernels(default_kernels())[step](*STEPS[step].shape(512))
    a, b, d = make_arguments(kernel)
    other = d.copy()
    found: list[bool] = []
    known = Gpu.series

    def observed(gpu: Any, w: Any, key: Any) -> Any:
        times = known(gpu, w, key)
        found.append(times is not None)
        return times

    monkeypatch.setattr(Gpu, "series", observed)
    one = tvm.simulate(kernel, a, b, d, data=data, jobs=1)
    monkeypatch.setattr(Gpu, "series", lambda gpu, w, key: None)
    assert tvm.simulate(kernel, a, b, other, data=data, jobs=1) == one
    assert d.tobytes() == other.tobytes()
    assert sum(found) > len(found) / 2 > 0


def test_a_series_of_a_warpgroup_is_the_same_too(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = load_kernels(default_kernels(), "sm90")[8](*STEPS[8].shape(512))
    a, b, d = make_arguments(kernel)
    other = d.copy()
    found: list[bool] = []
    known = WarpWgmma.again

    def observed(wgmma: Any, key: Any, arrays: Any) -> bool:
        found.append(known(wgmma, key, arrays))
        return found[-1]

    monkeypatch.setattr(WarpWgmma, "again", observed)
    one = tvm.simulate(kernel, a, b, d, gpu="h100", jobs=1)
    monkeypatch.setattr(WarpWgmma, "again", lambda wgmma, key, arrays: False)
    assert tvm.simulate(kernel, a, b, other, gpu="h100", jobs=1) == one
    assert d.tobytes() == other.tobytes()
    assert sum(found) > len(found) / 2 > 0

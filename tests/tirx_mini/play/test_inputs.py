"""The data and the exact product of a run are kept for the next one, and are never those of other arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.play.test_simulating import task
from tirx_mini.course import make_arguments
from tirx_mini.play import inputs as module
from tirx_mini.play.inputs import Inputs
from tirx_mini.report import exact_product
from tirx_mini.saved import load_json


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """The calls of a function of the module."""
    calls: list[Any] = []
    real = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(given) or real(*given))
    return calls


def test_arguments_are_made_once_and_are_the_callers(step4: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, inputs = counted(monkeypatch, "make_arguments"), Inputs()
    kernels = [load_json(task(step4, shape=shape).ir, {}) for shape in ((256, 256, 128), (256, 256, 64))]
    for kernel in (kernels[0], kernels[0], kernels[1]):
        got, expected = inputs.arguments(kernel), make_arguments(kernel)
        assert [array.tobytes() for array in got] == [array.tobytes() for array in expected]
        for array in got:
            array.fill(7)  # as a kernel may
    assert len(made) == 2


def test_a_product_is_computed_once_for_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, inputs = counted(monkeypatch, "exact_product"), Inputs()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((8, 4), dtype=np.float32).astype(np.float16) for _ in range(2))
    first = inputs.product(a, b)
    assert (first == exact_product(a, b)).all() and not first.flags.writeable
    assert inputs.product(a.copy(), b.copy()) is first and len(calls) == 1
    assert (inputs.product(b, a) == first.T).all() and len(calls) == 2
    a[3, 2] += 1
    assert (inputs.product(a, b) == exact_product(a, b)).all()


def test_what_is_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, inputs = counted(monkeypatch, "exact_product"), Inputs()
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    a = np.ones((16, 2), np.float16)
    assert (inputs.product(a, a) == inputs.product(a, a)).all() and len(calls) == 2

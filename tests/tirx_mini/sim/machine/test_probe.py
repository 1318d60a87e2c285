"""A probe sees what loads bring and MMAs read, and may change it; an excerpt runs some clusters alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tirx_mini.course import Shape, default_kernels, load_kernels
from tirx_mini.hardware import gpu_spec
from tirx_mini.passes import lower
from tirx_mini.sim import Probe, Question, Simulation

FOLDERS = {"b200": "sm100", "h100": "sm90"}


def launch(step: int, shape: Shape, gpu: str) -> tuple[Simulation, np.ndarray, np.ndarray, np.ndarray]:
    """A reference with data, A, B, and D of NaN."""
    rng = np.random.default_rng(3)
    m, n, k = shape
    a, b = (rng.standard_normal(each, dtype=np.float32).astype(np.float16) for each in ((m, k), (n, k)))
    d = np.full((m, n), np.nan, np.float16)
    func = lower(load_kernels(default_kernels(), FOLDERS[gpu])[step](*shape))
    return Simulation(func, (a, b, d), Question(gpu_spec(gpu))), a, b, d


class Watching(Probe):
    """Notes what it is told, and changes nothing."""

    def __init__(self) -> None:
        self.loads: list[tuple[int, int, bytes, np.ndarray]] = []
        self.reads: Counter[int] = Counter()
        self.products: Counter[tuple[int, int]] = Counter()

    def loaded(self, copy: Any, cta: Any, box: np.ndarray) -> np.ndarray:
        self.loads.append((copy.copier.slot, cta.number, box.tobytes(), copy.copier.addresses(copy.coords)))
        return box

    def read(self, smem: Any, low: int, high: int) -> None:
        self.reads[high - low] += 1

    def factor(self, cta: Any, unit: int) -> float:
        self.products[cta.number, unit] += 1
        return 1.0


@pytest.mark.parametrize(("gpu", "step", "unit"), [("b200", 7, 4), ("h100", 4, 0), ("h100", 7, 0)])
def test_a_probe_that_changes_nothing_sees_all_and_leaves_the_results(gpu: str, step: int, unit: int) -> None:
    simulation, a, b, d = launch(step, (128, 256, 128), gpu)
    probe = Watching()
    outcome = simulation.excerpt(range(simulation.image.launch.num_ctas), probe)
    assert outcome.fault is None and not outcome.blocked
    assert np.allclose(d, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-3, atol=1e-2)
    for slot, _, box, addresses in probe.loads:
        data = (a, b)[slot].tobytes()
        assert box == b"".join(data[address : address + 16] for address in addresses)
    assert Counter(slot for slot, *_ in probe.loads).keys() == {0, 1}
    assert {number for _, number in probe.products} == {unit} and probe.reads


def test_an_excerpt_is_what_its_clusters_do() -> None:
    simulation, a, b, d = launch(4, (256, 384, 128), "b200")
    assert simulation.excerpt([1, 5]).fault is None
    want = a.astype(np.float32) @ b.astype(np.float32).T
    there = np.isfinite(d)
    assert there.sum() == 2 * 128 * 128 and np.allclose(d[there], want[there], rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(("gpu", "step"), [("b200", 4), ("h100", 4)])
def test_products_and_loads_may_be_changed(gpu: str, step: int) -> None:
    class Doubling(Probe):
        def factor(self, cta: Any, unit: int) -> float:
            return 2.0

    class Negating(Probe):
        def loaded(self, copy: Any, cta: Any, box: np.ndarray) -> np.ndarray:
            return (-box.view(np.float16)).view(box.dtype) if copy.copier.slot == 0 else box

    simulation, a, b, d = launch(step, (128, 128, 128), gpu)
    for probe, factor in ((Doubling(), 2), (Negating(), -1)):
        simulation.excerpt([0], probe)
        assert np.allclose(d, factor * (a.astype(np.float32) @ b.astype(np.float32).T), rtol=1e-3, atol=2e-2)

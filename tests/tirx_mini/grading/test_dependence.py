"""Loads and products on which D depends, since they leave a mark in it, and others."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tirx_mini.grading.decoys import DECOYS
from tirx_mini import simulate
from tirx_mini.course import Shape, load_kernels, make_arguments, matches
from tirx_mini.grading import Seen, ahead, canonical, missing, observed
from tirx_mini.grading.dependence import MOST_SHARED, Dependence, Load, Marks, Unit, dependence, depth_of
from tirx_mini.grading.drawn import BLOCK, matrices, product_where
from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.sim import Question, Simulation

ROOT = Path(__file__).parents[3]


def found_in(kernel: PrimFunc, shape: Shape, spec: GpuSpec) -> Dependence:
    form, data = canonical(lower(kernel)), matrices(shape, "float16", 5)
    assert form.launch is not None
    clusters = range(form.launch.num_ctas // form.launch.cluster_size)
    found = dependence(Simulation(form, data, Question(spec)), data, clusters, 5)
    assert found is not None
    return found[0]


def reference(step: int, shape: Shape, folder: str = "sm100", sms: int = 4) -> PrimFunc:
    return load_kernels(ROOT / "kernels_ref", folder, sms=sms)[step](*shape)


@pytest.mark.parametrize("name", DECOYS)
def test_what_nothing_depends_on_is_not_what_a_step_teaches(name: str, tmp_path: Path) -> None:
    decoy = DECOYS[name]
    kernel, spec = decoy.kernel(tmp_path), gpu_spec(decoy.gpu).with_sms(decoy.sms)
    a, b, d = make_arguments(kernel)
    assert simulate(kernel, a, b, d, gpu=spec).ok and matches(a, b, d), "a decoy is a right kernel"
    facts = observed(canonical(lower(kernel)), spec, decoy.shape, "float16", 11)
    assert facts is not None
    seen = Seen(facts, 148 if decoy.step >= 6 else 10_000, 148, gpu_spec(decoy.gpu))
    problems = [*missing(decoy.step, seen), *ahead(decoy.step, seen)]
    assert any(decoy.said in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("folder", "step", "shape", "gpu"),
    [
        ("sm100", 5, (256, 256, 320), "b200"),
        ("sm100", 10, (512, 512, 256), "b200"),
        ("sm90", 9, (512, 256, 256), "h100"),
    ],
)
def test_every_load_and_every_product_of_a_reference_counts(folder: str, step: int, shape: Shape, gpu: str) -> None:
    found = found_in(reference(step, shape, folder), shape, gpu_spec(gpu).with_sms(4))
    assert found.loads and all(load.counts and load.used is not None for load in found.loads)
    assert found.multiplied == 1.0 and sum(found.owners.values()) == pytest.approx(1.0, abs=0.01)
    assert found.multipliers == found.issuing == found.owners.keys()


def test_a_load_of_another_tile_leaves_its_mark_there_and_nowhere_else() -> None:
    """CTAs side by side load the same rows of A: the marks of each are in its own columns of D."""
    found = found_in(reference(4, (128, 256, 128)), (128, 256, 128), gpu_spec("b200"))
    rows = {load.row for load in found.loads if load.operand == "A"}
    assert len(rows) == 4 and {load.to for load in found.loads} == {0, 1}


@pytest.mark.parametrize(
    ("shares", "consumers"),
    [
        ({(0, 0, 4): 0.5, (1, 1, 4): 0.5}, 1),
        ({(0, 0, 8): 0.3, (0, 0, 9): 0.3, (1, 2, 8): 0.2, (1, 2, 9): 0.2}, 2),
        ({(0, 0, 8): 0.3, (0, 0, 9): 0.02, (1, 2, 8): 0.68}, 1),
        ({(0, 0, 8): 0.1, (0, 0, 9): 0.1, (1, 2, 8): 0.8}, 1),
        ({}, 0),
    ],
)
def test_consumers_have_a_good_part_of_d_in_ctas_that_compute_most_of_it(
    shares: dict[Unit, float], consumers: int
) -> None:
    assert Dependence((), 1.0, shares, frozenset(shares)).consumers == consumers


def test_a_sum_of_two_warps_products_is_a_result_of_neither() -> None:
    both = frozenset({(0, 0, 4), (0, 0, 5)})
    found = Dependence((), 1.0, {(0, 0, 4): 0.1}, both)
    assert found.multipliers == both and found.consumers == 1


def loads(times: Iterable[tuple[float, float | None]], *, operand: str = "A", counts: bool = True) -> list[Load]:
    """Loads of the K tiles of one tile of D, each with the times of its issue and of its use."""
    return [
        Load(operand, 0, 0, 0, True, issued, (0, 64 * k), ("bar", k), 0, 64, counts=counts, used=used)
        for k, (issued, used) in enumerate(times)
    ]


def test_marks_lie_in_places_of_their_own() -> None:
    """Also where the same few elements are loaded again and again: then some loads get none, and count as nothing."""
    marks = Marks({0: "A"}, 64, np.dtype(np.float16), random.Random(3))
    cta: Any = SimpleNamespace(number=0, smem=object())
    copier = SimpleNamespace(slot=0, box_bytes=32, addresses=lambda coords: np.array([0, 16]))
    barrier = SimpleNamespace(place="bar", phase=0)
    for number in range(20):
        copy = SimpleNamespace(
            cta=cta, warp=0, issued=float(number), coords=(0, 0), offset=32 * number, copier=copier,
            targets=((cta, barrier),),
        )  # fmt: skip
        marks.loaded(copy, cta, np.zeros(2, np.complex128))
    places = [(load.row, load.column) for load in marks.loads if load.row >= 0]
    assert len(marks.loads) == 20 and 0 < len(places) == len(set(places)) <= MOST_SHARED


SERIAL = [(10.0 * k, 10.0 * k + 9) for k in range(8)]
DOUBLE = [(max(0.0, 10.0 * (k - 2) + 9.5), 10.0 * k + 9) for k in range(8)]
ONCE = [(0.0, 9.0), (0.0, 19.0), *((10.0 * k, 10.0 * k + 9) for k in range(2, 8))]


@pytest.mark.parametrize(("times", "depth"), [(SERIAL, 1), (DOUBLE, 2), (ONCE, 1), ([], 0), ([(0.0, None)], 0)])
def test_a_pipeline_is_as_deep_as_it_is_for_most_k_tiles(times: list[tuple[float, float | None]], depth: int) -> None:
    assert depth_of(loads(times)) == depth
    assert depth_of([*loads(times), *loads(SERIAL, operand="B")]) == min(depth or 1, 1)
    assert depth_of([*loads(times), *loads(DOUBLE, counts=False)]) == depth


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**36 - 1))
@settings(max_examples=40, deadline=None)
def test_the_product_is_computed_where_something_is_there(rows: int, columns: int, bits: int) -> None:
    there = np.array([bits >> n & 1 for n in range(rows * columns)], bool).reshape(rows, columns)
    elements = there.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)
    a, b, _ = matrices((rows * BLOCK, columns * BLOCK, 8), "float16", bits)
    want = (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16).astype(np.float32)
    found = product_where(a, b, elements)
    assert np.array_equal(np.isfinite(found), elements)
    assert np.allclose(found[elements], want[elements], rtol=1e-3, atol=1e-3)

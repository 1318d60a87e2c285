"""The exercises of the lesson on tensor expressions: what each schedule becomes, and that it computes the same.

pytest tests/lessons                            # lessons/tir_exercises.py
pytest tests/lessons --kernels kernels_ref      # the references
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini import te

ROOT = Path(__file__).parents[2]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def given() -> ModuleType:
    """The computations."""
    return load(ROOT / "lessons" / "tir_exercises.py")


@pytest.fixture(scope="module")
def solved(request: pytest.FixtureRequest, given: ModuleType) -> ModuleType:
    """The schedules under test."""
    kernels = request.config.getoption("--kernels")
    return load(ROOT / "kernels_ref" / "tir_exercises.py") if kernels else given


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def text(schedule: te.Schedule, args: list[te.Tensor]) -> str:
    return te.lower(schedule, args, simple_mode=True).script()


def convolved(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    rows, columns = (a - b + 1 for a, b in zip(image.shape, weights.shape, strict=True))
    turned = weights[::-1, ::-1]
    return sum(turned[i, j] * image[i : i + rows, j : j + columns] for i, j in np.ndindex(*turned.shape))


@pytest.mark.parametrize("which", ["plain", "tiled", "unrolled"])
@pytest.mark.parametrize(("places", "taps"), [((48, 64), (3, 5)), ((32, 16), (3, 3)), ((19, 17), (5, 2))])
def test_the_convolution_computes_the_same_under_every_schedule(given, solved, which, places, taps):
    c = given.convolution(places, taps)
    s = te.create_schedule(c.tensors[-1].op) if which == "plain" else getattr(solved, f"convolution_{which}")(c)
    image, weights = integers(*c.tensors[0].shape), integers(*taps, seed=1)
    out = np.full(places, np.nan, np.float32)
    te.build(s, c.args, "llvm")(image, weights, out)
    np.testing.assert_array_equal(out, convolved(image, weights))


def test_the_loops_of_the_convolution_differ_as_the_schedules_say(given, solved):
    c = given.convolution((24, 32), (3, 3))
    plain = text(te.create_schedule(c.tensors[-1].op), c.args)
    tiled = text(solved.convolution_tiled(c), c.args)
    unrolled = text(solved.convolution_unrolled(c), c.args)
    assert plain.count("for ") == 4 and "T.Broadcast" not in plain
    assert "range(3)" in tiled and "T.unroll" not in tiled
    assert unrolled.count("T.unroll(3)") == 2 and "range(3)" not in unrolled
    for each in (tiled, unrolled):
        assert "+ 16] = " in each, "the innermost loop is not a vector of 16 elements"
    assert te.check(solved.convolution_tiled(c), c.args) == []


def test_the_pipeline_is_one_pass_without_intermediate_buffers(given, solved):
    c = given.pipeline(32, 48)
    s = solved.pipeline_fused(c)
    printed = text(s, c.args)
    assert printed.count("for ") == 2, "the stages are computed in several passes"
    assert printed.count("T.alloc_buffer((1,)") == 2, "relu and norm take one element each"
    a, mean, inverse, scale = integers(32, 48), *(integers(48, seed=seed) for seed in (1, 2, 3))
    out = np.full((32, 48), np.nan, np.float32)
    te.build(s, c.args, "llvm")(a, mean, inverse, scale, out)
    np.testing.assert_array_equal(out, (np.maximum(a, 0) - mean) * inverse * scale)


@pytest.fixture(scope="module")
def runs(given, solved) -> dict[bool, tvm.Report]:
    """The matmul in the simulator, with padding and without."""
    found = {}
    for align in (False, True):
        c = given.matmul(64, 64, 64)
        a, b, out = integers(64, 64), integers(64, 64, seed=1), np.full((64, 64), np.nan, np.float32)
        found[align] = tvm.simulate(te.lower(solved.matmul_staged(c, align), c.args), a, b, out, gpu="h100")
        assert found[align].ok, str(found[align])
        np.testing.assert_array_equal(out, a @ b)
    return found


def test_the_matmul_has_blocks_of_32_by_32_threads_and_two_memories(given, solved):
    c = given.matmul(128, 128, 128)
    module = te.lower(solved.matmul_staged(c, align=True), c.args)
    printed = module.script()
    assert 'scope="shared"' in printed and 'scope="local"' in printed
    assert "strides=(33, 1)" in printed
    launch = tvm.compile(module, "sim").func.launch
    assert launch is not None and (launch.grid, launch.threads) == ((4, 4, 1), 1024)


def test_padding_removes_every_bank_conflict(runs):
    assert runs[False].stats["bank_conflicts"] > 0
    assert "bank_conflicts" not in runs[True].stats


def test_tensor_cores_compute_the_matmul(given, solved):
    c = given.matmul_half(64, 96, 64)
    module = te.lower(solved.matmul_tensor_cores(c), c.args)
    printed = module.script()
    assert "T.ptx.mma.sync(" in printed and printed.count('scope="shared"') == 2
    assert printed.count("strides=(72, 1)") == 2 or printed.count("strides=(40, 1)") == 2, "the rows are not padded"
    a, b = integers(64, 64).astype(np.float16), integers(64, 96, seed=1).astype(np.float16)
    out = np.full((64, 96), np.nan, np.float32)
    report = tvm.simulate(module, a, b, out, gpu="h100")
    assert report.ok, str(report)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))
    assert report.stats["flops"] == 2 * 64 * 96 * 64, "not all products are the tensor core's"

"""Our kernels in TVM 0.26's dialect become what TVM makes of them, as far as its stored facts go."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tirx_mini
from tirx_mini.compat.tvm import imports
from tirx_mini.sim import numpy_dtype

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KERNELS = sorted(path.stem for path in (BENCHMARKS / "dialect_kernels").glob("*.py"))


def test_no_difference_is_unexplained() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "dialects.py")], capture_output=True, text=True, check=False
    )  # fmt: skip
    last = done.stdout.splitlines()[-1]
    words = rf"{len(KERNELS)} kernels: (\d+) facts are equal, (\d+) differences are explained, 0 are not"
    found = re.fullmatch(words, last)
    assert found is not None and done.returncode == 0, done.stdout + done.stderr
    assert int(found[1]) > 4 * len(KERNELS)


def test_each_explanation_is_of_a_difference_that_exists() -> None:
    names = runpy.run_path(str(BENCHMARKS / "dialects.py"))
    stored = json.loads((BENCHMARKS / "dialect_facts.json").read_text(encoding="utf-8"))
    for entry in names["EXPLAINED"]:
        assert stored[entry.kernel].get(entry.fact, []) == entry.tvm != entry.ours


def test_a_changed_number_is_found() -> None:
    names = runpy.run_path(str(BENCHMARKS / "dialects.py"))
    stored = json.loads((BENCHMARKS / "dialect_facts.json").read_text(encoding="utf-8"))["mma"]
    changed = {**stored, "columns": [[256, 1]], "matrix descriptors": [[0, 32, 3]]}
    compared = {fact.fact: fact.why for fact in names["compare"]("mma", changed, stored)}
    assert [fact for fact, why in compared.items() if why is None] == ["columns", "matrix descriptors"]


@pytest.mark.parametrize("name", KERNELS)
def test_each_kernel_is_clean(name: str) -> None:
    with imports():
        kernel = runpy.run_path(str(BENCHMARKS / "dialect_kernels" / f"{name}.py"))["kernel"]
    report = tirx_mini.simulate(kernel, *(np.ones(p.shape, numpy_dtype(p.dtype)) for p in kernel.params))
    assert report.verdict == "ok" and not report.findings, str(report)


@pytest.mark.parametrize("name", ["chunks", "mma"])
def test_the_product_is_right(name: str) -> None:
    with imports():
        kernel = runpy.run_path(str(BENCHMARKS / "dialect_kernels" / f"{name}.py"))["kernel"]
    rng = np.random.default_rng(0)
    a, b, d = (np.zeros(p.shape, numpy_dtype(p.dtype)) for p in kernel.params)
    a[:], b[:] = (rng.standard_normal(x.shape) for x in (a, b))
    report = tirx_mini.simulate(kernel, a, b, d)
    assert report.verdict == "ok" and not report.findings, str(report)
    np.testing.assert_allclose(d, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-3, atol=1e-2)

"""Translation validation: the PTX that NVRTC makes of the references, read back, computes the same and is as clean."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.arguments import TensorMap
from tirx_mini.frontends.ptx.programs import read_ptx
from tirx_mini.ir import Buffer
from tirx_mini.ir import TensorMap as Encoded
from tirx_mini.passes import lower
from tirx_mini.runtime import emit

SIZES = {1: (128, 128, 64), 2: (128, 128, 128), 3: (256, 256, 128)}
LATER = {9: (256, 256, 256), 10: (512, 256, 256)}


@pytest.mark.compiler
@pytest.mark.parametrize("step", [1, 2, 3, 4, 7, 9, 10])
@pytest.mark.parametrize(("ladder", "arch", "gpu"), [("sm90", "sm_90a", "h100"), ("sm100", "sm_100a", "b200")])
def test_a_reference_reads_back_with_equal_values_and_the_same_verdict(
    ladder: str, arch: str, gpu: str, step: int
) -> None:
    (path,) = Path("kernels_ref", ladder).glob(f"step{step:02}_*.py")
    module = importlib.import_module(f"kernels_ref.{ladder}.{path.stem}")
    m, n, k = SIZES.get(step) or LATER.get(step) or (256, 256, 128)
    func = getattr(module, f"hgemm_v{step}")(m, n, k)
    rng = np.random.default_rng(step)
    arrays = {name: rng.standard_normal(shape).astype(np.float16) for name, shape in (("A", (m, k)), ("B", (n, k)))}
    expected, found = np.zeros((m, n), np.float16), np.zeros((m, n), np.float16)
    report = tvm.simulate(func, arrays["A"], arrays["B"], expected, gpu=gpu)
    assert report.ok
    arrays["D"] = found
    lowered = lower(func)
    text = tvm.compile(func, target=f"cuda:{arch}").source("ptx")
    args = []
    for param in emit(lowered, arch).params:
        if isinstance(param, Encoded):
            array = arrays[param.buffer.name]
            args.append(TensorMap(array, param.box, param.swizzle, param.dims, param.strides, param.l2_promotion))
        else:
            assert isinstance(param, Buffer)
            args.append(arrays[param.name])
    launch = lowered.launch
    assert launch is not None
    again = read_ptx(text).entry().simulate(
        args, grid=launch.grid, block=launch.threads, cluster=launch.cluster, smem=launch.smem_bytes, gpu=gpu
    )
    assert again.verdict == report.verdict and not again.findings
    np.testing.assert_array_equal(found, expected)

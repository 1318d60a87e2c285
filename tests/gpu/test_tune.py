"""`tune` on a chip: the best candidates are compiled, measured and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tirx_mini.__main__ import main
from tirx_mini.hardware import nearest_gpu
from tirx_mini.runtime import device_arch

pytestmark = pytest.mark.gpu

ARGS = ", ".join(["float16[512,512]"] * 3)


def test_the_best_candidates_are_measured(tmp_path: Path) -> None:
    import torch

    gpu = nearest_gpu(device_arch() or "", torch.cuda.get_device_name()).name.lower()
    result = tmp_path / "found.json"
    argv = ["tune", "kernels_ref/tile/gemm.py:gemm", "--args", ARGS, "--gpu", gpu, "--json", str(result)]
    assert main([*argv, "--set", "TILES[0]=64,128", "--set", "TILES[1]=64,128", "--rounds", "3"]) == 0
    found = json.loads(result.read_text(encoding="utf-8"))
    times = [(each["row_us"], each["alone_us"], each["registers"]) for each in found["candidates"]]
    assert len(times) == 5 and times == sorted(times) and all(value > 0 for row in times for value in row)
    assert found["device"] == torch.cuda.get_device_name() and found["chosen"] == found["candidates"][0]["assignment"]

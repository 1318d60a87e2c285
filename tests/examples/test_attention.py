"""Flash attention: right in the simulator without a finding, clean machine code, and mistakes in it are found."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc, structural_equal
from tirx_mini.script import from_source

FOLDER = Path(__file__).parents[2] / "examples" / "attention"
SOURCE = (FOLDER / "flash_attention.py").read_text(encoding="utf-8")
attention: Callable[..., PrimFunc] = runpy.run_path(str(FOLDER / "flash_attention.py"))["flash_attention"]


def inputs(shape: tuple[int, int, int], dtype: type = np.float16) -> list[np.ndarray]:
    """Q, K, V and a place for O."""
    random = np.random.default_rng(0)
    return [*(random.standard_normal(shape).astype(dtype) for _ in range(3)), np.zeros(shape, dtype)]


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """softmax(Q Kᵀ / √d) V in float64."""
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize(
    "shape, causal, dtype, schedules",
    [
        ((2, 256, 64), False, np.float16, 1),
        ((1, 512, 64), True, np.float16, 1),
        ((1, 256, 128), True, ml_dtypes.bfloat16, 3),
    ],
)
def test_it_is_right_under_every_schedule(
    shape: tuple[int, int, int], causal: bool, dtype: type, schedules: int
) -> None:
    q, k, v, out = inputs(shape, dtype)
    kernel = attention(*shape, causal=causal, dtype=np.dtype(dtype).name)
    report = tvm.simulate(kernel, q, k, v, out, schedules=schedules)
    assert report.verdict == "ok" and not report.findings, str(report)
    error = 2.0**-8 if dtype is not np.float16 else 2.0**-10
    np.testing.assert_allclose(out.astype(np.float64), reference(q, k, v, causal), rtol=4 * error, atol=4 * error)


def test_later_keys_do_not_reach_a_causal_query() -> None:
    shape = (1, 256, 64)
    q, k, v, out = inputs(shape)
    again = np.zeros_like(out)
    kernel = attention(*shape, causal=True)
    assert tvm.simulate(kernel, q, k, v, out).ok
    k[:, 150:], v[:, 150:] = 7, -7
    assert tvm.simulate(kernel, q, k, v, again).ok
    assert (out[:, :150] == again[:, :150]).all() and (out[:, 150:] != again[:, 150:]).any()


def test_what_is_printed_is_the_same_kernel() -> None:
    kernel = attention(2, 512, 128, causal=True)
    assert structural_equal(from_source(kernel.script()), kernel)


OUTER, FENCE = " " * 20, "Tx.ptx.tcgen05.fence.after_thread_sync()"
MISTAKES: dict[str, tuple[str, str, str]] = {
    "S overwrites P before it is multiplied": (
        f"{OUTER}            o_full.wait(t, j % 2)\n{OUTER}            {FENCE}\n{OUTER}            scores",
        f"{OUTER}            scores",
        "ok",  # one thread issues both products, with a commit between them: only a fence is missing, a warning
    ),
    "O is multiplied while it is scaled": ("p_full.init(2 * TILE)", "p_full.init(TILE)", ""),
    "factors are overwritten before they are read": (
        "                stat_empty.wait(t, (message + 1) % 2)\n", "", "",
    ),
    "O is stored before the last product": (
        f"{OUTER}o_full.wait(t, last)\n{OUTER}{FENCE}\n{OUTER}# All",
        f"{OUTER}# All",
        "hazard",
    ),
    "the factors of the softmax never come": (
        "                hand_over(t, needed(t) - 1, total)\n", "", "deadlock",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(mistake: str, tmp_path: Path) -> None:
    old, new, verdict = MISTAKES[mistake]
    assert SOURCE.count(old) == 1
    path = tmp_path / "wrong_attention.py"
    path.write_text(SOURCE.replace(old, new), encoding="utf-8")
    kernel = runpy.run_path(str(path))["flash_attention"](1, 256, 64)
    report = tvm.simulate(kernel, *inputs((1, 256, 64)))
    assert report.findings and verdict in ("", report.verdict)
    assert report.ok == (verdict == "ok") and (not report.ok or "TX203" in [f.code for f in report.findings])


@pytest.mark.parametrize(
    "arguments, message",
    [((1, 384, 64), "multiple of 256"), ((1, 256, 96), "64 or 128"), ((1, 256, 64, False, "float32"), "bfloat16")],
)
def test_other_sizes_are_an_error(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attention(*arguments)


@pytest.mark.compiler
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_it_compiles_without_warnings_and_spills(head_dim: int, causal: bool) -> None:
    exe = tvm.compile(tvm.IRModule({"main": attention(4, 4096, head_dim, causal)}), target="cuda:sm_100a")
    resources = exe.compiled.resources
    assert exe.compiled.warnings == ()
    assert (resources.stack_bytes, resources.spill_store_bytes, resources.spill_load_bytes) == (0, 0, 0)


def test_the_command_line_compares_with_numpy() -> None:
    command = [sys.executable, str(FOLDER / "run.py"), "--length", "256", "--causal"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert done.returncode == 0 and "no finding" in done.stdout and "largest error" in done.stdout, done.stderr
    wrong = subprocess.run([*command[:2], "--length", "100"], capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert wrong.returncode == 1 and "multiple of 256" in wrong.stderr

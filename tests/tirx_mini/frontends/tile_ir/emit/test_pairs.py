"""Programs whose tensor cores work in pairs of CTAs: `num_ctas=2` on Blackwell."""

from __future__ import annotations

import pytest
import torch

from kernels_ref.tile import batched_gemm, gemm
from tirx_mini.frontends.tile_ir.nv_tileas import pipeline_ops as pipe
from tirx_mini.tile_ir import ct, run, simulated


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(torch.float16) / 4


@pytest.mark.parametrize(
    ("shape", "tiles"),
    [((512, 256, 192), (128, 128, 64)), ((512, 500, 72), (256, 256, 32)), ((400, 136, 128), (128, 128, 64))],
)
def test_gemm(shape: tuple[int, int, int], tiles: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    m, n, k = shape
    a, b = random(m, k, seed=0), random(k, (n + 7) // 8 * 8, seed=1)[:, :n]
    c = torch.zeros((m, n), dtype=torch.float16)
    monkeypatch.setattr(gemm, "gemm_tile", gemm.gemm_tile.replace_hints(num_ctas=2))
    with simulated("b200", schedules=5) as reports:
        gemm.gemm(a, b, c, tiles=tiles)
    assert reports[0].ok and not reports[0].findings
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=2e-3, atol=5e-3)


def test_each_cta_keeps_its_half_of_b() -> None:
    matrix = torch.zeros((512, 512), dtype=torch.float16)
    args = (matrix, matrix, matrix.clone(), 128, 256, 64)
    program = run.compile(gemm.gemm_tile.replace_hints(num_ctas=2), args, "b200")
    text = program.text("nv_tileas", grid=(4, 2))
    assert "tensor<128x64xf16, #shared>, tensor<64x128xf16, #shared" in text and "multicast" not in text
    assert "ctas = 2" in text and "cta_group=2" in program.text("tir", grid=(4, 2))


def test_columns_of_b_that_are_stored_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """B is stored as its transpose: a half of it then has half of the rows in memory."""
    a, b = random(256, 64, seed=0), random(128, 64, seed=1)
    c = torch.zeros((256, 128), dtype=torch.float16)

    @ct.kernel(num_ctas=2)
    def product(A, B, C):
        acc = ct.zeros((128, 128), dtype=ct.float32)
        for k in range(2):
            right = ct.load(B, (ct.bid(1), k), shape=(128, 32))
            acc = ct.mma(ct.load(A, (ct.bid(0), k), shape=(128, 32)), ct.transpose(right), acc)
        ct.store(C, (ct.bid(0), ct.bid(1)), acc.astype(C.dtype))

    with simulated("b200", schedules=5) as reports:
        ct.launch(None, (2, 1), product, (a, b, c))
    assert reports[0].ok and not reports[0].findings
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, rtol=2e-3, atol=5e-3)
    dots = list(run.compile(product, (a, b, c), "b200").nv_tileas.find(pipe.async_dot))
    assert dots


def test_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = random(2, 256, 64, seed=0), random(2, 64, 128, seed=1)
    c = torch.zeros((2, 256, 128), dtype=torch.float16)
    monkeypatch.setattr(batched_gemm, "batched_gemm_tile", batched_gemm.batched_gemm_tile.replace_hints(num_ctas=2))
    with simulated("b200", schedules=5) as reports:
        batched_gemm.batched_gemm(a, b, c)
    assert reports[0].ok and not reports[0].findings
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=2e-3, atol=5e-3)

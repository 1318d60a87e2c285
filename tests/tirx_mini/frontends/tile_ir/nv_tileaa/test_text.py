"""nv_tileaa as text."""

from __future__ import annotations

from pathlib import Path

from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.ssa import parse_module, print_module, verify

GEMM = (Path(__file__).parent / "gemm.mlir").read_text()


def test_text_goes_through_a_module_unchanged():
    module = verify(parse_module(GEMM, [NV_TILEAA, *STANDARD]))
    assert print_module(module) == GEMM

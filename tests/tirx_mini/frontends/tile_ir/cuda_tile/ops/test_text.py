"""Every operation as text: printed, parsed, printed again; and texts in the published spellings."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings

from tests.tirx_mini.frontends.tile_ir import random_programs
from tirx_mini.frontends.tile_ir.cuda_tile import CUDA_TILE
from tirx_mini.frontends.tile_ir.ssa import parse_module, print_module, verify

EVERY_OP = (Path(__file__).parent / "every_op.mlir").read_text()


def normal(text: str) -> str:
    """Without differences of spacing."""
    return (
        " ".join(text.split())
        .replace("= ", "=")
        .replace(" =", "=")
        .replace("[ ", "[")
        .replace(" ]", "]")
        .replace(" [", "[")
        .replace(" ,", ",")
    )


def test_text_goes_through_a_module_unchanged():
    module = verify(parse_module(EVERY_OP, [CUDA_TILE]))
    printed = print_module(module)
    assert [normal(line) for line in printed.splitlines()] == [normal(line) for line in EVERY_OP.splitlines()]
    assert print_module(parse_module(printed, [CUDA_TILE])) == printed


def test_the_text_has_every_operation():
    module = parse_module(EVERY_OP, [CUDA_TILE])
    untested = {"pack", "unpack", "mmaf_scaled", "alloca"}
    assert {op.kind.mnemonic for op in module.walk()} | untested == set(CUDA_TILE.ops)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(random_programs.modules())
def test_random_programs_go_through_text_unchanged(module):
    text = print_module(verify(module))
    assert print_module(verify(parse_module(text, [CUDA_TILE]))) == text

"""Tensors with layouts as text."""

from __future__ import annotations

import pytest

from tirx_mini.frontends.tile_ir.layouts import LinearLayout, SharedLayout, TmemLayout, blocked, wgmma_accumulator
from tirx_mini.frontends.tile_ir.nv_tileaa import LAYOUTS, Layout, Tensor, parse_tensor
from tirx_mini.frontends.tile_ir.ssa import TYPE, Dialect, Module, Scalar, make, parse_module, print_module

TOY = Dialect("nv_tileas", types={"tensor": parse_tensor}, attributes=dict(LAYOUTS))
SOURCE = TOY.op("source", "", "result", "$type", infer=lambda op: op.attrs["type"], attrs={"type": TYPE})


@pytest.mark.parametrize(
    "layout",
    [
        None,
        SharedLayout(128),
        SharedLayout(64, (0, 1)),
        TmemLayout(),
        blocked((128, 64), warps=4, vector=8),
        wgmma_accumulator((128, 64), warps=8, warpgroups_m=2),
    ],
    ids=str,
)
def test_text_reads_back(layout: Layout | None) -> None:
    tensor = Tensor((128, 64), Scalar("f16"), layout)
    module = Module("m", (make(SOURCE, attrs={"type": tensor}), make(SOURCE, attrs={"type": tensor.of(Scalar("f32"))})))
    text = print_module(module)
    again = parse_module(text, [TOY])
    assert again.ops[0].result.type == tensor
    assert print_module(again) == text
    assert text.count("#nv_tileas.") == (layout is not None)


def test_permuted_shared_layouts_keep_their_bytes() -> None:
    assert SharedLayout(128).permuted((1, 0)) == SharedLayout(128, (0, 1))
    assert SharedLayout(128, (0, 1)).permuted((1, 0)) == SharedLayout(128)
    assert SharedLayout(128).permuted((0, 2, 1)).dims(3) == (0, 2, 1)


def test_a_tensor_in_registers_knows_its_layout() -> None:
    layout = blocked((64,), warps=1)
    assert isinstance(layout, LinearLayout)
    assert Tensor((64,), Scalar("f32"), layout).linear is layout

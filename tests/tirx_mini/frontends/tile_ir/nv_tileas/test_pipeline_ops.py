"""Asynchronous operations as text."""

from __future__ import annotations

import pytest

from tirx_mini.frontends.tile_ir.nv_tileaa import STANDARD
from tirx_mini.frontends.tile_ir.nv_tileas import NV_TILEAS, Pipeline, pipeline_ops
from tirx_mini.frontends.tile_ir.ssa import TYPE, Dialect, parse_module, print_module, verify
from tirx_mini.ir import TirxError

TOY = Dialect("toy")
TOY.op("source", "", "result", "$type", infer=lambda op: op.attrs["type"], attrs={"type": TYPE})
DIALECTS = [NV_TILEAS, *STANDARD, TOY]

GEMM = """\
#shared = #nv_tileas.shared<swizzle=128>
nv_tileas.module @gemm {
  %c0 = toy.source i32
  %n = toy.source i32
  %A = toy.source i32
  %acc = toy.source tensor<64x64xf32>
  %ab = async.pipeline.create_pipeline {label = "ab"} : !nv_tileas.pipeline<3, tma -> wgmma, tensor<64x64xf16, #shared>>
  %desc = make_tiled_tma_desc %A {tmaIdx = 1} : i32
  async.pipeline.agent_switch {
    agent producer warps(1) {
      %it = async.pipeline.create_iterator %ab {producer}
      %0 = scf.for %k = %c0 to %n step %c0 iter_args(%at = %it) -> (!nv_tileas.iterator) : i32 {
        %1 = async.pipeline.producer_acquire %ab, %at
        %2 = async.pipeline.producer_write %ab, %1 {
        ^(%a: tensor<64x64xf16, #shared>):
          %3 = async.tiled_tma_load %A, %a, %desc, %c0, %k : i32, tensor<64x64xf16, #shared>, i32, i32
          async.pipeline.yield
        }
        async.pipeline.producer_commit %ab, %2
        %4 = async.pipeline.inc_iter %at
        scf.yield %4 : !nv_tileas.iterator
      }
    }
    agent compute warps(4) {
      %it_1 = async.pipeline.create_iterator %ab
      %5 = async.pipeline.consumer_wait %ab, %it_1
      %6 = async.pipeline.consumer_read %ab, %5
      %7 = async.dot %c0, %c0, %acc : i32, i32, tensor<64x64xf32>
      async.wait {pending = 1}
      async.pipeline.consumer_release %ab, %5 {deferred}
      %8 = async.wait %7 : tensor<64x64xf32>
      async.pipeline.consumer_drain %ab, %it_1
    }
  }
}
"""


def test_text_reads_back() -> None:
    module = verify(parse_module(GEMM, DIALECTS))
    assert print_module(module, "nv_tileas") == GEMM
    (switch,) = module.find(pipeline_ops.agent_switch)
    assert switch.agents == (("producer", 1), ("compute", 4)) and len(switch.regions) == 2
    (pipeline,) = module.find(pipeline_ops.create_pipeline)
    assert isinstance(pipeline.result.type, Pipeline) and pipeline.result.type.stages == 3


def test_what_a_producer_writes_are_the_tensors_of_a_stage() -> None:
    with pytest.raises(TirxError, match="its region must have the tensors of a stage as parameters: tensor<64x64xbf16"):
        verify(parse_module(GEMM.replace("wgmma, tensor<64x64xf16", "wgmma, tensor<64x64xbf16"), DIALECTS))

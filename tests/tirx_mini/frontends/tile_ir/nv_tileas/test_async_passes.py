"""What each asynchronous pass does to a product of matrices, on the architecture that it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.tirx_mini.frontends.tile_ir.emit.test_gathers import gathered
from tests.tirx_mini.frontends.tile_ir.emit.texts import Program, random
from tirx_mini.frontends.tile_ir.context import UNSPECIALIZED, Options, context_for
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER
from tirx_mini.frontends.tile_ir.ssa import parse_module, print_module

SUMS = "tensor<128x128xf32>"


def product(element: str = "float32") -> str:
    """C = A B for one tile of C, as nv_tileaa. element: of C."""
    program = Program((2, 2))
    a = program.array("a", random(256, 256, dtype="float16"), 128, 64)
    b = program.array("b", random(256, 256, dtype="float16"), 64, 128)
    c = program.array("c", random(256, 256, dtype=element), 128, 128, aligned=True)
    program.add(f"%zeros = arith.constant dense<0.0> : {SUMS}")
    program.add(f"%sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zeros) -> ({SUMS}) : i32 {{")
    program.load("left", "a", a, "%x", "%i")
    program.load("right", "b", b, "%i", "%y")
    program.add(f"%next = dot %left, %right, %s : tensor<128x64xf16>, tensor<64x128xf16>, {SUMS}")
    program.add(f"scf.yield %next : {SUMS} }}")
    if element == "float16":
        program.add(f"%rounded = fp_to_fp %sum : {SUMS} -> tensor<128x128xf16>")
    program.store("sum" if element == "float32" else "rounded", "c", c, "%x", "%y")
    return program.text()


def around(
    name: str, gpu: str = "h100", element: str = "f16", text: str = "", **options: Any
) -> tuple[str, str]:
    """The text of the product, or of another program, before and after the pass `name`. options: as of `Options`."""
    text = (text or product()).replace("xf16", f"x{element}").replace("<f16>", f"<{element}>")
    module = parse_module(text, [NV_TILEAA, *STANDARD])
    context = replace(context_for(gpu, Options(**options)), grid=(2, 2, 1))
    for step in IN_ORDER:
        before, module = module, step.run(module, context)
        if step.name == name:
            return print_module(before), print_module(module)
    raise AssertionError(f"there is no pass {name}")


def lines(text: str, *words: str) -> int:
    """How many lines have all of the words."""
    return sum(all(word in line for word in words) for line in text.splitlines())


def test_assign_dot_layouts() -> None:
    before, after = around("tileas-assign-dot-layouts")
    assert "mma = wgmma" not in before and lines(after, "nv_tileas.dot", "{mma = wgmma}", "#shared") == 1
    assert lines(after, "convert_layout", "#shared>") == 2
    assert lines(around("tileas-assign-dot-layouts", "b200")[1], "nv_tileas.dot", "{mma = tcgen05}") == 1


def test_assign_pipeline_layouts() -> None:
    before, after = around("tileas-assign-pipeline-layouts", element="f32")
    assert lines(before, "{mma = mma_sync}") == 1 and "#shared" not in before
    assert lines(after, "convert_layout", "-> tensor<128x64xf32, #shared>") == 1
    assert lines(after, "convert_layout", "tensor<64x128xf32, #shared> -> tensor<64x128xf32, #linear") == 1
    _, after = around("tileas-materialize-async", element="f32")
    assert lines(after, "create_pipeline", "tma -> threads, tensor<128x64xf32, #shared>") == 1


def test_lower_tma_load_store_to_async() -> None:
    before, after = around("lower-tma-load-store-to-async")
    assert lines(before, "tiled_load") == 2 and lines(before, "convert_layout", "#shared") == 2
    assert lines(after, "tiled_load") == 0 and lines(after, "convert_layout", "#shared") == 0
    assert lines(after, "async.tiled_tma_load") == lines(after, "async.wait_tma ") == 2
    assert lines(after, "make_tiled_tma_desc") == 3
    assert lines(after, "alloc_tensor", "%left") == lines(after, "alloc_tensor", "%right") == 1


def test_slices_go_to_shared_memory_and_leave_by_tma() -> None:
    before, after = around("tileas-slice-and-fuse")
    assert lines(before, "tiled_store") == 1 and lines(before, "extract_slice") == 0
    assert lines(after, "tiled_store", "tile=(64x32)") == lines(after, "extract_slice") == 8
    before, after = around("lower-tma-load-store-to-async")
    assert lines(before, "tiled_store") == 8 and lines(before, "insert_slice") == 0
    assert lines(after, "tiled_store") == 0 and lines(after, "alloc_tensor : tensor<64x32xf32, #shared") == 2
    assert lines(after, "insert_slice", "#shared") == lines(after, "async.tiled_tma_store") == 8
    assert lines(after, "async.wait_tma_store") == 8 and lines(after, "async.wait_tma_store {pending = 1, read}") == 7


def test_attach_tma_desc_args() -> None:
    before, after = around("tileas-attach-tma-desc-args")
    assert lines(before, "make_tiled_tma_desc") == 3 and "tma_desc: !nv_tileas.tma_desc" not in before
    assert lines(after, "make_tiled_tma_desc") == 0
    assert lines(after, "func @program", "%a_ref_tma_desc: !nv_tileas.tma_desc, %b_ref_tma_desc") == 1


def test_dynamic_persistent() -> None:
    before, after = around("tileas-dynamic-persistent")
    assert lines(before, "get_program_id") == 1 and lines(before, "scf.for") == 1
    assert lines(after, "get_program_id") == 0 and lines(after, "get_cta_slot {most = 132, halves = 2}") == 1
    assert lines(after, "scf.for %instance") == 1 and lines(after, "scf.for") == 2


def test_materialize_async() -> None:
    before, after = around("tileas-materialize-async")
    assert lines(before, "pipeline") == 0 and lines(after, "wait_tma ") == 0
    assert lines(after, "create_pipeline", "pipeline<6, tma -> wgmma, tensor<128x64xf16, #shared>") == 1
    for step in ("producer_acquire", "producer_write", "producer_commit", "consumer_wait", "consumer_read",
                 "consumer_release"):  # fmt: skip
        assert lines(after, f"async.pipeline.{step}") == 1, step
    assert lines(after, "inc_iter") == 2


def test_materialize_async_gathers() -> None:
    text = gathered((128, 128, 64))[0].text()
    before, after = around("tileas-materialize-async", text=text)
    assert lines(before, "nv_tileas.load", "128x64xf16") == lines(before, "convert_layout", "#shared") == 1
    assert lines(after, "nv_tileas.load", "128x64xf16") == lines(after, "convert_layout", "#shared") == 0
    assert lines(after, "create_pipeline", ", cp_async -> wgmma") == lines(after, "async.load", ", if %") == 1
    assert lines(after, "producer_acquire") == 1


def test_materialize_schedule_lays_gathers_out_anew() -> None:
    """Threads of the producer hold the numbers of the rows that they load, without exchanging them."""
    text = gathered((128, 128, 64))[0].text()
    producer = around("tileas-materialize-schedule", text=text)[1].split("agent compute")[0]
    assert lines(producer, "agent producer warps(4)") == 1 and lines(producer, "convert_layout") == 0
    assert lines(producer, "async.load") == lines(producer, "tiled_tma_load") == 1


def test_sums_in_tensor_memory() -> None:
    _, after = around("tileas-materialize-async", "b200")
    assert lines(after, "create_pipeline", "pipeline<2, mma -> threads, tensor<128x128xf32, #tmem>") == 1
    assert lines(after, "async.dot", "if %", "#tmem") == 1 and lines(after, "nv_tileas.dot ") == 0
    assert lines(after, "nv_tileas.copy", "#tmem> -> ") == 1


def test_unspecialized_pipeline() -> None:
    before, after = around("tileas-unspecialized-pipeline", agents=UNSPECIALIZED, num_stages=4)
    assert lines(before, "scf.for") == lines(before, "producer_acquire") == 1 and "elect_one" not in before
    assert lines(after, "scf.for") == lines(after, "producer_acquire") == lines(after, "elect_one") == 2
    first, _, loop = after.partition("%sum")
    assert lines(first, "arith.constant 2 : i32") >= 1 and lines(first, "tiled_tma_load") == 2
    assert lines(loop, "scf.if") == 1 and loop.index("tiled_tma_load") < loop.index("consumer_wait")
    specialised = around("tileas-unspecialized-pipeline")
    assert specialised[0] == specialised[1]


def test_optimize_dot_accumulation() -> None:
    before, after = around("tileas-optimize-dot-accumulation")
    assert lines(before, "nv_tileas.dot") == 1 and lines(before, "deferred") == 0
    assert lines(after, "async.dot") == 1 and lines(after, "async.wait {pending = 1}") == 1
    assert lines(after, "consumer_release", "{deferred}") == lines(after, "consumer_drain") == 1
    assert lines(before, "dense<0.0>") == 1
    assert lines(after, "alloc_tensor : tensor<128x128xf32, #linear") == lines(after, "async.dot", "if %") == 1


def test_materialize_schedule() -> None:
    before, after = around("tileas-materialize-schedule")
    assert lines(before, "agent") == 0
    assert lines(after, "agent producer warps(1)") == lines(after, "agent compute warps(4)") == 1
    producer, compute = after.split("agent compute")
    assert lines(producer, "tiled_tma_load") == 2 and lines(producer, "async.dot") == 0
    assert lines(compute, "tiled_tma_load") == 0 and lines(compute, "async.dot") == 1
    assert lines(compute, "tiled_tma_store") == 8 and lines(producer, "tma_store") == 0
    assert lines(around("tileas-materialize-schedule", "b200")[1], "agent mma warps(1)") == 1


def test_legalize_tmem_copy() -> None:
    before, after = around("tileas-legalize-tmem-copy", "b200", text=product("float16"))
    assert lines(before, "nv_tileas.copy", "128x128xf32, #tmem>") == 1 and lines(before, "fp_to_fp") == 4
    assert lines(after, "nv_tileas.copy", "128x32xf32, #tmem>", "128x32xf16, #linear") == 4
    assert lines(after, "fp_to_fp") == 0
    *_, copies, stores = after.partition("consumer_release %s,")
    assert lines(copies + stores, "tiled_tma_store") == 4 and lines(stores, "nv_tileas.copy") == 0


def test_clusters_share_what_neighbours_need() -> None:
    before, after = around("tileas-dynamic-persistent", num_ctas=2)
    assert lines(before, "multicast") == 0 and lines(after, "get_cta_rank") == 1
    assert lines(after, "get_cta_slot {most = 132, cluster = 2}") == 1
    assert lines(after, "tiled_tma_load", "{multicast}", "%b_tiles") == lines(after, "{multicast}") == 1

"""What each pass makes of an example that needs it, in the printed form."""

from __future__ import annotations

import pytest

from tests.tirx_mini.frontends.tile_ir.emit.texts import Program, random
from tirx_mini.frontends.tile_ir.context import Options, context_for
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA, STANDARD
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER, NV_TILEAS, PRINTING
from tirx_mini.frontends.tile_ir.ssa import Module, parse_module, print_module, verify

NAMES = [step.name for step in IN_ORDER]


def texts(program: Program, name: str, gpu: str = "h100", options: Options | None = None) -> tuple[str, str]:
    """The module before and after the pass `name`."""
    context = context_for(gpu, options)
    module = verify(parse_module(program.text(), [NV_TILEAA, *STANDARD]))
    for step in IN_ORDER[: NAMES.index(name)]:
        module = step.run(module, context)
    after = verify(IN_ORDER[NAMES.index(name)].run(module, context), name)
    return print_module(module, "nv_tileas"), print_module(after, "nv_tileas")


def lines(text: str, *words: str) -> list[str]:
    """The operations that contain all of some words."""
    return [line.strip() for line in text.splitlines() if all(word in line for word in words)]


def alias(text: str, name: str) -> str:
    """The definition of a layout's alias."""
    return next(line for line in text.splitlines() if line.startswith(f"#{name} = "))


def _transpose() -> Program:
    program = Program()
    a = program.array("a", random(32, 64), 32, 64)
    b = program.array("b", random(64, 32), 64, 32)
    program.load("t", "a", a, "%c0", "%c0")
    program.add("%u = permute %t [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>")
    program.store("u", "b", b, "%c0", "%c0")
    return program


def _reduction(dtype: str = "float32", rows: int = 4) -> Program:
    element = {"float32": "f32", "float16": "f16"}[dtype]
    program = Program()
    a = program.array("a", random(rows, 1024, dtype=dtype), rows, 1024)
    b = program.array("b", random(rows, dtype=dtype), rows)
    program.load("t", "a", a, "%c0", "%c0")
    program.add(f"""
    %sum = reduce %t {{dim = 1, identities = [0.0 : {element}], combine = add}} : tensor<{rows}x1024x{element}>
    -> tensor<{rows}x{element}> {{
    ^(%e: {element}, %f: {element}):
      %g = arith.addf %e, %f : {element}
      yield %g : {element}
    }}""")
    program.store("sum", "b", b, "%c0")
    return program


def _dot(rows: int, cols: int, inner: int) -> Program:
    program = Program()
    a = program.array("a", random(rows, inner, dtype="float16"), rows, inner)
    b = program.array("b", random(inner, cols, dtype="float16"), inner, cols)
    c = program.array("c", random(rows, cols), rows, cols)
    program.load("left", "a", a, "%c0", "%c0")
    program.load("right", "b", b, "%c0", "%c0")
    program.add(f"""
    %zeros = arith.constant dense<0.0> : tensor<{rows}x{cols}xf32>
    %sum = dot %left, %right, %zeros : tensor<{rows}x{inner}xf16>, tensor<{inner}x{cols}xf16>, tensor<{rows}x{cols}xf32>
    """)
    program.store("sum", "c", c, "%c0", "%c0")
    return program


def test_memory_and_shapes_become_operations_of_nv_tileas() -> None:
    before, after = texts(_transpose(), "convert-tileaa-to-tileas")
    assert lines(before, "nv_tileaa.tiled_load") and lines(before, "nv_tileaa.permute")
    assert lines(after, "= tiled_load") and lines(after, "= permute") and not lines(after, "nv_tileaa.tiled")


@pytest.mark.parametrize(("rows", "warps"), [(1, 4), (8, 8), (32, 16)])
def test_large_tensors_get_more_warps_and_every_tensor_a_layout(rows: int, warps: int) -> None:
    before, after = texts(_reduction(rows=rows), "tileas-plan-cta")
    assert "num_warps" not in before and f"num_warps = {warps}" in after
    assert all("#linear" in line for line in lines(after, "tensor<", "=") if "arith" not in line)


def test_a_fixed_number_of_warps_stays() -> None:
    _, after = texts(_reduction(), "tileas-plan-cta", options=Options(num_warps=2))
    assert "num_warps = 2" in after


def test_loads_and_stores_access_vectors_along_the_contiguous_dimension() -> None:
    before, after = texts(_transpose(), "tileas-assign-load-store-layouts")
    assert not lines(before, "convert_layout")
    (load,), (move,), (store,) = lines(after, "tiled_load"), lines(after, "convert_layout"), lines(after, "tiled_store")
    layout = load.split("tensor<32x64xf32, #")[1].split(">")[0]
    assert "register=[[0,1],[0,2]," in alias(after, layout)
    stored = store.split("tensor<64x32xf32, #")[1].split(">")[0]
    assert "register=[[0,1],[0,2]," in alias(after, stored)
    assert f"tensor<64x32xf32, #{stored}>" in move


def test_a_dot_by_single_warps_takes_fragments() -> None:
    before, after = texts(_dot(32, 32, 16), "tileas-assign-dot-layouts")
    assert not lines(before, "convert_layout")
    (dot,) = lines(after, "= dot")
    assert "mma = mma_sync" in dot and len(lines(after, "convert_layout")) >= 2
    accumulator = dot.rsplit("#", 1)[1].rstrip(">")
    assert "register=[[0,1],[8,0]" in alias(after, accumulator)


def test_a_dot_that_no_tensor_core_computes_multiplies_wide_numbers() -> None:
    before, after = texts(_dot(8, 32, 16), "tileas-legalize-fma-dot")
    assert "mma" not in lines(before, "= dot")[0]
    (dot,) = lines(after, "= dot")
    assert "mma = fma" in dot and "xf16" not in dot
    assert len(lines(after, "fp_to_fp")) == 2


def test_a_reduction_stays_in_a_warp_where_others_have_rows_of_their_own() -> None:
    before, after = texts(_reduction(), "tileas-optimize-reduce")

    def warps(text: str) -> str:
        layout = lines(text, "tiled_load")[0].split("tensor<4x1024xf32, #")[1].split(">")[0]
        return alias(text, layout).split("warp=")[1]

    assert warps(before) == "[[0,128],[0,256]]>"
    assert warps(after) == "[[1,0],[2,0]]>"


def test_halves_are_added_as_floats() -> None:
    before, after = texts(_reduction("float16"), "tileas-legalize-reduce")
    assert "xf16" in lines(before, "= reduce")[0]
    (line,) = lines(after, "= reduce")
    assert "xf32" in line and "xf16" not in line
    assert lines(after, "^(%e: f32, %f: f32):") and len(lines(after, "fp_to_fp")) == 2


def test_values_between_accesses_take_their_layouts() -> None:
    program = Program()
    a, c = program.array("a", random(64, 64), 64, 64), program.array("c", random(64, 64), 64, 64)
    program.load("t", "a", a, "%c0", "%c0")
    program.add("""
    %u = permute %t [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    %v = math.exp %u : tensor<64x64xf32>
    %w = permute %v [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>""")
    program.store("w", "c", c, "%c0", "%c0")
    module = verify(parse_module(program.text(), [NV_TILEAA, *STANDARD]))
    context = context_for("h100")
    for step in IN_ORDER[: NAMES.index("tileas-remove-layout-conversions")]:
        module = step.run(module, context)
    moved = print_module(module, "nv_tileas").splitlines()
    (exp,) = (i for i, line in enumerate(moved) if "math.exp" in line)
    layout = moved[exp].split("#")[1].rstrip(">")
    moved.insert(exp, f"%x = convert_layout %u : tensor<64x64xf32, #{layout}> -> tensor<64x64xf32, #{layout}>")
    moved[exp + 1] = moved[exp + 1].replace("math.exp %u", "math.exp %x")
    given = parse_module("\n".join(moved), [NV_TILEAS, NV_TILEAA, *STANDARD])
    after = IN_ORDER[NAMES.index("tileas-remove-layout-conversions")].run(given, context)
    assert not lines(print_module(verify(after), "nv_tileas"), "convert_layout")


def test_small_loops_in_registers_become_their_rounds() -> None:
    program = Program()
    a, c = program.array("a", random(64), 64), program.array("c", random(64), 64)
    program.load("t", "a", a, "%c0")
    program.add("""
    %s = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %t) -> (tensor<64xf32>) : i32 {
      %w = arith.addf %v, %v : tensor<64xf32>
      scf.yield %w : tensor<64xf32>
    }""")
    program.store("s", "c", c, "%c0")
    before, after = texts(program, "tileas-unroll-register-loops")
    assert lines(before, "scf.for") and len(lines(before, "arith.addf")) == 1
    assert not lines(after, "scf.for") and len(lines(after, "arith.addf")) == 3


def test_a_conversion_says_what_moves_its_elements() -> None:
    before, after = texts(_transpose(), "tileas-materialize-convert-layout")
    assert "through" not in before
    (move,) = lines(after, "convert_layout")
    assert "{through = shared, bytes = 8" in move


def test_a_conversion_of_what_a_loop_does_not_change_stands_before_it() -> None:
    rows = "#near = #nv_tileas.linear<register=[[0,1]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0],[8,0]]>"
    cols = "#far = #nv_tileas.linear<register=[[8,0]], lane=[[1,0],[2,0],[4,0],[0,1],[0,2]], warp=[[0,4],[0,8]]>"
    text = f"""{rows}
    {cols}
    nv_tileas.module @m {{
      nv_tileaa.func @k(%n: i32) {{num_warps = 4}} {{
        %t = arith.constant dense<1.0> : tensor<16x16xf32, #near>
        %z = arith.constant dense<0.0> : tensor<16x16xf32, #far>
        %s = scf.for %i = %n to %n step %n iter_args(%v = %z) -> (tensor<16x16xf32, #far>) : i32 {{
          %u = convert_layout %t : tensor<16x16xf32, #near> -> tensor<16x16xf32, #far>
          %w = arith.addf %v, %u : tensor<16x16xf32, #far>
          scf.yield %w : tensor<16x16xf32, #far>
        }}
        %k = nv_tileaa.print "%f", %s : tensor<16x16xf32, #far> -> mem_token
        nv_tileaa.return
      }}
    }}"""
    module = verify(parse_module(text, [NV_TILEAS, NV_TILEAA, *STANDARD]))
    step = IN_ORDER[NAMES.index("tileas-materialize-convert-layout")]
    after = print_module(verify(step.run(module, context_for("h100"))), "nv_tileas")
    kinds = [line.strip().split(" = ", 1)[1].split()[0] for line in after.splitlines() if " = " in line]
    assert kinds.index("convert_layout") < kinds.index("scf.for")


def test_what_a_loop_carries_for_nothing_goes() -> None:
    program = Program()
    a, c = program.array("a", random(64), 64), program.array("c", random(64), 64)
    program.load("t", "a", a, "%c0")
    program.add("""
    %s, %k = scf.for %i = %c0 to %c7 step %c1 iter_args(%v = %t, %j = %c0) -> (tensor<64xf32>, i32) : i32 {
      %w = arith.addf %v, %v : tensor<64xf32>
      %l = arith.addi %j, %c2 : i32
      scf.yield %w, %l : tensor<64xf32>, i32
    }""")
    program.store("s", "c", c, "%c0")
    before, after = texts(program, "tileas-remove-dead-args")
    assert lines(before, "arith.addi") and "-> (tensor<64xf32>, i32)" in before
    assert not lines(after, "arith.addi") and "-> (tensor<64xf32>)" in after


def test_layouts_are_told_thread_by_thread() -> None:
    context = context_for("h100")
    module: Module = parse_module(_transpose().text(), [NV_TILEAA, *STANDARD])
    for step in IN_ORDER[: NAMES.index("tileas-assign-dot-layouts")]:
        module = step.run(module, context)
    context.notes.clear()
    assert PRINTING[0].run(module, context) is module
    first = context.notes[0].message
    assert first.endswith("thread 0: (0, 0) (0, 1) (0, 2) (0, 3) …; thread 1: (0, 4) (0, 5) (0, 6) (0, 7) …")


def test_every_pass_has_a_sentence() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(step.doc[0].isupper() for step in (*IN_ORDER, *PRINTING))

"""Programs of nv_tileaa, run in the simulator as kernels of threads."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import TirxError

from .texts import TYPES, Program, random

GPUS = ("h100", "b200")


def _body(op: str, element: str = "f32") -> str:
    return f"""{{
    ^(%e: {element}, %b: {element}):
      %m = arith.{op} %e, %b : {element}
      yield %m : {element}
    }}"""


@pytest.mark.parametrize("gpu", GPUS)
def test_vectors_are_added(gpu: str) -> None:
    a, b, c = random(1000), random(1000) + 1, np.zeros(1000, "float32")
    program = Program((4,))
    blocks = [program.array(name, values, 256) for name, values in (("a", a), ("b", b), ("c", c))]
    program.load("left", "a", blocks[0], "%x")
    program.load("right", "b", blocks[1], "%x")
    program.add("%sum = arith.addf %left, %right : tensor<256xf32>")
    program.store("sum", "c", blocks[2], "%x")
    program.run(gpu)
    assert (c == a + b).all()


@pytest.mark.parametrize("rows", [1, 4])
def test_softmax(rows: int) -> None:
    a, c = random(16, 1000), np.zeros((16, 1000), "float16")
    program = Program((16 // rows,))
    source = program.array("a", a, rows, 1024, padding="neg_inf")
    target = program.array("c", c, rows, 1024)
    tile, column = f"tensor<{rows}x1024xf32>", f"tensor<{rows}xf32>"
    program.load("t", "a", source, "%x", "%c0")

    def spread(name: str) -> str:
        return f"""
    %{name}_1 = expand_dims %{name} {{axis = 1}} : {column} -> tensor<{rows}x1xf32>
    %{name}_2 = broadcast %{name}_1 : tensor<{rows}x1xf32> -> {tile}"""

    program.add(f"""
    %most = reduce %t {{dim = 1, identities = [0.0 : f32], combine = max}} : {tile} -> {column} {_body("maxnumf")}
    {spread("most")}
    %less = arith.subf %t, %most_2 : {tile}
    %power = math.exp %less : {tile}
    %sum = reduce %power {{dim = 1, identities = [0.0 : f32], combine = add}} : {tile} -> {column} {_body("addf")}
    {spread("sum")}
    %part = arith.divf %power, %sum_2 : {tile}
    %half = fp_to_fp %part : {tile} -> tensor<{rows}x1024xf16>""")
    program.store("half", "c", target, "%x", "%c0")
    program.run()
    power = np.exp(a - a.max(1, keepdims=True))
    assert np.allclose(c, power / power.sum(1, keepdims=True), atol=1e-4)


def _gemm(a: np.ndarray, b: np.ndarray, c: np.ndarray, tile: tuple[int, int, int], acc: str = "f32") -> Program:
    rows, cols, inner = tile
    kind, out = TYPES[str(a.dtype)], TYPES[str(c.dtype)]
    steps = -(-a.shape[1] // inner)
    program = Program((-(-c.shape[0] // rows), -(-c.shape[1] // cols)))
    left = program.array("a", a, rows, inner, padding="zero")
    right = program.array("b", b, inner, cols, padding="zero")
    target = program.array("c", c, rows, cols)
    zero = "0" if acc == "i32" else "0.0"
    program.add(f"""
    %n = arith.constant {steps} : i32
    %zeros = arith.constant dense<{zero}> : tensor<{rows}x{cols}x{acc}>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zeros) -> (tensor<{rows}x{cols}x{acc}>) : i32 {{""")
    program.load("left", "a", left, "%x", "%i")
    program.load("right", "b", right, "%i", "%y")
    types = f"tensor<{rows}x{inner}x{kind}>, tensor<{inner}x{cols}x{kind}>, tensor<{rows}x{cols}x{acc}>"
    program.add(f"""
      %next = dot %left, %right, %s : {types}
      scf.yield %next : tensor<{rows}x{cols}x{acc}>
    }}""")
    if out != acc:
        program.add(f"%out = fp_to_fp %sum : tensor<{rows}x{cols}x{acc}> -> tensor<{rows}x{cols}x{out}>")
    program.store("sum" if out == acc else "out", "c", target, "%x", "%y")
    return program


CASES = [
    ((128, 128, 128), (32, 32, 32), "float16", "float16", "mma.sync"),
    ((200, 104, 72), (64, 32, 32), "float32", "float32", "mma.sync"),
    ((100, 70, 50), (32, 32, 16), "bfloat16", "float32", "mma.sync"),
    ((64, 64, 64), (16, 8, 32), "int8", "int32", "mma.sync"),
    ((64, 64, 96), (8, 32, 16), "float16", "float32", None),
]


@pytest.mark.parametrize(("shape", "tile", "dtype", "out", "instruction"), CASES)
def test_gemm(
    shape: tuple[int, int, int], tile: tuple[int, int, int], dtype: str, out: str, instruction: str | None
) -> None:
    rows, cols, inner = shape
    a, b = random(rows, inner, dtype=dtype), random(inner, cols, dtype=dtype)
    c = np.zeros((rows, cols), out)
    program = _gemm(a, b, c, tile, "i32" if dtype == "int8" else "f32")
    program.run("h100", schedules=2)
    wide = np.float64 if dtype != "int8" else np.int64
    reference = a.astype(wide) @ b.astype(wide)
    tolerance = {"float16": 2e-3, "float32": 3e-3, "bfloat16": 1e-5, "int8": 0}[dtype]
    assert np.abs(c - reference).max() <= tolerance * np.abs(reference).max()
    assert ("mma.sync" in program.kernel().script()) == (instruction == "mma.sync")


@pytest.mark.compiler
@pytest.mark.parametrize(("tile", "opcode"), [((32, 32, 64), "HMMA"), ((32, 256, 64), "HGMMA")])
def test_gemm_compiles_without_spills(tile: tuple[int, int, int], opcode: str) -> None:
    values = [random(256, 256, dtype="float16") for _ in range(3)]
    sass = tvm.compile(_gemm(*values, tile).kernel("h100"), "cuda:sm_90a").source("sass")
    assert opcode in sass and "STL" not in sass


def test_a_branch_and_a_while_loop() -> None:
    a, c = random(64), np.zeros(64, "float32")
    program = Program((2,))
    source, target = program.array("a", a, 32), program.array("c", c, 32)
    program.load("t", "a", source, "%x")
    program.add("""
    %first = arith.cmpi eq, %x, %c0 : i32
    %chosen = scf.if %first -> (tensor<32xf32>) {
      %twice = arith.addf %t, %t : tensor<32xf32>
      scf.yield %twice : tensor<32xf32>
    } else {
      %minus = arith.negf %t : tensor<32xf32>
      scf.yield %minus : tensor<32xf32>
    }
    %end, %last = scf.while (%i = %c0, %v = %chosen) : (i32, tensor<32xf32>) -> (i32, tensor<32xf32>) {
      %more = arith.cmpi slt, %i, %c3 : i32
      scf.condition (%more) %i, %v : i32, tensor<32xf32>
    } do {
    ^(%j: i32, %w: tensor<32xf32>):
      %double = arith.addf %w, %w : tensor<32xf32>
      %k = arith.addi %j, %c1 : i32
      scf.yield %k, %double : i32, tensor<32xf32>
    }""")
    program.store("last", "c", target, "%x")
    program.run()
    assert (c == np.concatenate([a[:32] * 16, a[32:] * -8])).all()


def test_values_that_go_round_change_places_at_the_same_time() -> None:
    a, c = random(64), np.zeros(64, "float32")
    program = Program((1,))
    source, target = program.array("a", a, 32), program.array("c", c, 32)
    program.load("p", "a", source, "%c0")
    program.load("q", "a", source, "%c1")
    program.add("""
    %u, %v = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %p, %t = %q) -> (tensor<32xf32>, tensor<32xf32>) : i32 {
      %sum = arith.addf %s, %t : tensor<32xf32>
      scf.yield %t, %sum : tensor<32xf32>, tensor<32xf32>
    }""")
    program.store("u", "c", target, "%c0")
    program.add(program.lines.pop().replace("c_done", "c_done2"))
    program.store("v", "c", target, "%c1")
    program.run()
    p, q = a[:32], a[32:]
    for _ in range(3):
        p, q = q, p + q
    assert (c == np.concatenate([p, q])).all()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(512,), (8, 64), (64, 8), (4, 1024)])
@pytest.mark.parametrize("dim", [0, -1])
def test_scans(shape: tuple[int, ...], dim: int, reverse: bool) -> None:
    a, c = random(*shape, dtype="int32"), np.zeros(shape, "int32")
    dim %= len(shape)
    program = Program()
    source, target = program.array("a", a, *shape), program.array("c", c, *shape)
    zeros = ["%c0"] * len(shape)
    tile = f"tensor<{'x'.join(map(str, shape))}xi32>"
    program.load("t", "a", source, *zeros)
    program.add(f"""
    %s = scan %t {{dim = {dim}, identities = [0 : i32], combine = add, reverse = {str(reverse).lower()}}}
    : {tile} -> {tile} {_body("addi", "i32")}""")
    program.store("s", "c", target, *zeros)
    program.run(schedules=2)
    expected = np.flip(np.flip(a, dim).cumsum(dim), dim) if reverse else a.cumsum(dim)
    assert (c == expected).all()


def test_numbers_that_come_out_of_tensors() -> None:
    a, c = random(128), np.zeros(128, "float32")
    program = Program()
    source, target = program.array("a", a, 128), program.array("c", c, 128)
    program.load("t", "a", source, "%c0")
    program.add(f"""
    %total = reduce %t {{dim = 0, identities = [0.0 : f32], combine = add}} : tensor<128xf32> -> f32 {_body("addf")}
    %third = extract %t [%c3] : tensor<128xf32>
    %both = arith.addf %total, %third : f32
    %all = splat %both : f32 -> tensor<128xf32>""")
    program.store("all", "c", target, "%c0")
    program.run()
    assert np.allclose(c, a.sum() + a[3], atol=1e-4)


def test_a_histogram_by_atomic_additions() -> None:
    a, c = random(256, dtype="int32") % 16, np.zeros(16, "int32")
    a = a.astype("int32")
    program = Program((2,))
    source = program.array("a", a, 128)
    program.array("c", c)
    program.load("t", "a", source, "%x")
    program.add("""
    %base = splat %c : ptr<i32> -> tensor<128xptr<i32>>
    %places = addptr %base, %t : tensor<128xptr<i32>>, tensor<128xi32>
    %ones = arith.constant dense<1> : tensor<128xi32>
    %old, %token = atomic_rmw %places, %ones {mode = add} : tensor<128xptr<i32>>, tensor<128xi32>
    -> tensor<128xi32>, mem_token""")
    program.run()
    assert (c == np.bincount(a, minlength=16)).all()


def test_slices_of_a_tile() -> None:
    a, c = random(32, 64), np.zeros((32, 64), "float32")
    program = Program()
    source, target = program.array("a", a, 32, 64), program.array("c", c, 32, 64)
    program.load("t", "a", source, "%c0", "%c0")
    program.add("""
    %left = extract_slice %t [%c0, %c0] : tensor<32x64xf32> -> tensor<32x32xf32>
    %right = extract_slice %t [%c0, %c1] : tensor<32x64xf32> -> tensor<32x32xf32>
    %swapped = cat %right, %left {dim = 1} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x64xf32>
    %mixed = insert_slice %left, %swapped [%c0, %c1] : tensor<32x32xf32>, tensor<32x64xf32>""")
    program.store("mixed", "c", target, "%c0", "%c0")
    program.run()
    assert (c == np.concatenate([a[:, 32:], a[:, :32]], 1)).all()


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_tiles_are_added_to_memory(dtype: str) -> None:
    """The blocks of all CTAs go to the same place, at the edge of an array."""
    a, c = random(64, 40, dtype=dtype), np.zeros((16, 40), dtype)
    program = Program((4,))
    source, target = program.array("a", a, 16, 64, padding="zero"), program.array("c", c, 16, 64)
    program.load("t", "a", source, "%x", "%c0")
    mode = "addf" if dtype == "float32" else "add"
    tile = f"tensor<16x64x{TYPES[dtype]}>"
    program.add(f"""
    %done = tiled_atomic_rmw %c_tiles [%c0, %c0], %t {{mode = {mode}}} : {target}, i32, i32, {tile} -> mem_token""")
    program.run()
    assert np.allclose(c, a.reshape(4, 16, 40).sum(0), atol=1e-5)


def test_an_operation_that_is_not_compiled_says_so() -> None:
    program = Program()
    program.array("a", random(4))
    program.add("%i = ptr_to_int %a : ptr<f32> -> i64")
    program.add('%t = print "%d", %i : i64 -> mem_token')
    with pytest.raises(TirxError, match=r"nv_tileaa\.ptr_to_int is not compiled for GPUs"):
        program.kernel()

"""The translator: lowered code runs as one thread after the other would run it, and stays scalar where it can."""

from __future__ import annotations

import gc
import linecache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import tirx_mini as tvm
from tests.tirx_mini.driver.lowered import simulate
from tests.tirx_mini.sim.translate.programs import programs
from tests.tirx_mini.sim.translate.reference import run_reference
from tirx_mini.diagnose import Report
from tirx_mini.ir import (
    INT32,
    AddressOf,
    AllocBuffer,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DataType,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    If,
    Launch,
    PrimFunc,
    Ramp,
    Span,
    Stmt,
    TirxError,
    Var,
    While,
    cast,
    const,
    scalar,
    seq,
    special,
)
from tirx_mini.script import tirx as T
from tirx_mini.sim import translate

BOOL = DataType("bool")
TID, WARP = special("threadIdx.x"), special("warp_id_in_cta")


def load(buffer: Buffer, index: Expr | int = 0, lanes: int = 1) -> BufferLoad:
    at = index if isinstance(index, Expr) else const(index)
    if lanes > 1:
        return BufferLoad(buffer.dtype.with_lanes(lanes), buffer, (Ramp(INT32, at, lanes),))
    return BufferLoad(buffer.dtype, buffer, (at,))


def store(buffer: Buffer, value: Expr | int, index: Expr | int = 0, lanes: int = 1) -> BufferStore:
    at = index if isinstance(index, Expr) else const(index)
    stored = value if isinstance(value, Expr) else const(value, buffer.dtype)
    return BufferStore(buffer, (Ramp(INT32, at, lanes) if lanes > 1 else at,), stored)


def kernel(*stmts: Stmt, params: tuple[Buffer, ...] = (), threads: int = 32, smem: int = 0) -> PrimFunc:
    return PrimFunc("kernel", params, seq(*stmts), launch=Launch((1, 1, 1), threads, smem_bytes=smem))


def elect() -> Call:
    return Call(BOOL, "elect.sync", ())


OUT = Buffer("out", (1024,), DataType("int32"))


def run(*stmts: Stmt, threads: int = 32) -> np.ndarray:
    """What the statements leave in OUT; they must run without findings."""
    out = np.full(1024, -1, np.int32)
    report = simulate(kernel(*stmts, params=(OUT,), threads=threads), [out])
    assert report.findings == (), str(report)
    return out


# -- every program means what it means for one thread after the other ------------------------------------------------


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs_do_what_each_thread_alone_would_do(func: PrimFunc) -> None:
    got = np.zeros(func.params[0].shape, np.int64)
    want = got.copy()
    run_reference(func, [want])
    report = simulate(func, [got])
    assert report.findings == (), f"{report}\n{translate(func).source}"
    assert (got == want).all(), translate(func).source


# -- scalars stay scalars ----------------------------------------------------------------------------------------------


def lines_of(*stmts: Stmt, threads: int = 32) -> str:
    return translate(kernel(*stmts, params=(OUT,), threads=threads)).source


def pipeline_state(guard: Expr) -> tuple[Buffer, Stmt]:
    """A phase that a loop under `guard` flips."""
    phase = scalar("phase", "int32")
    k = Var(INT32, "k")
    body = seq(store(OUT, load(phase), 7), store(phase, load(phase) ^ 1))
    return phase, seq(AllocBuffer(phase), store(phase, 0), If(guard, For(k, const(0), const(4), body)))


def test_the_pipeline_state_of_an_elected_thread_is_a_plain_number() -> None:
    _, stmts = pipeline_state(elect())
    source = lines_of(stmts)
    assert "phase = (phase ^ 1)" in source
    assert "merge" not in source


def test_a_scalar_read_outside_the_region_that_assigns_it_has_lanes() -> None:
    phase, stmts = pipeline_state(TID < 1)
    source = lines_of(stmts, store(OUT, load(phase), TID))
    assert "merge(w.mask" in source


def test_a_region_whose_lanes_change_from_round_to_round_needs_lanes() -> None:
    x, k = scalar("x", "int32"), Var(INT32, "k")
    mine = If(cast("int32", TID) == k, seq(store(x, load(x) + 1), store(OUT, load(x), TID)))
    stmts = seq(AllocBuffer(x), store(x, 0), For(k, const(0), const(32), mine))
    assert (run(stmts)[:32] == 1).all()


def test_roles_of_different_warps_do_not_share_their_scalars() -> None:
    phase, stmts = pipeline_state(elect())
    first = If(WARP == 0, stmts)
    second = If(WARP == 1, If(elect(), store(OUT, load(phase), 9)))
    source = lines_of(AllocBuffer(phase), store(phase, 0), first, second, threads=64)
    assert "merge" not in source


def test_a_phase_array_of_an_elected_thread_is_a_list_of_numbers() -> None:
    phases = Buffer("phases", (2,), INT32, "local")
    k = Var(INT32, "k")
    flip = seq(store(phases, load(phases, k % 2) ^ 1, k % 2), store(OUT, load(phases, k % 2), k))
    stmts = seq(
        AllocBuffer(phases), store(phases, 0, 0), store(phases, 5, 1), If(elect(), For(k, const(0), const(4), flip))
    )
    assert "UniformArray" in lines_of(stmts)
    assert run(stmts)[:4].tolist() == [1, 4, 0, 5]


def test_an_election_among_all_lanes_keeps_one() -> None:
    out = run(If(elect(), store(OUT, TID, TID)), threads=64)
    assert np.flatnonzero(out >= 0).tolist() == [0, 32]


# -- address patterns ----------------------------------------------------------------------------------------------


def test_an_address_in_a_loop_is_one_addition() -> None:
    k = Var(INT32, "k")
    swizzled = (k * 256 + TID * 8) ^ ((TID // 8 % 8) * 8)
    source = lines_of(For(k, const(0), const(4), store(OUT, k, swizzled)))
    (line,) = (text for text in source.splitlines() if "w.store" in text)
    assert line.strip().startswith("w.store(B") and line.count("+") == 1 and "^" not in line


def test_patterns_of_the_same_form_are_computed_once() -> None:
    source = lines_of(store(OUT, 1, TID * 3), store(OUT, 2, TID * 3 + 0))
    assert source.count("[wid]") == 1


@pytest.mark.parametrize("width", [1, 2, 8])
def test_a_parallel_loop_is_one_operation(width: int) -> None:
    A, B = Buffer("A", (1024,), DataType("float16")), Buffer("B", (1024,), DataType("float16"))
    i, steps = Var(INT32, "i"), 1024 // (32 * width)
    at = i * (32 * width) + TID * width
    copy = For(i, const(0), const(steps), store(B, load(A, at, width), at, width), kind="unrolled", parallel=True)
    func = kernel(copy, params=(A, B))
    assert "for i" not in translate(func).source
    a, b = np.arange(1024, dtype=np.float16), np.zeros(1024, np.float16)
    assert simulate(func, [a, b]).findings == ()
    assert (a == b).all()


def test_a_nest_of_parallel_loops_is_one_operation() -> None:
    i, j = Var(INT32, "i"), Var(INT32, "j")
    inner = For(j, const(1), const(4), store(OUT, i * 100 + j, i * 96 + (j - 1) * 32 + TID), parallel=True)
    nest = For(i, const(0), const(3), inner, parallel=True)
    assert "for " not in lines_of(nest)
    want = np.repeat([i * 100 + j for i in range(3) for j in range(1, 4)], 32)
    assert (run(nest)[:288] == want).all()


def test_a_parallel_loop_of_another_form_runs_step_by_step() -> None:
    i = Var(INT32, "i")
    guarded = For(i, const(0), const(4), If(i * 32 + TID < 100, store(OUT, i, i * 32 + TID)), parallel=True)
    out = run(guarded)
    assert (out[:100] == np.arange(100) // 32).all() and (out[100:128] == -1).all()


def test_casts_of_registers_in_a_parallel_loop() -> None:
    A, B = Buffer("A", (2048,), DataType("float32")), Buffer("B", (2048,), DataType("float16"))
    wide = Buffer("wide", (64,), DataType("float32"), "local")
    narrow = Buffer("narrow", (64,), DataType("float16"), "local")
    i = Var(INT32, "i")
    fill = For(i, const(0), const(16), store(wide, load(A, TID * 64 + i * 4, 4), i * 4, 4), parallel=True)
    convert = For(
        i, const(0), const(32), store(narrow, cast("float16x2", load(wide, i * 2, 2)), i * 2, 2), parallel=True
    )
    spill = For(i, const(0), const(8), store(B, load(narrow, i * 8, 8), TID * 64 + i * 8, 8), parallel=True)
    func = kernel(AllocBuffer(wide), AllocBuffer(narrow), fill, convert, spill, params=(A, B))
    a = np.random.default_rng(0).standard_normal(2048).astype(np.float32)
    b = np.zeros(2048, np.float16)
    assert simulate(func, [a, b]).findings == ()
    assert (b == a.astype(np.float16)).all()


# -- arithmetic --------------------------------------------------------------------------------------------------------


def test_unsigned_sums_wrap_and_descriptors_have_64_bits() -> None:
    big = const(0xFFFFFFF0, "uint32")
    wide = cast("uint64", cast("uint32", TID)) | const(1 << 63, "uint64")
    stmts = [store(OUT, cast("int32", (cast("uint32", TID) + big) >> 4), TID),
             store(OUT, cast("int32", wide >> 60), TID + 32),
             store(OUT, cast("int32", (const(1 << 46, "uint64") + cast("uint64", WARP)) >> 44), 64)]  # fmt: skip
    out = run(*stmts)
    assert out[:32].tolist() == [0x0FFFFFFF] * 16 + [0] * 16
    assert (out[32:64] == 8).all() and out[64] == 4


def test_numbers_of_64_bits_are_shifted_by_lanes() -> None:
    wide = cast("uint64", cast("uint32", TID)) | const(1 << 63, "uint64")
    back = cast("uint64", const(60, INT32) + cast(INT32, WARP))  # not known before the run
    out = run(
        store(OUT, cast("int32", wide >> cast("uint64", TID * 2)), TID),
        store(OUT, cast("int32", wide >> back), TID + 32),
        store(OUT, cast("int32", (wide << back) >> back), TID + 64),
    )
    numbers = [(1 << 63) | lane for lane in range(32)]
    assert out[:32].tolist() == [np.uint64(n >> (2 * lane)).astype(np.int32) for lane, n in enumerate(numbers)]
    assert (out[32:64] == 8).all() and out[64:96].tolist() == [lane % 16 for lane in range(32)]


def test_conversions_of_floating_point_numbers() -> None:
    F = Buffer("F", (64,), DataType("bfloat16"))
    third = cast("float32", TID) / const(3.0)
    func = kernel(
        store(F, cast("bfloat16", third), TID), store(OUT, cast("int32", third - const(5.5)), TID), params=(OUT, F)
    )
    import ml_dtypes

    out, f = np.zeros(1024, np.int32), np.zeros(64, ml_dtypes.bfloat16)
    assert simulate(func, [out, f]).findings == ()
    exact = np.arange(32, dtype=np.float32) / np.float32(3)
    assert (f[:32] == exact.astype(ml_dtypes.bfloat16)).all()
    assert (out[:32] == np.trunc(exact - np.float32(5.5)).astype(np.int32)).all()


def test_division_by_zero_names_its_place() -> None:
    zero = scalar("zero", "int32")
    place = Span("kernel.py", 7, 4)
    divide = BufferStore(OUT, (TID,), const(1) // load(zero), span=place)
    report = simulate(kernel(AllocBuffer(zero), store(zero, 0), divide, params=(OUT,)), [np.zeros(1024, np.int32)])
    assert report.verdict == "fault" and report.findings[0].kind == "division-by-zero"
    assert report.findings[0].span is place


def test_a_division_by_zero_does_not_end_the_run() -> None:
    """Its result is unspecified, and no chip traps (PTX ISA: div): what comes after it is executed and checked."""
    zero, cell = scalar("zero", "int32"), scalar("cell", "int32")
    stmts = [AllocBuffer(zero), AllocBuffer(cell), store(zero, 0), BufferStore(OUT, (TID,), const(1) // load(zero)),
             store(OUT, const(8) // TID, TID + 32), store(OUT, const(8) % load(zero), 64),
             store(OUT, load(cell), 100), store(OUT, 5, 200)]  # fmt: skip
    out = np.zeros(1024, np.int32)
    report = simulate(kernel(*stmts, params=(OUT,)), [out])
    assert {finding.kind for finding in report.findings} == {"division-by-zero", "uninitialised-register"}
    assert out[33:64].tolist() == [8 // n for n in range(1, 32)] and out[200] == 5 and report.time_us is not None


# -- what registers hold -------------------------------------------------------------------------------------------


def only_finding(*stmts: Stmt) -> tuple[Report, str]:
    report = simulate(kernel(*stmts, params=(OUT,)), [np.zeros(1024, np.int32)])
    (finding,) = report.findings
    return report, finding.kind


def test_reading_an_unwritten_register_is_reported() -> None:
    values = Buffer("values", (4,), INT32, "local")
    report, kind = only_finding(AllocBuffer(values), store(values, TID, 1), store(OUT, load(values, 2), TID))
    assert kind == "uninitialised-register" and "values[2]" in report.findings[0].message
    assert report.verdict == "hazard"


def test_reading_a_scalar_that_only_some_lanes_assigned_is_reported() -> None:
    x = scalar("x", "int32")
    report, kind = only_finding(AllocBuffer(x), If(TID < 4, store(x, 1)), store(OUT, load(x), TID))
    assert kind == "uninitialised-register" and "x is read" in report.findings[0].message


def test_an_index_outside_of_a_register_array_is_a_fault() -> None:
    values = Buffer("values", (4,), INT32, "local")
    report, kind = only_finding(AllocBuffer(values), store(values, TID, TID // 4))
    assert (kind == "out-of-bounds" and "element 7 of values" in report.findings[0].message) or "element 4" in str(
        report
    )


# -- loops that do not end -----------------------------------------------------------------------------------------


def test_a_loop_that_does_not_change_its_condition_is_reported_as_endless() -> None:
    tile, other = scalar("tile", "int32"), scalar("other", "int32")
    loop = While(load(tile) < 8, store(other, load(other) + 1))
    report, kind = only_finding(AllocBuffer(tile), AllocBuffer(other), store(tile, 0), store(other, 0), loop)
    assert kind == "runaway-loop" and report.verdict == "deadlock"
    assert "left tile as it was" in report.findings[0].message


def test_a_loop_that_ends_through_another_variable_is_not_endless() -> None:
    done, count = scalar("done", "int32"), scalar("count", "int32")
    body = seq(store(count, load(count) + 1), If(load(count) == 5, store(done, 1)))
    out = run(AllocBuffer(done), AllocBuffer(count), store(done, 0), store(count, 0),
              While(load(done) == 0, body), store(OUT, load(count)))  # fmt: skip
    assert out[0] == 5


def test_a_loop_may_end_through_a_variable_that_each_iteration_has_anew() -> None:
    count, last = scalar("count", "int32"), scalar("last", "int32")
    body = seq(store(count, load(count) + 1), AllocBuffer(last), store(last, load(count) == 3), If(load(last), Break()))
    out = run(AllocBuffer(count), store(count, 0), While(const(True), body), store(OUT, load(count)))
    assert out[0] == 3


def test_break_leaves_a_loop() -> None:
    count = scalar("count", "int32")
    body = seq(store(count, load(count) + 1), If(load(count) == 3, Break()))
    assert run(AllocBuffer(count), store(count, 0), While(const(True), body), store(OUT, load(count)))[0] == 3


def test_a_warp_may_spin_on_what_another_writes() -> None:
    pool = Buffer("smem", (16,), DataType("uint8"), "shared")
    flag = Buffer("flag", (1,), INT32, "shared", source=pool)
    spin = While(load(flag) == 0, seq())
    ready = Evaluate(Call(DataType("handle"), "bar.sync.all", (const(0, "uint32"),)))
    roles = If(WARP == 0, spin, If(elect(), store(flag, 1)))
    body = seq(AllocBuffer(pool), DeclBuffer(flag), If(TID < 1, store(flag, 0)), ready, roles)
    report = simulate(kernel(body, store(OUT, 1), params=(OUT,), threads=64, smem=16), [np.zeros(1024, np.int32)])
    assert report.verdict != "deadlock", str(report)
    assert {f.kind for f in report.findings} <= {"race", "identical-writes"}


# -- what is generated ----------------------------------------------------------------------------------------------


def test_the_generated_source_can_be_inspected() -> None:
    translation = translate(kernel(store(OUT, 1, TID), params=(OUT,)))
    filename = translation.image.warp.__code__.co_filename
    assert "".join(linecache.getlines(filename)) == translation.source
    del translation
    gc.collect()
    assert filename not in linecache.cache, "the text of a function stays when the function is gone"


def test_a_function_that_is_not_lowered_is_refused() -> None:
    with pytest.raises(TirxError, match="lower it first"):
        translate(PrimFunc("kernel", (), seq()))


def test_bindings_keep_the_value_of_their_time() -> None:
    values, v = Buffer("values", (2,), INT32, "local"), Var(INT32, "v")
    stmts = [
        AllocBuffer(values),
        store(values, TID, 0),
        Bind(v, load(values, 0)),
        store(values, 99, 0),
        store(OUT, v, TID),
    ]
    assert (run(*stmts)[:32] == np.arange(32)).all()


@pytest.mark.parametrize("leaf", [TID, special("blockIdx.x"), load(OUT, TID)], ids=["static", "uniform", "loaded"])
def test_long_sums_are_not_nested_deeper_than_python_reads(leaf: Expr) -> None:
    total = leaf
    for _ in range(220):
        total = total + leaf
    out = np.ones(1024, np.int32)
    report = simulate(kernel(store(OUT, total, TID), params=(OUT,)), [out])
    assert report.findings == (), str(report)
    value = np.arange(32) if leaf is TID else 1 if isinstance(leaf, BufferLoad) else 0
    assert (out[:32] == 221 * value).all()


def test_an_instruction_takes_one_element_for_all_threads() -> None:
    values = Buffer("values", (64,), DataType("uint32"), "local")
    pointer = AddressOf(DataType("handle"), values, (TID,))
    attrs = (("shape", "32x32b"), ("num", 1))
    call = Evaluate(Call(DataType("handle"), "tcgen05.ld", (pointer, const(0, "uint32")), attrs))
    report = simulate(kernel(AllocBuffer(values), call), [])
    (finding,) = report.findings
    assert (finding.kind, report.verdict) == ("lowering", "fault") and "another element of values" in finding.message


def test_a_variable_may_get_its_first_value_in_a_loop() -> None:
    """What must change for the outer loop to end depends on it, before it has a value."""

    @T.prim_func
    def kernel(out: T.Buffer((32,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        rounds: T.int32
        inner: T.int32
        outer: T.int32
        rounds = 0
        outer = 0
        while outer < 3:
            inner = 0
            while inner < 2:
                inner += 1
                rounds += 1
            outer += inner - 1
        out[tx] = rounds

    out = np.zeros(32, np.int32)
    assert tvm.simulate(kernel, out).ok and (out == 6).all()

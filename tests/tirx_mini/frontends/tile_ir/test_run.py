"""Tile programs compiled, interpreted, simulated and tuned."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kernels_ref.tile import gemm, vector_add
from tirx_mini import Target
from tirx_mini.diagnose import SimulationError
from tirx_mini.frontends.tile_ir.run import compile, current_gpu, interpret, interpreted, simulate, simulated
from tirx_mini.ir import TirxError
from tirx_mini.tile_ir import ct, tune

A, B = np.arange(100, dtype=np.float32), np.ones(100, np.float32)


def test_a_launch_simulates_a_gpu() -> None:
    c = np.zeros(100, np.float32)
    with simulated("h100", schedules=3) as reports:
        ct.launch(None, (4,), vector_add.vector_add, (A, B, c, 32))
    (report,) = reports
    assert report.ok and report.time_us > 0 and report.gpu == "H100"
    np.testing.assert_array_equal(c, A + B)


def test_the_target_chooses_the_gpu() -> None:
    assert current_gpu() == "b200"
    with Target("sim:h100"):
        assert current_gpu() == "h100"
        with simulated("h200"):
            assert current_gpu() == "h200"


def test_every_level_has_a_text() -> None:
    matrix = np.zeros((64, 64), np.float16)
    program = compile(gemm.gemm_tile, (matrix, matrix, matrix, 32, 32, 32))
    assert "mmaf" in program.text("cuda_tile")
    assert "nv_tileaa.dot" in program.text("nv_tileaa") or " dot " in program.text("nv_tileaa")
    assert "#linear" in program.text("nv_tileas") or "#" in program.text("nv_tileas")
    with pytest.raises(ValueError, match="no stage 'sas'"):
        program.text("sas")


def test_a_program_is_compiled_once_for_each_kind_of_arguments() -> None:
    c = np.zeros(100, np.float32)
    first = compile(vector_add.vector_add, (A, B, c, 32))
    assert compile(vector_add.vector_add, (B, A, c, 32)) is first
    assert compile(vector_add.vector_add, (A, B, c, 64)) is not first
    assert first.func((4,)) is first.func((4, 1, 1))


def test_the_interpreter_and_the_simulator_agree() -> None:
    made = []
    for execute in (interpret, simulate):
        c = np.zeros(100, np.float32)
        execute((4,), vector_add.vector_add, (A, B, c, 32))
        made.append(c)
    np.testing.assert_array_equal(*made)


@ct.kernel
def wild(x, n):
    ct.store(x, (0,), ct.gather(x, ct.arange(4, dtype=ct.int32) + n, check_bounds=False))


def test_an_access_out_of_bounds_is_found() -> None:
    with interpreted(), pytest.raises(ct.TileError, match="out of the bounds"):
        ct.launch(None, (1,), wild, (np.zeros(8, np.float32), 1000))
    with pytest.raises(SimulationError):
        ct.launch(None, (1,), wild, (np.zeros(8, np.float32), 1000))


@ct.kernel
def turned(x, y, N: ct.Constant[int]):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (N, N)).transpose())


@ct.kernel
def copied(x, y):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (8, 16)))


@pytest.mark.parametrize(
    "name", ["float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "bfloat16", "float16", "uint8", "bool"]
)
def test_arrays_may_have_gaps_and_other_orders(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = np.arange(128, dtype=np.uint8).reshape(16, 8).astype(dtype)
    for y in (np.zeros((8, 16), dtype), np.zeros((16, 8), dtype).T, np.zeros((8, 32), dtype)[:, ::2]):
        with simulated("h100"):
            ct.launch(None, (1,), copied, (x.T, y))
        np.testing.assert_array_equal(y.view(f"u{dtype.itemsize}"), x.T.view(f"u{dtype.itemsize}"))


def test_a_tile_that_does_not_fit_in_shared_memory_is_named() -> None:
    x = np.zeros((256, 256), np.float32)
    report = simulate((1,), turned, (x, x.copy(), 256), "h100", data=False)
    page = str(report)
    assert report.verdict == "fault" and "TX303" in page
    assert "ct.load(x, (0, 0), (N, N)).transpose()" in page


def test_tuning_names_the_fastest_and_says_what_failed() -> None:
    found = tune.exhaustive_search(
        [16, 24, 64], None, lambda n: (ct.cdiv(100, n),), vector_add.vector_add,
        lambda n: (A, B, np.zeros(100, np.float32), n), quiet=True,
    )  # fmt: skip
    assert [m.config for m in found.successes] == [16, 64]
    ((config, kind, message),) = found.failures
    assert config == 24 and issubclass(kind, ct.TileTypeError) and "power of two" in message
    assert found.best.mean_us == min(m.mean_us for m in found.successes)


def test_strided_and_unsigned_arrays_are_passed_as_they_are() -> None:
    base = np.arange(200, dtype=np.uint32)
    c = np.zeros(100, np.uint32)
    ct.launch(None, (4,), vector_add.vector_add, (base[::2], base[1::2], c, 32))
    np.testing.assert_array_equal(c, base[::2] + base[1::2])


def test_numbers_without_code_are_refused_at_their_line() -> None:
    @ct.kernel
    def narrowed(x, y):
        t = ct.load(x, (ct.bid(0),), shape=(4,))
        ct.store(y, (ct.bid(0),), t.astype(ct.float4_e2m1fn).astype(ct.float32))

    x, y = np.ones(8, np.float32), np.ones(8, np.float32)
    with pytest.raises(TirxError, match="no code for numbers of type f4E2M1FN") as error:
        simulate((2,), narrowed, (x, y), gpu="b200")
    assert error.value.span is not None and error.value.span.file == __file__


@pytest.mark.parametrize("gpu", ["h100", "b200"])
@pytest.mark.parametrize("rows", [4, 3])
def test_two_ctas_of_a_cluster_share_what_they_load(gpu: str, rows: int) -> None:
    pairs = ct.kernel(num_ctas=2)(gemm.gemm_tile.function)
    tile = 64 if gpu == "h100" else 128
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((rows * tile, 128), (128, 2 * tile)))
    c = np.zeros((rows * tile, 2 * tile), np.float16)
    report = simulate((rows, 2), pairs, (a, b, c, tile, tile, 64), gpu, schedules=5)
    assert report.ok, report
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=5e-2)
    program = compile(pairs, (a, b, c, tile, tile, 64), gpu)
    assert ("__cluster_dims__(2, 1, 1)" in program.text("cuda", (rows, 2))) == (rows % 2 == 0)
    assert any("num_ctas has no effect" in note.message for note in program.context.notes) == (rows % 2 == 1)


@ct.kernel
def _fill(x):
    ct.store(x, (0,), ct.ones((4,), ct.float32))
    ct.store(x, (1,), ct.full((4,), float("nan"), ct.float32))


@pytest.mark.parametrize("gpu", ["h100", "b200"])
def test_a_tile_ends_beyond_an_array_of_another_length(gpu: str) -> None:
    """The first tile is stored as one vector; all lanes hold NaN for the second one, and that is one value."""
    x = np.zeros(6, np.float32)
    simulate((1,), _fill, (x,), gpu)
    np.testing.assert_array_equal(x, [1, 1, 1, 1, np.nan, np.nan])


@ct.kernel
def _rounded_up(x):
    ct.store(x, (0,), ct.cdiv(ct.load(x, (0,), (4,)), 5))


def test_the_greatest_unsigned_numbers_are_divided() -> None:
    x = np.array([0, 1, 2**31 + 4, 2**32 - 1], np.uint32)
    simulate((1,), _rounded_up, (x,), "h100")
    assert x.tolist() == [0, 1, (2**31 + 4) // 5 + 1, (2**32 - 1) // 5]


@ct.kernel
def _functions(x, y):
    t = ct.load(x, (0,), (8,))
    made = (ct.exp(t), ct.log2(t), ct.sqrt(t), ct.tanh(t), t**1.5, ct.floor(t), t % 0.3)
    for i in ct.static_iter(range(7)):
        ct.store(y, (i,), made[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_are_as_exact_as_their_dtype(dtype: type) -> None:
    x = np.geomspace(0.1, 1e9, 8).astype(dtype)
    x[-1] = 20.7
    y = np.zeros(56, dtype)
    simulate((1,), _functions, (x, y), "h100")
    with np.errstate(over="ignore"):
        exponential = np.exp(x)
    made = (exponential, np.log2(x), np.sqrt(x), np.tanh(x), x**1.5, np.floor(x), x % dtype(0.3))
    np.testing.assert_allclose(y, np.concatenate(made), rtol=1e-5 if dtype is np.float32 else 1e-14)

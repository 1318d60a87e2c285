"""Programs as strangers write them: stores by all threads, reducers, layouts given as functions, convolutions."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tirx_mini import tilelang
from tirx_mini.diagnose import SimulationError
from tirx_mini.tilelang import language as T


def run(func: Any, *args: Any, gpu: str = "h100") -> Any:
    """What a kernel computes into its last parameter, without findings."""
    with tilelang.simulated(gpu) as reports:
        result = tilelang.compile(func, out_idx=-1)(*args)
    assert reports[0].ok and not reports[0].findings
    return result


def test_a_value_that_all_threads_store_is_stored_once() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, 128), "float32"), mean: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=64) as row:
            values = T.alloc_fragment((128,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(A[row, :], values)
            T.reduce_sum(values, total)
            average = total[0] / 128
            mean[row] = average

    a = torch.randn(4, 128)
    torch.testing.assert_close(run(main, a), a.mean(1), atol=1e-5, rtol=1e-5)


def test_threads_of_one_column_store_once_what_they_have_added_up() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 16), "float32"), sums: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=(32, 4)):
            tn, tk = T.get_thread_binding(0), T.get_thread_binding(1)
            shared = T.alloc_shared((32,), "float32")
            own = T.alloc_local((1,), "float32")
            if tk == 0:
                shared[tn] = 0
            own[0] = 0
            for k in T.serial(4):
                own[0] += A[tn, tk * 4 + k]
            T.atomic_add(shared[tn], own[0])
            sums[tn] = shared[tn]

    a = torch.randn(32, 16)
    torch.testing.assert_close(run(main, a), a.sum(1), atol=1e-5, rtol=1e-5)


def test_different_values_in_one_place_are_a_race() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), out: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            out[0] = A[tx]

    with pytest.raises(SimulationError, match="writes out"):
        run(main, torch.randn(64))


def test_all_reduce_of_threads() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, 64), "float16"), sums: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=(4, 32)):
            row, lane = T.get_thread_binding(0), T.get_thread_binding(1)
            own = T.alloc_local((1,), "float32")
            whole = T.alloc_local((1,), "float32")
            own[0] = A[row, lane].astype("float32") + A[row, lane + 32].astype("float32")
            with T.attr(
                T.comm_reducer(lambda x, y: x + y, [T.Cast("float32", 0)]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), own[0], True, whole[0], lane, dtype="handle"))
            sums[row] = whole[0]

    a = torch.randn(4, 64).half()
    torch.testing.assert_close(run(main, a), a.float().sum(1), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(("op", "start"), [("sum", 2.0), ("max", None)])
def test_reducer(op: str, start: float | None) -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 128), "float32"), out: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((16,), "float32", op=op)
            T.reducer_init(acc, start)
            values = T.alloc_fragment((16, 64), "float32")
            for k in T.serial(2):
                T.copy(A[0, k * 64], values)
                for i, j in T.Parallel(16, 64):
                    T.reducer_update(acc[i], values[i, j])
            result = T.alloc_fragment((16,), "float32")
            T.finalize_reducer(acc, result)
            T.copy(result, out)

    a = torch.randn(16, 128)
    wanted = a.sum(1) + 2 if op == "sum" else a.amax(1)
    torch.testing.assert_close(run(main, a), wanted, atol=1e-4, rtol=1e-4)


def test_reducer_in_place() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 64), "float32"), out: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((16,), "float32", replication="all")
            T.clear(acc)
            for i, j in T.Parallel(16, 64):
                acc[i] += A[i, j]
            T.finalize_reducer(acc)
            T.copy(acc, out)

    a = torch.randn(16, 64)
    torch.testing.assert_close(run(main, a), a.sum(1), atol=1e-4, rtol=1e-4)


def test_a_fragment_has_the_threads_of_a_function() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), out: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((8, 64), "float32")
            top = T.alloc_fragment((8,), "float32")
            T.annotate_layout({tile: T.Fragment(tile.shape, forward_thread_fn=lambda i, j: i // 2 * 32 + j % 32)})
            T.copy(A, tile)
            T.reduce_absmax(tile, top, dim=1)
            T.copy(top, out)

    a = torch.randn(8, 64)
    assert torch.equal(run(main, a), a.abs().amax(1))
    assert "top_warps" not in tilelang.lower(main, "sm_90a").script(), "each row lies in one warp"


@pytest.mark.parametrize(("stride", "dilation", "pad"), [(1, 1, 1), (2, 1, 0)])
def test_convolution(stride: int, dilation: int, pad: int) -> None:
    size, channels, filters = 6, 16, 16
    out = (size + 2 * pad - dilation * 2 - 1) // stride + 1

    @T.prim_func
    def main(img: T.Tensor((1, size, size, channels), "float16"), flt: T.Tensor((9 * channels, filters), "float16"),
             res: T.Tensor((out * out, filters), "float32")):  # fmt: skip
        with T.Kernel(T.ceildiv(out * out, 64), threads=128) as bx:
            columns = T.alloc_shared((64, 48), "float16")
            weights = T.alloc_shared((48, filters), "float16")
            acc = T.alloc_fragment((64, filters), "float32")
            T.clear(acc)
            for k in T.Pipelined(3, num_stages=2):
                T.im2col(img, columns, bx, k, 3, stride, dilation, pad)
                T.copy(flt[k * 48, 0], weights)
                T.gemm(columns, weights, acc)
            T.copy(acc, res[bx * 64, 0])

    a, b = torch.randn(1, size, size, channels).half(), torch.randn(3, 3, channels, filters).half()
    wanted = torch.conv2d(
        a.float().permute(0, 3, 1, 2), b.float().permute(3, 2, 0, 1), stride=stride, padding=pad, dilation=dilation
    )
    found = run(main, a, b.reshape(-1, filters))
    torch.testing.assert_close(found, wanted.permute(0, 2, 3, 1).reshape(-1, filters), atol=1e-2, rtol=1e-2)


def test_long_rows_are_stored_without_tma() -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 512), "float32"), B: T.Tensor((2, 512), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((2, 512), "float32")
            T.copy(A, tile)
            T.copy(tile, B)

    a = torch.randn(2, 512)
    assert torch.equal(run(main, a), a)


def test_time_of_a_kernel_whose_way_depends_on_its_data() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), out: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            total = T.alloc_shared((1,), "float32")
            total[0] = 0
            T.atomic_add(total[0], A[tx])
            out[tx] = total[0]

    with tilelang.simulated("h100"):
        assert tilelang.compile(main, out_idx=-1).get_profiler().do_bench() > 0


# -- fragments in other threads ----------------------------------------------------------------------------------


def test_fragments_pass_through_shared_memory_where_other_threads_need_them() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float32"), order: T.Tensor((16,), "int32"), B: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=64):
            x = T.alloc_fragment((16, 16), "float32")
            turned = T.alloc_fragment((16, 16), "float32")
            number = T.alloc_fragment((16,), "int32")
            T.copy(A, x)
            T.copy(order, number)
            for i, j in T.Parallel(16, 16):
                x[i, j] = x[i, j] + 1.0
            for i, j in T.Parallel(16, 8):
                turned[i, j] = x[j, i] * 2.0
                turned[i, j + 8] = x[number[i], j]
            T.copy(turned, B)

    a, order = torch.randn(16, 16), torch.randperm(16).int()
    wanted = torch.cat([(a.T[:, :8] + 1) * 2, a[order.long(), :8] + 1], 1)
    torch.testing.assert_close(run(main, a, order), wanted)


def test_rows_and_columns_of_one_fragment() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 32), "float32")
            rows = T.alloc_fragment((32,), "float32")
            columns = T.alloc_fragment((32,), "float32")
            T.copy(A, x)
            T.reduce_sum(x, rows, dim=1)
            T.reduce_sum(x, columns, dim=0)
            for i in T.Parallel(32):
                rows[i] += columns[i]
            T.reduce_max(x, rows, dim=0, clear=False)
            for i, j in T.Parallel(32, 32):
                x[i, j] -= rows[i] * columns[j]
            T.copy(x, B)

    a = torch.randn(32, 32)
    rows = torch.maximum(a.sum(1) + a.sum(0), a.amax(0))
    torch.testing.assert_close(run(main, a), a - rows[:, None] * a.sum(0), atol=1e-4, rtol=1e-4)


def test_reductions_of_shared_memory_and_of_views() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 64), "float32"), B: T.Tensor((16, 4), "float32")):
        with T.Kernel(1, threads=64):
            shared = T.alloc_shared((16, 64), "float32")
            whole = T.alloc_shared((16,), "float32")
            x = T.alloc_fragment((16, 64), "float32")
            parts = T.alloc_fragment((16, 4), "float32")
            T.copy(A, shared)
            T.reduce_max(shared, whole, dim=1)
            T.copy(shared, x)
            T.reduce_absmax(T.reshape(x, [16, 4, 16]), parts, dim=2)
            for i, j in T.Parallel(16, 4):
                parts[i, j] += whole[i]
            T.copy(parts, B)

    a = torch.randn(16, 64)
    torch.testing.assert_close(run(main, a), a.reshape(16, 4, 16).abs().amax(2) + a.amax(1, keepdim=True))


def test_a_program_of_two_launches() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), sums: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(64, threads=32) as row:
            x = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(A[row, :], x)
            T.reduce_sum(x, total)
            sums[row] = total[0]
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                B[i] = sums[63 - i]

    a, sums = torch.randn(64, 64), torch.empty(64)
    with tilelang.simulated("h100") as reports:
        kernel = tilelang.compile(main, out_idx=-1)
        found = kernel(a, sums)
        assert kernel.get_profiler().do_bench() > 0
    assert [report.ok for report in reports] == [True, True]
    torch.testing.assert_close(found, a.sum(1).flip(0), atol=1e-4, rtol=1e-4)


def test_fast_math_flushes_subnormal_numbers() -> None:
    @T.prim_func
    def main(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                B[i] = T.exp2(A[i])

    a = torch.full((32,), -127.0)
    with tilelang.simulated("h100"):
        exact = tilelang.compile(main, out_idx=-1)(a)
        fast = tilelang.compile(main, out_idx=-1, pass_configs={"tl.enable_fast_math": True})(a)
    assert (exact > 0).all() and (fast == 0).all()


def test_a_tuner_of_configurations() -> None:
    def scaled(block: int = 0) -> Any:
        @T.prim_func
        def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
            with T.Kernel(64 // block, threads=32) as bx:
                for i in T.Parallel(block):
                    B[bx * block + i] = T.call_extern("float32", "fmaxf", A[bx * block + i], 0.0)

        return main

    with tilelang.simulated("h100"):
        tuner = tilelang.AutoTuner.from_kernel(scaled, [{"block": 32}, {"block": 64}]).set_compile_args(out_idx=[-1])
        result = tuner.set_profile_args(ref_prog=torch.relu).run()
    assert result.config["block"] in (32, 64) and result.latency > 0
    with tilelang.simulated("h100"), pytest.raises(AssertionError, match="differ"):
        tuner.set_profile_args(ref_prog=torch.neg).run()

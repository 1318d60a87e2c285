"""Pipelines of Gluon: persistent and warp-specialised products, and gathers through other layouts.

The arguments are a check and, maybe, a mistake in its barriers: ``gluon_pipelines.py persistent early``.
"""

import sys

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()
torch.manual_seed(0)
BLACKWELL = torch.cuda.get_device_capability()[0] == 10
SEED = sys.argv[2] if len(sys.argv) > 2 else "none"


def described(tensor, block):
    return TensorDescriptor.from_tensor(tensor, block, gl.NVMMASharedLayout.get_default_for(block, gl.float16))


def compare(kernel, grid, M, N, K, BM, BN, BK, **options):
    """Multiply random matrices, and compare the product with PyTorch's."""
    a, b = torch.randn(M, K, device=DEVICE).half(), torch.randn(K, N, device=DEVICE).half()
    c = torch.empty(M, N, device=DEVICE).half()
    maps = described(a, [BM, BK]), described(b, [BK, BN]), described(c, [BM, BN])
    kernel[(grid,)](*maps, M, N, K, BM=BM, BN=BN, BK=BK, **options)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=5e-2, rtol=1e-2)


@gluon.jit
def load_tiles(a, b, m, n, k, number, bars, A, B, STAGES: gl.constexpr):
    s = number % STAGES
    mbarrier.expect(bars.index(s), a.nbytes_per_cta + b.nbytes_per_cta)
    tma.async_copy_global_to_shared(a, [m, k], bars.index(s), A.index(s))
    tma.async_copy_global_to_shared(b, [k, n], bars.index(s), B.index(s))


@gluon.jit
def persistent_wgmma(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    STAGES: gl.constexpr,
    SEED: gl.constexpr,
    num_warps: gl.constexpr,
):
    A = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    B = gl.allocate_shared_memory(b.dtype, [STAGES, BK, BN], b.layout)
    out = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    bars = mbarrier.allocate_mbarrier(batch=STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(bars.index(stage), count=1)
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, BN, 16])
    columns = gl.cdiv(N, BN)
    steps = gl.cdiv(K, BK)
    number = 0
    for tile in range(gl.program_id(0), gl.cdiv(M, BM) * columns, gl.num_programs(0)):
        m, n = tile // columns * BM, tile % columns * BN
        for k in range(STAGES - 1):
            load_tiles(a, b, m, n, k * BK, number + k, bars, A, B, STAGES)
        acc = gl.zeros((BM, BN), gl.float32, layout)
        for k in range(steps):
            s = number % STAGES
            mbarrier.wait(bars.index(s), phase=number // STAGES & 1)
            acc = warpgroup_mma(A.index(s), B.index(s), acc, is_async=True)
            more = k + STAGES - 1 < steps
            if SEED == "early":
                if more:
                    load_tiles(a, b, m, n, (k + STAGES - 1) * BK, number + STAGES - 1, bars, A, B, STAGES)
            acc = warpgroup_mma_wait(num_outstanding=1, deps=(acc,))  # the product before has read its stage
            if SEED != "early":
                if more:
                    load_tiles(a, b, m, n, (k + STAGES - 1) * BK, number + STAGES - 1, bars, A, B, STAGES)
            number += 1
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        tma.store_wait(0)
        out.store(acc.to(c.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(c, [m, n], out)
    tma.store_wait(0)
    for stage in gl.static_range(STAGES):
        mbarrier.invalidate(bars.index(stage))


def check_persistent():
    if not BLACKWELL:
        compare(persistent_wgmma, 2, 192, 128, 256, 64, 128, 64, STAGES=3, SEED=SEED, num_warps=4)


@gluon.jit
def load_role(a, b, m, n, K, A, B, full, empty, BK: gl.constexpr, STAGES: gl.constexpr):
    for t in range(K // BK):
        mbarrier.wait(empty.index(t % STAGES), phase=(t // STAGES & 1) ^ 1)
        load_tiles(a, b, m, n, t * BK, t, full, A, B, STAGES)


@gluon.jit
def mma_role(A, B, acc, full, empty, done, K, BK: gl.constexpr, STAGES: gl.constexpr, SEED: gl.constexpr):
    use = False
    for t in range(K // BK):
        s = t % STAGES
        mbarrier.wait(full.index(s), phase=t // STAGES & 1)
        tcgen05_mma(A.index(s), B.index(s), acc, use_acc=use)
        if SEED == "arrive":  # frees the stage before the product has read it
            mbarrier.arrive(empty.index(s), count=1)
        else:
            tcgen05_commit(empty.index(s))
        use = True
    tcgen05_commit(done)


@gluon.jit
def store_role(c, m, n, acc, done, out, BN: gl.constexpr, num_warps: gl.constexpr):
    mbarrier.wait(done, phase=0)
    layout: gl.constexpr = gl.BlockedLayout([1, BN], [32, 1], [num_warps, 1], [0, 1])
    out.store(acc.load(layout).to(c.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [m, n], out)
    tma.store_wait(0)


@gluon.jit
def specialised_tcgen05(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    STAGES: gl.constexpr,
    SEED: gl.constexpr,
    num_warps: gl.constexpr,
):
    A = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    B = gl.allocate_shared_memory(b.dtype, [STAGES, BK, BN], b.layout)
    out = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    full, empty = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    done = mbarrier.allocate_mbarrier()
    for s in gl.static_range(STAGES):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    mbarrier.init(done, count=1)
    tmem_layout: gl.constexpr = TensorMemoryLayout([BM, BN], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], tmem_layout)
    columns = gl.cdiv(N, BN)
    m, n = gl.program_id(0) // columns * BM, gl.program_id(0) % columns * BN
    gl.warp_specialize(
        [
            (store_role, (c, m, n, acc, done, out, BN, num_warps)),
            (load_role, (a, b, m, n, K, A, B, full, empty, BK, STAGES)),
            (mma_role, (A, B, acc, full, empty, done, K, BK, STAGES, SEED)),
        ],
        [1, 1],
        [24, 24],
    )
    for s in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(s))
        mbarrier.invalidate(empty.index(s))
    mbarrier.invalidate(done)


def check_roles():
    if BLACKWELL:
        compare(specialised_tcgen05, 2, 256, 128, 256, 128, 128, 64, STAGES=2, SEED=SEED, num_warps=4)


@gluon.jit
def gather_rows(x, index, y, M: gl.constexpr, N: gl.constexpr, axis: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0])
    other: gl.constexpr = gl.BlockedLayout([2, 1], [8, 4], [1, 4], [0, 1])
    m = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    n = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    at = m[:, None] * N + n[None, :]
    found = gl.gather(gl.load(x + at), gl.load(index + at), axis=axis)
    turned = gl.convert_layout(found, other)
    m = gl.arange(0, M, layout=gl.SliceLayout(1, other))
    n = gl.arange(0, N, layout=gl.SliceLayout(0, other))
    gl.store(y + m[:, None] * N + n[None, :], turned)


def check_gather_rows():
    M, N = 32, 64
    x, y = torch.randn(M, N, device=DEVICE), torch.empty(M, N, device=DEVICE)
    for axis, extent in ((0, M), (1, N)):
        index = torch.randint(0, extent, (M, N), device=DEVICE, dtype=torch.int32)
        gather_rows[(1,)](x, index, y, M=M, N=N, axis=axis, num_warps=4)
        assert (y == torch.gather(x, axis, index.long())).all()


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"]()

"""Programs of Gluon: layouts, copies with barriers, tensor cores, specialised warps.

The argument is a check: ``python -m tirx_mini run gluon_programs.py tma``.
"""

import sys

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
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
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()
torch.manual_seed(0)
BLACKWELL = torch.cuda.get_device_capability()[0] == 10


@gluon.jit
def copy_1d(x, y, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(y + i, gl.load(x + i, mask=i < n), mask=i < n)


def check_copy():
    x = torch.randn(1000, device=DEVICE)
    y = torch.empty_like(x)
    copy_1d[(4,)](x, y, 1000, BLOCK=256, layout=gl.BlockedLayout([2], [32], [4], [0]), num_warps=4)
    assert (x == y).all()


@gluon.jit
def transpose(x, y, M, N, BM: gl.constexpr, BN: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    cols: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    m = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, rows))
    n = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, rows))
    v = gl.convert_layout(gl.load(x + m[:, None] * N + n[None, :]), cols)
    m = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, cols))
    n = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, cols))
    gl.store(y + n[None, :] * M + m[:, None], v)


def check_transpose():
    x = torch.randn(64, 96, device=DEVICE)
    y = torch.empty(96, 64, device=DEVICE)
    transpose[(2, 3)](x, y, 64, 96, BM=32, BN=32)
    assert (y == x.T).all()


@gluon.jit
def row_sum(x, y, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    r = gl.program_id(0)
    v = gl.load(x + r * N + gl.arange(0, N, layout=layout))
    gl.store(y + r, gl.sum(v, axis=0))


def check_row_sum():
    x = torch.randn(5, 256, device=DEVICE)
    y = torch.empty(5, device=DEVICE)
    row_sum[(5,)](x, y, N=256)
    torch.testing.assert_close(y, x.sum(1))


@gluon.jit
def cp_async_add(a, b, c, N, XB: gl.constexpr, YB: gl.constexpr, STAGES: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
    smem_layout: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    m = gl.program_id(0) * XB + gl.arange(0, XB, layout=gl.SliceLayout(1, layout))
    n0 = gl.arange(0, YB, layout=gl.SliceLayout(0, layout))
    A = gl.allocate_shared_memory(gl.float32, [STAGES, XB, YB], smem_layout)
    B = gl.allocate_shared_memory(gl.float32, [STAGES, XB, YB], smem_layout)
    for s in gl.static_range(STAGES - 1):
        at = m[:, None] * N + (s * YB + n0)[None, :]
        async_copy.async_copy_global_to_shared(A.index(s), a + at)
        async_copy.async_copy_global_to_shared(B.index(s), b + at)
        async_copy.commit_group()
    tiles = N // YB
    for t in range(tiles):
        ahead = t + STAGES - 1
        at = m[:, None] * N + (ahead * YB + n0)[None, :]
        mask = (ahead < tiles) & (n0[None, :] >= 0) & (m[:, None] >= 0)
        async_copy.async_copy_global_to_shared(A.index(ahead % STAGES), a + at, mask=mask)
        async_copy.async_copy_global_to_shared(B.index(ahead % STAGES), b + at, mask=mask)
        async_copy.commit_group()
        async_copy.wait_group(STAGES - 1)
        v = A.index(t % STAGES).load(layout) + B.index(t % STAGES).load(layout)
        gl.store(c + m[:, None] * N + (t * YB + n0)[None, :], v)


def check_cp_async():
    a, b = torch.randn(16, 640, device=DEVICE), torch.randn(16, 640, device=DEVICE)
    c = torch.empty_like(a)
    cp_async_add[(2,)](a, b, c, 640, XB=8, YB=128, STAGES=2)
    torch.testing.assert_close(c, a + b)


@gluon.jit
def tma_scale(x, y, XB: gl.constexpr, YB: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(x.dtype, [XB, YB], x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    r, c = gl.program_id(0) * XB, gl.program_id(1) * YB
    mbarrier.expect(bar, x.nbytes_per_cta)
    tma.async_copy_global_to_shared(x, [r, c], bar, tile)
    mbarrier.wait(bar, phase=0)
    mbarrier.invalidate(bar)
    v = tile.load(layout) * 2
    tile.store(v)
    fence_async_shared()
    tma.async_copy_shared_to_global(y, [r, c], tile)
    tma.store_wait(0)


def check_tma():
    x = torch.randn(64, 128, device=DEVICE).half()
    y = torch.empty_like(x)
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float16)
    tma_scale[(2, 2)](
        TensorDescriptor.from_tensor(x, [32, 64], layout),
        TensorDescriptor.from_tensor(y, [32, 64], layout),
        XB=32,
        YB=64,
    )
    assert (y == 2 * x).all()


@gluon.jit
def wgmma_matmul(
    a,
    b,
    c,
    K: gl.constexpr,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    STAGES: gl.constexpr,
    num_warps: gl.constexpr,
):
    A = gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout)
    B = gl.allocate_shared_memory(b.dtype, [STAGES, BK, BN], b.layout)
    bars = mbarrier.allocate_mbarrier(batch=STAGES)
    for s in gl.static_range(STAGES):
        mbarrier.init(bars.index(s), count=1)
    r, n = gl.program_id(0) * BM, gl.program_id(1) * BN
    for s in gl.static_range(STAGES - 1):
        mbarrier.expect(bars.index(s), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_copy_global_to_shared(a, [r, s * BK], bars.index(s), A.index(s))
        tma.async_copy_global_to_shared(b, [s * BK, n], bars.index(s), B.index(s))
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, BN, 16])
    acc = warpgroup_mma_init(gl.zeros((BM, BN), gl.float32, layout))
    for k in range(K // BK):
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        ahead = k + STAGES - 1
        p = ahead < K // BK
        bar = bars.index(ahead % STAGES)
        mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta, pred=p)
        tma.async_copy_global_to_shared(a, [r, ahead * BK], bar, A.index(ahead % STAGES), pred=p)
        tma.async_copy_global_to_shared(b, [ahead * BK, n], bar, B.index(ahead % STAGES), pred=p)
        mbarrier.wait(bars.index(k % STAGES), phase=k // STAGES & 1)
        acc = warpgroup_mma(A.index(k % STAGES), B.index(k % STAGES), acc, is_async=True)
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    for s in gl.static_range(STAGES):
        mbarrier.invalidate(bars.index(s))
    out = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    out.store(acc.to(c.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [r, n], out)
    tma.store_wait(0)


def check_wgmma():
    if BLACKWELL:
        return
    M, N, K = 128, 128, 256
    a, b = torch.randn(M, K, device=DEVICE).half(), torch.randn(K, N, device=DEVICE).half()
    c = torch.empty(M, N, device=DEVICE).half()
    L = gl.NVMMASharedLayout.get_default_for

    def d(t, s):
        return TensorDescriptor.from_tensor(t, s, L(s, gl.float16))

    wgmma_matmul[(2, 1)](
        d(a, [64, 64]), d(b, [64, 128]), d(c, [64, 128]), K=K, BM=64, BN=128, BK=64, STAGES=3, num_warps=4
    )
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=5e-2, rtol=1e-2)


@gluon.jit
def tcgen05_matmul(
    a, b, c, K: gl.constexpr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, num_warps: gl.constexpr
):
    A = gl.allocate_shared_memory(a.dtype, [BM, BK], a.layout)
    B = gl.allocate_shared_memory(b.dtype, [BK, BN], b.layout)
    loaded, done = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    tmem_layout: gl.constexpr = TensorMemoryLayout([BM, BN], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], tmem_layout)
    r, n = gl.program_id(0) * BM, gl.program_id(1) * BN
    use = False
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(loaded, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_copy_global_to_shared(a, [r, k], loaded, A)
        tma.async_copy_global_to_shared(b, [k, n], loaded, B)
        mbarrier.wait(loaded, phase=phase)
        tcgen05_mma(A, B, acc, use_acc=use)
        tcgen05_commit(done)
        mbarrier.wait(done, phase=phase)
        use = True
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(done)
    layout: gl.constexpr = gl.BlockedLayout([1, BN], [32, 1], [num_warps, 1], [0, 1])
    out = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    out.store(acc.load(layout).to(c.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [r, n], out)
    tma.store_wait(0)


def check_tcgen05():
    if not BLACKWELL:
        return
    M, N, K = 256, 128, 256
    a, b = torch.randn(M, K, device=DEVICE).half(), torch.randn(K, N, device=DEVICE).half()
    c = torch.empty(M, N, device=DEVICE).half()
    L = gl.NVMMASharedLayout.get_default_for

    def d(t, s):
        return TensorDescriptor.from_tensor(t, s, L(s, gl.float16))

    tcgen05_matmul[(2, 1)](d(a, [128, 64]), d(b, [64, 128]), d(c, [128, 128]), K=K, BM=128, BN=128, BK=64, num_warps=4)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=5e-2, rtol=1e-2)


@gluon.jit
def loads(x, tiles, bars_full, bars_empty, N, STAGES: gl.constexpr, XB: gl.constexpr, YB: gl.constexpr):
    for t in range(N):
        s = t % STAGES
        mbarrier.wait(bars_empty.index(s), phase=(t // STAGES & 1) ^ 1)
        mbarrier.expect(bars_full.index(s), x.nbytes_per_cta)
        tma.async_copy_global_to_shared(x, [gl.program_id(0) * XB, t * YB], bars_full.index(s), tiles.index(s))


@gluon.jit
def sums(x, y, tiles, bars_full, bars_empty, N, STAGES: gl.constexpr, XB: gl.constexpr, YB: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    total = gl.zeros((XB, YB), gl.float32, layout)
    for t in range(N):
        s = t % STAGES
        mbarrier.wait(bars_full.index(s), phase=t // STAGES & 1)
        total += tiles.index(s).load(layout).to(gl.float32)
        mbarrier.arrive(bars_empty.index(s), count=1)
    row = gl.sum(total, axis=1)
    m = gl.program_id(0) * XB + gl.arange(0, XB, layout=gl.SliceLayout(1, layout))
    gl.store(y + m, row)


@gluon.jit
def specialised(x, y, N, STAGES: gl.constexpr, XB: gl.constexpr, YB: gl.constexpr):
    tiles = gl.allocate_shared_memory(x.dtype, [STAGES, XB, YB], x.layout)
    full, empty = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    for s in gl.static_range(STAGES):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    gl.warp_specialize(
        [(sums, (x, y, tiles, full, empty, N, STAGES, XB, YB)), (loads, (x, tiles, full, empty, N, STAGES, XB, YB))],
        [1],
        [24],
    )
    for s in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(s))
        mbarrier.invalidate(empty.index(s))


def check_specialised():
    x = torch.randn(64, 512, device=DEVICE).half()
    y = torch.empty(64, device=DEVICE)
    layout = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float16)
    specialised[(2,)](TensorDescriptor.from_tensor(x, [32, 64], layout), y, 8, STAGES=3, XB=32, YB=64, num_warps=4)
    torch.testing.assert_close(y, x.float().sum(1), atol=1e-2, rtol=1e-3)


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"]()

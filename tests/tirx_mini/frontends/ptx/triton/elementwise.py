"""Programs of Triton without products: maps, reductions, scans, locks.

The argument is a check: ``python -m tirx_mini run elementwise.py softmax``.
"""

import sys

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

DEVICE = triton.runtime.driver.active.get_active_torch_device()
torch.manual_seed(0)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


def check_add():
    x, y = torch.rand(3000, device=DEVICE), torch.rand(3000, device=DEVICE)
    out = torch.empty_like(x)
    assert x.device == DEVICE and out.device == DEVICE
    add[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](x, y, out, 3000, BLOCK=1024)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)
    odd = torch.rand(100, device=DEVICE)[3:]
    add[(1,)](odd, odd, odd, 97, BLOCK=128)
    assert triton.testing.do_bench(lambda: add[(3,)](x, y, out, 3000, BLOCK=1024)) < 0.1


@triton.jit
def softmax(out, x, x_stride, out_stride, rows, cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    first, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=STAGES):
        col = tl.arange(0, BLOCK)
        mask = col < cols
        v = tl.load(x + row * x_stride + col, mask=mask, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(out + row * out_stride + col, e / tl.sum(e, axis=0), mask=mask)


def check_softmax():
    x = torch.randn(61, 781, device=DEVICE)
    y = torch.empty_like(x)
    props = triton.runtime.driver.active.utils.get_device_properties(DEVICE.index)
    kernel = softmax.warmup(y, x, x.stride(0), y.stride(0), 61, 781, BLOCK=1024, STAGES=4, num_warps=8, grid=(1,))
    kernel._init_handles()
    per_sm = props["max_num_regs"] // (kernel.n_regs * props["warpSize"] * 8)
    per_sm = min(per_sm, props["max_shared_mem"] // kernel.metadata.shared)
    programs = min(props["multiprocessor_count"] * per_sm, 61)
    kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), 61, 781, 1024, 4)
    torch.testing.assert_close(y, torch.softmax(x, 1))


@triton.jit
def seeded_dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    v = tl.load(x + i, mask=mask)
    keep = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(keep, v / (1 - p), 0.0), mask=mask)


def check_dropout():
    x = torch.randn(1000, device=DEVICE)
    out, again = torch.empty_like(x), torch.empty_like(x)
    seeded_dropout[(triton.cdiv(1000, 256),)](x, out, 1000, 0.5, 123, BLOCK=256)
    seeded_dropout[(triton.cdiv(1000, 256),)](x, again, 1000, 0.5, 123, BLOCK=256)
    assert (out == again).all()
    kept = out != 0
    assert 0.4 < kept.float().mean() < 0.6
    torch.testing.assert_close(out[kept], 2 * x[kept])


@triton.jit
def layer_norm_fwd(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(X + c, mask=c < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(X + c, mask=c < N, other=0.0).to(tl.float32)
        x = tl.where(c < N, x - mean, 0.0)
        square += x * x
    rstd = 1 / tl.sqrt(tl.sum(square, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for start in range(0, N, BLOCK):
        c = start + tl.arange(0, BLOCK)
        mask = c < N
        w, b = tl.load(W + c, mask=mask), tl.load(B + c, mask=mask)
        x = tl.load(X + c, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + c, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_bwd_dx(DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < N
    lock_id = row % GROUP
    Lock += lock_id
    Count = Lock + GROUP
    DW += lock_id * N + c
    DB += lock_id * N + c
    x = tl.load(X + row * stride + c, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + row * stride + c, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + c, mask=mask).to(tl.float32)
    mean, rstd = tl.load(Mean + row), tl.load(Rstd + row)
    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(DX + row * stride + c, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    dw, db = dy * xhat, dy
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    tl.debug_barrier()  # Triton puts none between the loads of all threads and the exchange of one
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        dw += tl.load(DW, mask=mask)
        db += tl.load(DB, mask=mask)
    tl.store(DW, dw, mask=mask)
    tl.store(DB, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def layer_norm_bwd_dwdb(DW, DB, FW, FB, M, N, BM: tl.constexpr, BN: tl.constexpr):
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    dw, db = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for i in range(0, M, BM):
        r = i + tl.arange(0, BM)
        mask = (r[:, None] < M) & (c[None, :] < N)
        at = r[:, None] * N + c[None, :]
        dw += tl.load(DW + at, mask=mask, other=0.0)
        db += tl.load(DB + at, mask=mask, other=0.0)
    tl.store(FW + c, tl.sum(dw, axis=0), mask=c < N)
    tl.store(FB + c, tl.sum(db, axis=0), mask=c < N)


def check_layer_norm():
    M, N, GROUP = 23, 300, 8
    x = torch.randn(M, N, device=DEVICE, requires_grad=True)
    w = torch.rand(N, device=DEVICE, requires_grad=True)
    b = torch.rand(N, device=DEVICE, requires_grad=True)
    dy = torch.randn(M, N, device=DEVICE)
    y = torch.empty_like(x)
    mean = torch.empty(M, device=DEVICE)
    rstd = torch.empty(M, device=DEVICE)
    layer_norm_fwd[(M,)](x, y, w, b, mean, rstd, x.stride(0), N, 1e-5, BLOCK=256, num_warps=4)
    ref = torch.nn.functional.layer_norm(x, (N,), w, b, 1e-5)
    torch.testing.assert_close(y, ref, atol=1e-4, rtol=1e-4)
    ref.backward(dy)
    dx = torch.empty_like(dy)
    locks = torch.zeros(2 * GROUP, dtype=torch.int32, device=DEVICE)
    dw, db = torch.zeros(GROUP, N, device=DEVICE), torch.zeros(GROUP, N, device=DEVICE)
    layer_norm_bwd_dx[(M,)](
        dx, dy, dw, db, x, w, mean, rstd, locks, x.stride(0), N, GROUP=GROUP, BLOCK=512, num_warps=4
    )
    fw, fb = torch.empty(N, device=DEVICE), torch.empty(N, device=DEVICE)
    layer_norm_bwd_dwdb[lambda m: (triton.cdiv(N, m["BN"]),)](dw, db, fw, fb, GROUP, N, BM=32, BN=128)
    torch.testing.assert_close(dx, x.grad, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(fw, w.grad, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(fb, b.grad, atol=1e-3, rtol=1e-3)


@triton.jit
def asin_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, libdevice.asin(v), mask=i < n)


def check_libdevice():
    x = torch.rand(1000, device=DEVICE)
    y = torch.empty_like(x)
    asin_kernel[(4,)](x, y, 1000, BLOCK=256)
    torch.testing.assert_close(y, torch.asin(x))


@triton.jit
def histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    h = tl.histogram(v, BINS, mask=i < n)
    tl.atomic_add(out + tl.arange(0, BINS), h)


def check_histogram():
    x = torch.randint(0, 64, (1000,), dtype=torch.int32, device=DEVICE)
    out = torch.zeros(64, dtype=torch.int32, device=DEVICE)
    histogram[(4,)](x, out, 1000, BINS=64, BLOCK=256)
    assert (out == torch.bincount(x, minlength=64)).all()


@triton.jit
def cumulative(x, y, N: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(x + r * N + i)
    tl.store(y + r * N + i, tl.cumsum(v, axis=0))


def check_scan():
    x = torch.randint(-9, 9, (6, 512), dtype=torch.int32, device=DEVICE)
    y = torch.empty_like(x)
    cumulative[(6,)](x, y, N=512)
    assert (y == torch.cumsum(x, 1)).all()


@triton.jit
def transpose(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N))
    tl.store(y + n[:, None] * M + m[None, :], tl.trans(v), mask=(n[:, None] < N) & (m[None, :] < M))


def check_transpose():
    x = torch.randn(100, 70, device=DEVICE)
    y = torch.empty(70, 100, device=DEVICE)
    transpose[(4, 3)](x, y, 100, 70, BM=32, BN=32)
    assert (y == x.T).all()


@triton.jit
def argmax_rows(x, value, index, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=-float("inf"))
    m, at = tl.max(v, axis=0, return_indices=True)
    tl.store(value + r, m)
    tl.store(index + r, at)


def check_argmax():
    x = torch.randn(9, 200, device=DEVICE)
    v = torch.empty(9, device=DEVICE)
    i = torch.empty(9, dtype=torch.int32, device=DEVICE)
    argmax_rows[(9,)](x, v, i, 200, BLOCK=256)
    assert (v == x.max(1).values).all() and (i == x.argmax(1)).all()


@triton.jit
def sort_rows(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.sort(tl.load(x + i)))


def check_sort():
    x = torch.randn(3, 128, device=DEVICE)
    y = torch.empty_like(x)
    sort_rows[(3,)](x, y, N=128)
    assert (y == x.sort(1).values).all()


@triton.jit
def scale_each(table, N: tl.constexpr):
    x = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32)) + tl.arange(0, N)
    tl.store(x, 2 * tl.load(x))


def check_timed_table():
    arrays = [torch.ones(128, device=DEVICE) for _ in range(2)]
    table = torch.tensor([each.data_ptr() for each in arrays], device=DEVICE)
    assert triton.testing.do_bench(lambda: scale_each[(2,)](table, N=128)) > 0
    for each in arrays:
        each.fill_(3)
    scale_each[(2,)](table, N=128)
    assert all((each == 6).all() for each in arrays)


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"]()

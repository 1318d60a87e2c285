"""Programs of Triton with tensor descriptors, persistent loops, groups and block scales.

The argument is a check: ``python -m tirx_mini run descriptors.py softmax``.
"""

import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()
torch.manual_seed(0)
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=DEVICE))
BLACKWELL = torch.cuda.get_device_capability()[0] == 10


def data(M, N, K):
    return (
        torch.randn(M, K, device=DEVICE).half(),
        torch.randn(N, K, device=DEVICE).half(),
        torch.empty(M, N, device=DEVICE).half(),
    )


def check(a, b, c):
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, atol=5e-2, rtol=1e-2)


@triton.jit
def host_tma(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        acc = tl.dot(A.load([pm * BM, k * BK]), B.load([pn * BN, k * BK]).T, acc)
    C.store([pm * BM, pn * BN], acc.to(tl.float16))


def check_host_tma():
    a, b, c = data(256, 256, 192)
    host_tma[(2, 2)](
        *(TensorDescriptor.from_tensor(t, [128, s]) for t, s in ((a, 64), (b, 64), (c, 128))),
        192,
        BM=128,
        BN=128,
        BK=64,
        num_stages=3,
    )
    check(a, b, c)


@triton.jit
def device_tma(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(B, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        acc = tl.dot(a.load([pm * BM, k * BK]), b.load([pn * BN, k * BK]).T, acc)
    c.store([pm * BM, pn * BN], acc.to(tl.float16))


def check_device_tma():
    a, b, c = data(256, 128, 192)
    device_tma[(2, 1)](a, b, c, 256, 128, 192, BM=128, BN=128, BK=64, num_stages=3)
    check(a, b, c)


@triton.jit
def persistent(
    A, B, C, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr
):
    tm, tn = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tm * tn, PROGRAMS, flatten=True, warp_specialize=WS):
        pm, pn = tile // tn, tile % tn
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(A.load([pm * BM, k * BK]), B.load([pn * BN, k * BK]).T, acc)
        C.store([pm * BM, pn * BN], acc.to(tl.float16))


def run_persistent(ws):
    a, b, c = data(384, 256, 192)
    descs = [TensorDescriptor.from_tensor(t, [128, s]) for t, s in ((a, 64), (b, 64), (c, 128))]
    persistent[(2,)](
        *descs, 384, 256, 192, PROGRAMS=2, BM=128, BN=128, BK=64, WS=ws, num_stages=3, num_warps=4 if ws else 8
    )
    check(a, b, c)


def check_persistent():
    run_persistent(False)


def check_warp_specialised():
    if BLACKWELL:
        run_persistent(True)


@triton.jit
def grouped(As, Bs, Cs, sizes, groups, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    last = 0
    for g in range(groups):
        M, N, K = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        tm, tn = tl.cdiv(M, BM), tl.cdiv(N, BN)
        while tile >= last and tile < last + tm * tn:
            A = tl.load(As + g).to(tl.pointer_type(tl.float16))
            B = tl.load(Bs + g).to(tl.pointer_type(tl.float16))
            C = tl.load(Cs + g).to(tl.pointer_type(tl.float16))
            at = tile - last
            om, on, ok = at // tn * BM + tl.arange(0, BM), at % tn * BN + tl.arange(0, BN), tl.arange(0, BK)
            a = A + om[:, None] * K + ok[None, :]
            b = B + ok[:, None] * N + on[None, :]
            acc = tl.zeros((BM, BN), tl.float32)
            for _k in range(tl.cdiv(K, BK)):
                tl.multiple_of(a, [16, 16])
                tl.multiple_of(b, [16, 16])
                acc += tl.dot(tl.load(a), tl.load(b))
                a += BK
                b += BK * N
            tl.store(C + om[:, None] * N + on[None, :], acc.to(tl.float16))
            tile += PROGRAMS
        last = last + tm * tn


def check_grouped():
    shapes = [(128, 64, 64), (64, 128, 96)]
    a = [torch.randn(m, k, device=DEVICE).half() for m, n, k in shapes]
    b = [torch.randn(k, n, device=DEVICE).half() for m, n, k in shapes]
    c = [torch.empty(m, n, device=DEVICE).half() for m, n, k in shapes]
    ptrs = [torch.tensor([t.data_ptr() for t in ts], device=DEVICE) for ts in (a, b, c)]
    sizes = torch.tensor(shapes, dtype=torch.int32, device=DEVICE)
    grouped[(3,)](*ptrs, sizes, 2, PROGRAMS=3, BM=64, BN=64, BK=32)
    for x, y, z in zip(a, b, c, strict=False):
        torch.testing.assert_close(z.float(), x.float() @ y.float(), atol=5e-2, rtol=1e-2)


@triton.jit
def scaled(A, SA, B, SB, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om, on, ok = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    os = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(A + om[:, None] * K + (k * BK + ok)[None, :])
        b = tl.load(B + on[None, :] * K + (k * BK + ok)[:, None])
        sa = tl.load(SA + om[:, None] * (K // 32) + (k * BK // 32 + os)[None, :])
        sb = tl.load(SB + on[:, None] * (K // 32) + (k * BK // 32 + os)[None, :])
        acc = tl.dot_scaled(a, sa, "e5m2", b, sb, "e5m2", acc)
    tl.store(C + om[:, None] * N + on[None, :], acc)


def check_scaled():
    M, N, K = 128, 128, 256
    a, b = (
        torch.randn(M, K, device=DEVICE).to(torch.float8_e5m2),
        torch.randn(N, K, device=DEVICE).to(torch.float8_e5m2),
    )
    sa, sb = (torch.randint(124, 130, (s, K // 32), dtype=torch.uint8, device=DEVICE) for s in (M, N))
    c = torch.empty(M, N, device=DEVICE)
    scaled[(1, 1)](a, sa, b, sb, c, M, N, K, BM=128, BN=128, BK=128)

    def grow(s):
        return (2.0 ** (s.float() - 127)).repeat_interleave(32, 1)

    torch.testing.assert_close(c, (a.float() * grow(sa)) @ (b.float() * grow(sb)).T, atol=1e-1, rtol=1e-2)


@triton.jit
def gather_rows(X, I, Y, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.load(I + tl.arange(0, BM))
    Y.store([0, 0], X.gather(rows, 0))


def check_gather():
    if BLACKWELL:
        x = torch.randn(256, 64, device=DEVICE).half()
        i = torch.randint(0, 256, (32,), dtype=torch.int32, device=DEVICE)
        y = torch.empty(32, 64, device=DEVICE).half()
        gather_rows[(1,)](
            TensorDescriptor.from_tensor(x, [1, 64]), i, TensorDescriptor.from_tensor(y, [32, 64]), BM=32, BN=64
        )
        assert (y == x[i.long()]).all()


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"]()

"""Programs of Triton that multiply matrices.

The argument is a check: ``python -m tirx_mini run products.py softmax``.
"""

import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()
torch.manual_seed(0)


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32, "G": 8}, num_stages=3, num_warps=4),
        triton.Config({"BM": 128, "BN": 128, "BK": 64, "G": 8}, num_stages=3, num_warps=8),
        triton.Config({"BM": 128, "BN": 64, "BK": 32, "G": 8}, num_stages=4, num_warps=4),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul(
    A,
    B,
    C,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    scn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    G: tl.constexpr,
    ACT: tl.constexpr,
):
    pid = tl.program_id(0)
    tm, tn = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (G * tn)
    first = group * G
    size = min(tm - first, G)
    pm = first + (pid % (G * tn)) % size
    pn = (pid % (G * tn)) // size
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    a = A + om[:, None] * sam + ok[None, :] * sak
    b = B + ok[:, None] * sbk + on[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        x = tl.load(a, mask=ok[None, :] < K - k * BK, other=0.0)
        y = tl.load(b, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK * sak
        b += BK * sbk
    if ACT == "leaky":
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.store(
        C + om[:, None] * scm + on[None, :] * scn,
        acc.to(C.dtype.element_ty),
        mask=(om[:, None] < M) & (on[None, :] < N),
    )


def run_matmul(dtype, M=256, N=192, K=160, act=""):
    a, b = torch.randn(M, K, device=DEVICE).to(dtype), torch.randn(K, N, device=DEVICE).to(dtype)
    c = torch.empty(M, N, dtype=torch.float16, device=DEVICE)
    matmul[lambda m: (triton.cdiv(M, m["BM"]) * triton.cdiv(N, m["BN"]),)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), ACT=act
    )
    ref = a.float() @ b.float()
    torch.testing.assert_close(c.float(), torch.nn.functional.leaky_relu(ref) if act else ref, atol=5e-2, rtol=1e-2)


def check_matmul():
    run_matmul(torch.float16, act="leaky")


def check_matmul_bf16():
    run_matmul(torch.bfloat16)


def check_matmul_fp8():
    M, N, K = 128, 128, 128
    a, b = (
        torch.randn(M, K, device=DEVICE).to(torch.float8_e5m2),
        torch.randn(N, K, device=DEVICE).to(torch.float8_e5m2).T,
    )
    c = torch.empty(M, N, dtype=torch.float16, device=DEVICE)
    matmul[lambda m: (triton.cdiv(M, m["BM"]) * triton.cdiv(N, m["BN"]),)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), ACT=""
    )
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=0.2, rtol=2e-2)


def check_matmul_tf32():
    M, N, K = 64, 64, 96
    a, b = torch.randn(M, K, device=DEVICE), torch.randn(K, N, device=DEVICE)
    c = torch.empty(M, N, device=DEVICE)
    matmul.fn[(triton.cdiv(M, 64) * triton.cdiv(N, 64),)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=64, BN=64, BK=32, G=4, ACT=""
    )
    torch.testing.assert_close(c, a @ b, atol=5e-2, rtol=1e-2)


@triton.jit
def attention(Q, K, V, O, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start, head = tl.program_id(0), tl.program_id(1)
    m, d = start * BM + tl.arange(0, BM), tl.arange(0, D)
    base = head * N * D
    q = tl.load(Q + base + m[:, None] * D + d[None, :])
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = (start + 1) * BM if CAUSAL else N
    for n0 in range(0, end, BN):
        n = n0 + tl.arange(0, BN)
        k = tl.load(K + base + n[None, :] * D + d[:, None])
        s = tl.dot(q, k) * (scale * 1.44269504)
        if CAUSAL:
            s = tl.where(m[:, None] >= n[None, :], s, -1e6)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(top - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(V + base + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        top = new
    tl.store(O + base + m[:, None] * D + d[None, :], (acc / total[:, None]).to(O.dtype.element_ty))


def check_attention():
    H, N, D = 2, 256, 64
    q, k, v = (torch.randn(H, N, D, device=DEVICE).half() for _ in range(3))
    for causal in (False, True):
        o = torch.empty_like(q)
        attention[(N // 128, H)](q, k, v, o, 0.125, N, D=D, BM=128, BN=64, CAUSAL=causal, num_warps=4, num_stages=2)
        ref = torch.nn.functional.scaled_dot_product_attention(
            q.float(), k.float(), v.float(), is_causal=causal, scale=0.125
        )
        torch.testing.assert_close(o.float(), ref, atol=2e-2, rtol=2e-2)


@triton.jit
def split_k(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr):
    pm, pn, ps = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    om, on, ok = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), ps * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for _k in range(tl.cdiv(K, BK * S)):
        x = tl.load(A + om[:, None] * K + ok[None, :])
        y = tl.load(B + ok[:, None] * N + on[None, :])
        acc += tl.dot(x, y)
        ok += BK * S
    tl.atomic_add(C + om[:, None] * N + on[None, :], acc)


def check_split_k():
    M, N, K = 64, 64, 256
    a, b = torch.randn(M, K, device=DEVICE).half(), torch.randn(K, N, device=DEVICE).half()
    c = torch.zeros(M, N, device=DEVICE)
    split_k[(1, 1, 4)](a, b, c, M, N, K, BM=64, BN=64, BK=32, S=4)
    torch.testing.assert_close(c, a.float() @ b.float(), atol=5e-2, rtol=1e-2)


@triton.jit
def partial_sums(a, b, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, k = tl.arange(0, BM), tl.arange(0, BK)
    x = a.load([0, 0])
    acc = tl.zeros((BM, BK), tl.float32)
    for t in tl.range(0, tl.program_id(0) * BN, BN, num_stages=3):  # the first program has no iteration
        y = b.load([t, 0])
        acc = tl.dot(tl.dot(x, y.T).to(tl.float16), y, acc)
    tl.store(c + tl.program_id(0) * BM * BK + m[:, None] * BK + k[None, :], acc)


def check_empty_loop():
    a, b = torch.randn(64, 64, device=DEVICE).half(), torch.randn(64, 64, device=DEVICE).half()
    c = torch.empty(2, 64, 64, device=DEVICE)
    partial_sums[(2,)](*(TensorDescriptor.from_tensor(t, [64, 64]) for t in (a, b)), c, BM=64, BN=64, BK=64)
    assert (c[0] == 0).all()
    torch.testing.assert_close(c[1], (a.float() @ b.float().T).half().float() @ b.float(), atol=0.5, rtol=2e-2)


if __name__ == "__main__":
    globals()[f"check_{sys.argv[1]}"]()

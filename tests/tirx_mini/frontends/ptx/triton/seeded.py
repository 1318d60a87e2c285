"""Programs of Gluon with a mistake each, of barriers and fences: the argument is the mistake, or "none"."""

import sys

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()
SEED = sys.argv[1] if len(sys.argv) > 1 else "none"


@gluon.jit
def scale(x, y, n, XB: gl.constexpr, YB: gl.constexpr, SEED: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(x.dtype, [XB, YB], x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=2 if SEED == "count" else 1)
    phase = 0
    for t in range(n):
        if SEED != "expect":
            mbarrier.expect(bar, x.nbytes_per_cta // (2 if SEED == "bytes" else 1))
        tma.async_copy_global_to_shared(x, [0, t * YB], bar, tile)
        if SEED != "wait":
            mbarrier.wait(bar, phase=1 - phase if SEED == "phase" else phase)
        value = tile.load(layout) * 2
        tile.store(value)
        fence_async_shared()
        tma.async_copy_shared_to_global(y, [0, t * YB], tile)
        if SEED != "store_wait":
            tma.store_wait(0)
        phase ^= 1
    tma.store_wait(0)
    mbarrier.invalidate(bar)


x = torch.randn(32, 256, device=DEVICE).half()
y = torch.empty_like(x)
smem = gl.NVMMASharedLayout.get_default_for([32, 64], gl.float16)
descriptors = [TensorDescriptor.from_tensor(t, [32, 64], smem) for t in (x, y)]
scale[(1,)](*descriptors, 4, XB=32, YB=64, SEED=SEED, num_warps=4)

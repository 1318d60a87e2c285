"""TMA copies of views: the tensor map is that of the parameter, with the view's extents and strides."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.layout import S, SwizzleMode, TileLayout, tma_shared_layout
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx


def copies(dtype: str = "float16") -> PrimFunc:
    """B = the first 64 columns of 128 rows of A, a flat array seen as rows of 96 elements."""
    layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((128 * 96,), "float16"), B: Tx.Buffer((128, 64), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            warp_id = Tx.warp_id([4], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            bar = pool.alloc((1,), "uint64", align=8)
            tile = pool.alloc((128, 64), dtype, layout=layout)
            pool.commit()
            rows = A.view(128, 96, dtype=dtype, layout=TileLayout(S[(128, 96) : (96, 1)]))
            if warp_id == 0:
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            if warp_id == 0:
                if lane_id == 0:
                    Tx.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 128 * 64 * 2)
                    Tx.copy_async(tile[:, :], rows[:, 0:64], dispatch="tma", mbar=bar.ptr_to([0]))
            Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            with Tx.cta():
                Tx.copy(B[:, :], tile[:, :])

    return kernel


def test_a_view_of_a_parameter() -> None:
    func = lower(copies())
    (tensor_map,) = func.tensor_maps
    assert tensor_map.buffer is func.params[0] and tensor_map.dims == (96, 128) and tensor_map.strides == (192,)
    a = np.arange(128 * 96).astype(np.float16)
    b = np.zeros((128, 64), np.float16)
    assert tvm.simulate(copies(), a, b, gpu="h100").verdict == "ok"
    assert (b == a.reshape(128, 96)[:, :64]).all()


def test_a_view_of_another_dtype_is_refused() -> None:
    with pytest.raises(TirxError, match="of another dtype"):
        lower(copies("bfloat16"))

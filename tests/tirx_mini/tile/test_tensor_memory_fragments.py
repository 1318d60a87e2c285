"""Fragments of tensor memory: copies by the 16-row shapes of tcgen05.ld and tcgen05.st."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.lang import TMEMPool
from tirx_mini.layout import tcgen05_atom_layout, tmem_datapath_layout
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T


def there_and_back(shape: str, rows: int, columns: int, dtype: str, path: str, upper: int = 0) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((rows, columns), dtype), B: T.Buffer((rows, columns), dtype)):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        T.thread_id([128])
        pool = T.SMEMPool()
        tmem_pool = TMEMPool(pool, total_cols=128)
        tmem = tmem_pool.alloc((rows, columns), dtype, layout=tmem_datapath_layout(path, rows, columns, upper))
        pool.commit()
        tmem_pool.commit()
        T.cuda.cta_sync()
        layout = tcgen05_atom_layout(shape, (rows, columns), dtype)
        out = T.alloc_local((rows, columns), dtype, layout=layout)
        back = T.alloc_local((rows, columns), dtype, layout=layout)
        T.wg.copy(out, A)
        T.wg.copy_async(tmem, out)
        T.ptx.tcgen05.wait.st()
        T.wg.copy_async(back, tmem)
        T.ptx.tcgen05.wait.ld()
        T.wg.copy(B, back)
        T.cuda.cta_sync()
        tmem_pool.dealloc()

    return kernel


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "dtype", "path", "upper"),
    [
        ("16x64b", 64, 64, "float32", "F", 0),
        ("16x128b", 64, 64, "float16", "F", 1),
        ("16x256b", 64, 32, "float32", "F", 0),
        ("16x256b", 128, 64, "bfloat16", "D", 0),
        ("16x64b", 128, 16, "float32", "D", 0),
        ("32x32b", 64, 64, "float32", "B", 0),
    ],
)
def test_what_is_stored_is_loaded_again(
    shape: str, rows: int, columns: int, dtype: str, path: str, upper: int
) -> None:
    kernel = there_and_back(shape, rows, columns, dtype, path, upper)
    kind = tirx_mini.sim.numpy_dtype(tirx_mini.DataType(dtype))
    a, b = np.random.default_rng(3).standard_normal((rows, columns)).astype(kind), np.zeros((rows, columns), kind)
    report = tirx_mini.simulate(kernel, a, b, gpu="b200")
    assert report.verdict == "ok", report
    assert (a == b).all()
    text = tirx_mini.compile(kernel, target="sim:b200").source("cuda")
    assert f".{shape}.x" in text


def test_a_fragment_of_another_data_path_is_refused() -> None:
    with pytest.raises(TirxError, match="does not map rows to lanes"):
        lower(there_and_back("16x64b", 64, 64, "float32", "B"))

# pyright: reportMissingImports=false
"""Compare predicted and measured times of Triton's kernels: the programs of the tests, at the sizes of real work.

    PYTHONPATH=. python benchmarks/triton_clock.py -o measured.csv                            # on a GPU
    PYTHONPATH=. python -m tirx_mini run --gpu h100 benchmarks/triton_clock.py -o h100.csv    # predicted, anywhere
    PYTHONPATH=. python benchmarks/triton_clock.py --compare measured.csv h100.csv

Both must come from one version of Triton, since another one writes other PTX. Microseconds of one of many launches in a
row (`triton.testing.do_bench_cudagraph`), median of five. Texts choose the kernels whose names have one of them.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.tirx_mini.frontends.ptx.triton import descriptors, elementwise, products

DEVICE = elementwise.DEVICE
REPEATS = 5
Launch = Callable[[], object]


def _random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device=DEVICE).to(dtype)


def maps() -> Iterator[tuple[str, Launch]]:
    """Kernels that read and write each element once."""
    for n in (1 << 20, 1 << 22, 1 << 26):
        x, y, out = (torch.empty(n, device=DEVICE) for _ in range(3))
        yield f"add {n >> 20} Mi", partial(elementwise.add[(n // 1024,)], x, y, out, n, BLOCK=1024)
    n = 1 << 24
    x, out = torch.empty(n, device=DEVICE), torch.empty(n, device=DEVICE)
    yield "dropout 16 Mi", partial(elementwise.seeded_dropout[(n // 1024,)], x, out, n, 0.5, 123, BLOCK=1024)
    yield "asin 16 Mi", partial(elementwise.asin_kernel[(n // 1024,)], x, out, n, BLOCK=1024)
    for side in (2048, 8192):
        x, y = torch.empty(side, side, device=DEVICE), torch.empty(side, side, device=DEVICE)
        transpose = elementwise.transpose[(side // 64, side // 64)]
        yield f"transpose {side}", partial(transpose, x, y, side, side, BM=64, BN=64)


def rows() -> Iterator[tuple[str, Launch]]:
    """Reductions, scans and sorts of rows."""
    for m, n in ((4096, 1024), (8192, 4096)):
        x, y = _random(m, n), torch.empty(m, n, device=DEVICE)
        softmax = elementwise.softmax[(m,)]
        yield f"softmax {m} x {n}", partial(softmax, y, x, n, n, m, n, BLOCK=n, STAGES=2, num_warps=8)
    m, n = 4096, 4096
    x, y, w, b = _random(m, n), torch.empty(m, n, device=DEVICE), _random(n), _random(n)
    mean, rstd = torch.empty(m, device=DEVICE), torch.empty(m, device=DEVICE)
    forward = elementwise.layer_norm_fwd[(m,)]
    yield f"layer norm {m} x {n}", partial(forward, x, y, w, b, mean, rstd, n, n, 1e-5, BLOCK=1024, num_warps=8)
    dw, db, fw, fb = _random(256, n), _random(256, n), torch.empty(n, device=DEVICE), torch.empty(n, device=DEVICE)
    sums = elementwise.layer_norm_bwd_dwdb[(n // 128,)]
    yield f"layer norm, weights, 256 x {n}", partial(sums, dw, db, fw, fb, 256, n, BM=32, BN=128)
    at = torch.empty(m, dtype=torch.int32, device=DEVICE)
    yield f"argmax {m} x {n}", partial(elementwise.argmax_rows[(m,)], x, mean, at, n, BLOCK=n)
    x, y = (torch.zeros(m, 1024, dtype=torch.int32, device=DEVICE) for _ in range(2))
    yield f"cumulative sum {m} x 1024", partial(elementwise.cumulative[(m,)], x, y, N=1024)
    x = _random(m, 512)
    yield f"sort {m} x 512", partial(elementwise.sort_rows[(m,)], x, torch.empty_like(x), N=512)


TILES = ((128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 64, 32, 4, 4))
"""(BM, BN, BK, warps, stages) of the products."""
PRODUCTS = (
    *((torch.float16, size, tile) for size in (1024, 2048, 4096) for tile in TILES),
    (torch.bfloat16, 2048, TILES[0]),
    (torch.float8_e5m2, 2048, (128, 128, 128, 8, 3)),
)


def matmuls() -> Iterator[tuple[str, Launch]]:
    """Products of pointers to tiles."""
    for dtype, size, (bm, bn, bk, warps, stages) in PRODUCTS:
        a, b = _random(size, size, dtype=dtype), _random(size, size, dtype=dtype).T
        c = torch.empty(size, size, dtype=torch.float16, device=DEVICE)
        strides = (*a.stride(), *b.stride(), *c.stride())
        launch = vars(products.matmul)["fn"][(triton.cdiv(size, bm) * triton.cdiv(size, bn),)]
        tile = {"BM": bm, "BN": bn, "BK": bk, "G": 8, "ACT": "", "num_warps": warps, "num_stages": stages}
        name = f"matmul {str(dtype).removeprefix('torch.')} {size}, {bm} x {bn} x {bk}"
        yield name, partial(launch, a, b, c, size, size, size, *strides, **tile)
    m, n, k = 256, 256, 8192
    a, b, c = _random(m, k, dtype=torch.float16), _random(k, n, dtype=torch.float16), _random(m, n)
    split = products.split_k[(2, 2, 32)]
    yield f"split K {m} x {n} x {k}", partial(split, a, b, c, m, n, k, BM=128, BN=128, BK=64, S=32, num_warps=8)


def attentions() -> Iterator[tuple[str, Launch]]:
    """Attention of sixteen heads."""
    tile = {"BM": 128, "BN": 64, "num_warps": 8, "num_stages": 3}
    for length, dim in ((2048, 64), (4096, 128)):
        tensors = [_random(16, length, dim, dtype=torch.float16) for _ in range(4)]
        launch = products.attention[(length // 128, 16)]
        for causal in (False, True):
            name = f"attention {length} x {dim}{', causal' if causal else ''}"
            yield name, partial(launch, *tensors, 0.125, length, D=dim, CAUSAL=causal, **tile)


def descriptor_products() -> Iterator[tuple[str, Launch]]:
    """Products that load by TMA."""
    tile = {"BM": 128, "BN": 128, "BK": 64, "num_stages": 3, "num_warps": 8}
    for size in (2048, 4096):
        a, b, c = (_random(size, size, dtype=torch.float16) for _ in range(3))
        tensors = [TensorDescriptor.from_tensor(t, [128, s]) for t, s in ((a, 64), (b, 64), (c, 128))]
        tiles = size // 128
        yield f"TMA matmul {size}", partial(descriptors.host_tma[(tiles, tiles)], *tensors, size, **tile)
        loop = descriptors.persistent[(132,)]
        yield (
            f"persistent TMA matmul {size}",
            partial(loop, *tensors, size, size, size, PROGRAMS=132, WS=False, **tile),
        )


def cases(chosen: Sequence[str]) -> Iterator[tuple[str, Launch]]:
    """Yield the kernels whose names have one of the texts, or all."""
    for group in (maps, rows, matmuls, attentions, descriptor_products):
        for name, launch in group():
            if not chosen or any(text in name for text in chosen):
                yield name, launch


def compare(measured: Path, predicted: Path) -> None:
    """Print both times of each kernel, and the errors."""
    found = {row[0]: float(row[1]) for row in csv.reader(predicted.open())}
    errors = []
    print("| kernel | measured µs | predicted | ratio |\n| --- | ---: | ---: | ---: |")
    for name, us in csv.reader(measured.open()):
        if name in found:
            ratio = found[name] / float(us)
            errors.append(abs(ratio - 1))
            print(f"| {name} | {float(us):.1f} | {found[name]:.1f} | {ratio:.2f} |")
    print(f"\noff by, median: {statistics.median(errors):.1%}; worst: {max(errors):.1%}; {len(errors)} kernels")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", help="texts in the names of kernels; all by default")
    parser.add_argument("--list", action="store_true", help="print the names of the kernels")
    parser.add_argument("-o", "--csv", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("MEASURED", "PREDICTED"))
    options = parser.parse_args()
    if options.compare:
        compare(*options.compare)
        return
    table = []
    for name, launch in cases(options.kernels):
        if options.list:
            print(name)
            continue
        us = 1e3 * statistics.median(triton.testing.do_bench_cudagraph(launch) for _ in range(REPEATS))
        print(f"{name:40} {us:9.2f}", flush=True)
        table.append((name, f"{us:.3f}"))
    if options.csv:
        with options.csv.open("w", newline="") as file:
            csv.writer(file).writerows(table)


if __name__ == "__main__":
    main()

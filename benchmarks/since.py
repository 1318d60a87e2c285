"""Programs of which the CUDA text changed since another commit, by both compilers, on the GPU of this machine.

    mkdir -p build/old && git archive REV | tar x -C build/old
    PYTHONPATH=. python3 benchmarks/since.py build/old --rounds 5

Each tree compiles in a process of its own, and the two take turns in every round. A ratio is the median over the
rounds of the old text's time divided by the new one's: above 1, the new text is faster. The products of eight-bit
types by TileLang are also compared with those by cuTile.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from tile_cases import Array, Constant, passed
from tile_cases import cases as tile_cases
from tilelang_cases import cases as tilelang_cases

ROOT = Path(__file__).parents[1]
BATCH_MS = 6.0
TARGET = "cuda:sm_90a"
EIGHT_BITS = {"float8_e4m3fn": "float32", "int8": "int32"}
"""Types of the factors and of the sums."""
EIGHT_BITS_SIZE = 4096
EIGHT_BITS_TILES = {(128, 128, 128): (4, 5, 6), (128, 256, 128): (3, 4), (256, 128, 128): (3, 4)}
"""The tiles of a product, with the stages that TileLang's programs try."""
TILELANG, CUTILE = "tilelang eight bits", "tile eight bits"
STEPS_SHAPE = (4096, 4096, 4096)
DIGEST = 32
"""The characters of a text's digest; an answer of another length is an error."""

Build = Callable[[], Any]
"""Compiles a program, and returns the executable."""


def programs() -> Iterator[tuple[str, Build, tuple[tuple[str, tuple[int, ...]] | int | float | bool, ...]]]:
    """Name, compiler and arguments, an array as its type and shape, of each program."""
    import tirx_mini as tvm
    from tirx_mini.course import load_kernels
    from tirx_mini.hardware import HOPPER

    run = import_module("tirx_mini.tile_ir.run")  # a name that every commit has
    pipeline = import_module("tirx_mini.tilelang.pipeline")

    def compiled(func: Any) -> Any:
        return tvm.compile(tvm.IRModule({"main": func}), target=TARGET)

    m, n, k = STEPS_SHAPE
    arrays = (("float16", (m, k)), ("float16", (n, k)), ("float16", (m, n)))
    for step, factory in load_kernels(Path(tvm.__file__).parents[1] / "kernels_ref", HOPPER.kernels).items():
        yield f"step {step}", lambda factory=factory: compiled(factory(m, n, k)), arrays

    def tile(case: Any) -> Any:
        import numpy as np

        empty = {a.name: np.empty(a.shape, a.dtype) for a in case.args if isinstance(a, Array)}
        kernel = getattr(import_module(f"kernels_ref.tile.{case.program}"), case.kernel)
        return compiled(run.compile(kernel, passed(case, empty), "h100").func((*case.grid, 1, 1)[:3]))

    for case in (case for problem in tile_cases().values() for case in problem):
        described = tuple((a.dtype, a.shape) if isinstance(a, Array) else a for a in case.args)
        yield f"tile {case.file}", partial(tile, case), tuple(a for a in described if not isinstance(a, Constant))

    stand_in: Any = types.ModuleType("tilelang")
    stand_in.language = import_module("tirx_mini.tilelang.language")
    sys.modules |= {"tilelang": stand_in, "tilelang.language": stand_in.language}
    sources = import_module("tilelang_programs")

    def tilelang(program: str, args: Any, fast: bool = False) -> Any:
        func = getattr(sources, program)(**args)
        return compiled(pipeline.lower(func.with_attrs({pipeline.FAST_MATH: True} if fast else {}), "sm_90a"))

    for case in tilelang_cases():
        arrays = tuple(("float16", shape) for shape in case.arrays)
        yield f"tilelang {case.file}", partial(tilelang, case.program, case.args, case.fast), arrays

    def cutile(dtype: str, sums: str, tiles: tuple[int, ...]) -> Any:
        import ml_dtypes
        import numpy as np
        from eight_bits import multiply

        factors = np.empty((size, size), getattr(ml_dtypes, dtype, dtype))
        kernel = run.compile(multiply, (factors, factors, np.empty((size, size), sums), *tiles), "h100")
        return compiled(kernel.func((size // tiles[0], size // tiles[1], 1)))

    size = EIGHT_BITS_SIZE
    for (dtype, sums), (tiles, depths) in product(EIGHT_BITS.items(), EIGHT_BITS_TILES.items()):
        plan = f"{dtype} {'x'.join(map(str, tiles))}"
        args = {"m": size, "n": size, "k": size, **dict(zip(("block_m", "block_n", "block_k"), tiles, strict=True))}
        args |= {"dtype": dtype, "sums_dtype": sums, "out_dtype": sums, "transposed": True}
        arrays = ((dtype, (size, size)), (dtype, (size, size)), (sums, (size, size)))
        for stages in depths:
            yield f"{TILELANG} {plan} {stages}", partial(tilelang, "matmul", args | {"stages": stages}), arrays
        yield f"{CUTILE} {plan}", partial(cutile, dtype, sums, tiles), arrays


def tensor(description: Any) -> Any:
    import torch

    if not isinstance(description, tuple):
        return description
    dtype, shape = description
    if dtype.startswith("int"):
        return torch.randint(-4, 4, shape, device="cuda").to(getattr(torch, dtype))
    return torch.randn(shape, device="cuda").to(getattr(torch, dtype))


def serve() -> None:
    """Answer the lines of standard input: "texts WORD" builds programs, and the name of a built one times it."""
    import torch

    from tirx_mini.runtime import LaunchGraph

    built: dict[str, Any] = {}
    graphs: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in map(str.strip, sys.stdin):
        if line.startswith("texts"):
            answer: Any = {}
            for name, build, described in programs():
                if line.removeprefix("texts").strip() not in name:
                    continue
                try:
                    built[name], arguments[name] = build(), described
                    answer[name] = hashlib.sha256(built[name].source("cuda").encode()).hexdigest()[:DIGEST]
                except Exception as error:  # a program that this tree does not take is left out
                    answer[name] = f"{type(error).__name__}: {str(error)[:200]}"
        else:
            if line not in graphs:
                args = [tensor(each) for each in arguments[line]]
                launch = partial(built[line], *args)
                launch()
                torch.cuda.synchronize()
                single = LaunchGraph(launch, 1).ms()
                graph = LaunchGraph(launch, max(2, min(200, round(BATCH_MS / max(single, 1e-3)))))
                graphs[line] = graph, args  # which a graph does not keep alive
            answer = graphs[line][0].ms()
        print(json.dumps(answer), file=answers, flush=True)


class Tree:
    """A process with the package of one tree, and the programs of these benchmarks."""

    def __init__(self, tree: Path) -> None:
        here = Path(__file__).resolve()
        self._process = subprocess.Popen(
            [sys.executable, str(here), "--serve", str(tree)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": f"{tree.resolve()}:{here.parent}"},
        )  # fmt: skip

    def put(self, question: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, question: str) -> Any:
        self.put(question)
        return self.answer()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="the tree of the other commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of the names of the programs")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    old, new = trees = Tree(options.tree), Tree(ROOT)
    for tree in trees:
        tree.put(f"texts {options.only}")
    then, now = (tree.answer() for tree in trees)
    ratios: list[float] = []
    for name in (name for name in now if then.get(name) != now[name]):
        if failed := [text for text in (then.get(name, "is not there"), now[name]) if len(text) != DIGEST]:
            print(f"{name}: {failed}", flush=True)
            continue
        times = [(old.ask(name), new.ask(name)) for _ in range(options.rounds + 2)][2:]
        ratios.append(statistics.median(a / b for a, b in times))
        before, after = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{name}: {before:.4f} → {after:.4f} ms, {ratios[-1]:.3f}", flush=True)
    mean = statistics.geometric_mean(ratios or [1.0])
    print(f"{len(now)} programs, {len(ratios)} with another text, geometric mean {mean:.4f}")
    for dtype in EIGHT_BITS:
        compare_languages(
            dtype, new, [name for name in now if dtype in name and len(now[name]) == DIGEST], options.rounds
        )
    return 0


def compare_languages(dtype: str, tree: Tree, names: Sequence[str], rounds: int) -> None:
    """Print the times of all plans of a product, taken in turn, and the ratio of the fastest ones."""
    from tirx_mini.runtime import in_turn

    if not names:
        return
    times = in_turn({name: partial(tree.ask, name) for name in names}, rounds)
    for name, took in times.items():
        print(f"{name}: {statistics.median(took):.4f} ms", flush=True)
    best = [
        min((name for name in names if name.startswith(language)), key=lambda name: statistics.median(times[name]))
        for language in (TILELANG, CUTILE)
    ]
    ratio = statistics.median(a / b for a, b in zip(*(times[name] for name in best), strict=True))
    print(f"{dtype}: {best[0]} takes {ratio:.3f} of the time of {best[1]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""A mixture-of-experts kernel and a GEMM through the levels of the compiler of tile programs: `docs/tile_ir.md`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from kernels_ref.tile import gemm, moe
from tirx_mini.frontends.tile_ir.nv_tileaa import NV_TILEAA
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER
from tirx_mini.frontends.tile_ir.program import TileProgram
from tirx_mini.frontends.tile_ir.run import compile
from tirx_mini.frontends.tile_ir.ssa import Module, diff, print_module
from tools.pages import as_table

TOKENS, CHOICES, EXPERTS, WIDTH = 1024, 2, 8, 4096
SIZE = 4096
GPUS = {"h100": "H100", "b200": "B200"}
LONGEST = 110
"""Longer lines of a dump are shown without their types."""
FIRST = "Views become memrefs, tiles tensors, and exits of loops flags; what bounds of integers decide disappears."
"""What the first pass does, which is no pass of nv_tileas."""
LAYOUTS_PLACED, AGENTS_MADE = "tileas-remove-layout-conversions", "tileas-materialize-schedule"


def _experts(gpu: str) -> TileProgram:
    """The first product of the mixture of experts."""
    rows, tile = TOKENS * CHOICES + EXPERTS * moe.TILES[0], moe.TILES[0]
    arrays = (
        np.zeros((TOKENS, WIDTH), np.float16), np.zeros((EXPERTS, WIDTH, WIDTH), np.float16),
        np.zeros((TOKENS * CHOICES, WIDTH), np.float16), np.zeros(TOKENS * CHOICES, np.float32),
        np.zeros(rows, np.int32), np.zeros(rows // tile, np.int32),
    )  # fmt: skip
    return compile(moe.expert_gemm, (*arrays, CHOICES, False, *moe.TILES), gpu)


def _product(gpu: str) -> TileProgram:
    matrix = np.zeros((SIZE, SIZE), np.float16)
    return compile(gemm.gemm_tile, (matrix, matrix, matrix, *gemm.TILES), gpu)


@cache
def _steps(make: Any, gpu: str) -> tuple[tuple[str, str, Module], ...]:
    """Name and changed lines (+a −b) of each pass, and the module after it."""
    found: list[tuple[str, str, Module]] = []

    def watch(name: str, before: Module, after: Module) -> None:
        lines = diff(before, after, name).splitlines()[2:]
        more, less = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        found.append((name, f"+{more} −{less}" if more or less else "", after))

    make(gpu).passes(watch)
    return tuple(found)


def _after(name: str, gpu: str = "h100") -> str:
    return print_module(next(module for step, _, module in _steps(_experts, gpu) if step == name))


def _shown(line: str) -> str:
    """A line of a dump, without its types where it is long; what it opens stays."""
    if len(line) <= LONGEST or line.startswith("#"):
        return line
    head = re.split(r" : (?=[^:]*$)|(?<!\)) : (?=\(?!?[a-z_.]+<)", line, maxsplit=1)[0]
    return f"{head} : …" + (" {" if line.endswith("{") else "")


def _left(lines: Sequence[str]) -> list[str]:
    """Lines moved to the left."""
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[indent:] for line in lines]


def _block(lines: Sequence[str]) -> str:
    """Lines as a block of text."""
    return "```text\n" + "\n".join(map(_shown, _left(lines))) + "\n```"


def _from(text: str, first: str) -> list[str]:
    """The line that contains `first`, and the region that it opens."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if first in line)
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = next(i for i in range(start + 1, len(lines)) if lines[i][: indent + 1].strip() == "}")
    return lines[start : end + 1]


def _source() -> str:
    """The loop of the kernel, in Python."""
    lines = inspect.getsource(moe.expert_gemm.function).splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("for k"))
    end = next(i for i, line in enumerate(lines) if i > start and "ct.mma" in line)
    body = [line[4:] for line in lines[start : end + 1]]
    return "<!-- not run: a part of kernels_ref/tile/moe.py -->\n```python\n" + "\n".join(body) + "\n```"


def _passes() -> str:
    """Every pass, with the lines of both kernels that it changes on both GPUs."""
    columns = [(make, gpu) for make in (_product, _experts) for gpu in GPUS]
    cells = [{name: changed for name, changed, _ in _steps(make, gpu)} for make, gpu in columns]
    docs = {step.name: step.doc for step in IN_ORDER}
    header = ("pass", "what it does", *(f"{what}, {gpu}" for what in ("GEMM", "experts") for gpu in GPUS.values()))
    rows = [header, ("---", "---", "---:", "---:", "---:", "---:")]
    for name, _, _ in _steps(*columns[0]):
        rows.append((f"`{name}`", docs.get(name, FIRST), *(cell.get(name, "") for cell in cells)))
    return as_table(rows)


_PIPELINE = re.compile(r'label = "(\w+)"\} : !nv_tileas\.pipeline<(\d+), (\w+) -> (\w+)')
_AGENT = re.compile(r"agent (\w+) warps\((\d+)\)")


def _chosen() -> str:
    """What the compiler chose for each kernel and GPU."""
    rows = [("kernel", "GPU", "tile", "agents (warps)", "pipelines (stages)", "products"), ("---",) * 6]
    for what, make, tiles in (("GEMM", _product, gemm.TILES), ("experts", _experts, moe.TILES)):
        for gpu, name in GPUS.items():
            text = print_module(_steps(make, gpu)[-1][2])
            agents = _AGENT.findall(text) or [("all", re.findall(r"num_warps = (\d+)", text)[0])]
            pipelines = [f"{label}: {a} → {b} ({n})" for label, n, a, b in _PIPELINE.findall(text)]
            rows.append((
                what, name, " × ".join(map(str, tiles)), ", ".join(f"{a} ({n})" for a, n in agents),
                "; ".join(pipelines) or "–", _instruction(text),
            ))  # fmt: skip
    return as_table(rows)


def _instruction(text: str) -> str:
    """The instruction of the products of a program."""
    marked = re.search(r'mma = "?(\w+)"?', text)
    name = marked[1] if marked else "wgmma" if "-> wgmma" in text else "fma"
    return {"mma_sync": "`mma.sync`", "tcgen05": "`tcgen05.mma`"}.get(name, f"`{name}`")


def _layouts() -> str:
    """What the loop moves and multiplies, and the layouts that these lines name."""
    text = _after(LAYOUTS_PLACED)
    lines = _left(_outline(_from(text, "scf.for %k")))
    named = [line for line in text.splitlines() if re.match(r"#linear|#shared", line)]
    used = [line for line in named if any(re.search(rf"{line.split()[0]}\b", step) for step in lines)]
    return _block([*used, *lines])


_KEPT = re.compile(r"\bscf\.|\basync\.|\bagent|_layout |dot |load |store |^\s*[}^]")


def _outline(lines: Sequence[str]) -> list[str]:
    """Lines that open regions, move tiles or multiply them; "…" for those between them."""
    kept: list[str] = []
    for line in lines:
        if _KEPT.search(line):
            kept.append(line)
        elif not kept or kept[-1].strip() != "…":
            kept.append(" " * (len(line) - len(line.lstrip())) + "…")
    return kept


def passages() -> Iterator[tuple[str, str]]:
    yield "tile-levels-source", _source()
    yield "tile-levels-cuda-tile", _block(_from(_experts("h100").text("cuda_tile"), "for %k"))
    converted = print_module(_steps(_experts, "h100")[0][2], NV_TILEAA.name)
    yield "tile-levels-nv-tileaa", _block(_from(converted, "scf.for %k"))
    yield "tile-levels-layouts", _layouts()
    yield "tile-levels-agents", _block(_outline(_from(_after(AGENTS_MADE), "agent_switch")))
    yield "tile-levels-passes", _passes()
    yield "tile-levels-chosen", _chosen()

"""Attention as the compiler of tile programs makes it for Blackwell: `docs/tile_ir.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from kernels_ref.tile import attention
from tirx_mini.frontends.tile_ir.run import compile
from tirx_mini.frontends.tile_ir.ssa import print_module
from tools.figures import records
from tools.pages import as_table

LENGTH, COLUMNS, TILES = 4096, 128, (256, 64)
_SHOWN = re.compile(r"scf\.|async\.dot|consumer_wait|producer_acquire|consumer_release|producer_commit|create_pipeline")


def _program() -> str:
    array = np.zeros((8, LENGTH, COLUMNS), np.float16)
    args = (array, array, array, array.copy(), 0.1, False, *TILES, COLUMNS)
    return print_module(compile(attention.attention_tile, args, "b200").nv_tileas)


def _rings() -> str:
    """The pipelines of attention."""
    lines = (line for line in _program().splitlines() if "create_pipeline" in line)
    return "```text\n" + "\n".join(re.sub(r" \{label = .*\} :", " :", line.strip()) for line in lines) + "\n```"


def _agent() -> str:
    """What the agent that issues MMAs does in an iteration."""
    text = _program()
    agent = text[text.index("agent mma") : text.index("agent compute")].splitlines()
    start = max(number for number, line in enumerate(agent) if "scf.for %n" in line)
    indent = len(agent[start]) - len(agent[start].lstrip())
    end = next(number for number in range(start, len(agent)) if agent[number].strip() == "}"
               and len(agent[number]) - len(agent[number].lstrip()) == indent)  # fmt: skip
    lines = []
    for line in agent[start : end + 1]:
        if not (_SHOWN.search(line) or line.strip() in ("}", "} else {")):
            continue
        short = line[indent:].split(" : ")[0] if "async.dot" in line else line[indent:]
        short = re.sub(r"iter_args\(.*", "… {", short)
        lines.append(re.sub(r"scf\.yield.*", "scf.yield …", re.sub(r"scf\.if (%\w+).*\{", r"scf.if \1 {", short)))
    return "```text\n" + "\n".join(lines) + "\n```"


def _times() -> str:
    """The predicted times, from docs/b200_tile.csv."""
    found = [
        (row["problem"], row["tile"], f"{float(row['us']):.1f}", f"{float(row['tflops']):.0f}")
        for row in records("b200_tile.csv")
    ]
    return as_table([("problem", "tile", "µs", "TFLOPS"), ("---", "---", "---:", "---:"), *found])


def passages() -> Iterator[tuple[str, str]]:
    yield "tile-between-rings", _rings()
    yield "tile-between-agent", _agent()
    yield "tile-between-times", _times()

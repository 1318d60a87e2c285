"""From a tile program to a cubin, by our compiler and NVIDIA's, from docs/tile_compile.csv."""

from __future__ import annotations

from collections.abc import Iterator

from tools.figures import records
from tools.pages import as_table

OURS, PEER = "ours", "TileIR"


def table() -> str:
    rows = records("tile_compile.csv")
    by = {(row["program"], row["arch"], row["compiler"]): row for row in rows}
    names = ["program", "GPU code", "imports", "to CUDA C++", "to a cubin", "all", "TileIR", "ratio", "again: CUDA C++",
             "again: cubin", "again: TileIR"]  # fmt: skip
    lines = [names, ["---", "---", *["---:"] * (len(names) - 2)]]
    for program, arch, compiler in by:
        if compiler != OURS:
            continue
        ours, peer = by[program, arch, OURS], by[program, arch, PEER]
        whole, other = (float(row["import_s"]) + float(row["cubin_s"]) for row in (ours, peer))
        times = (float(ours[name]) for name in ("import_s", "text_s", "cubin_s"))
        again = (float(ours["again_text_s"]), float(ours["again_cubin_s"]), float(peer["again_cubin_s"]))
        cells = [*(f"{t:.2f}" for t in times), f"{whole:.2f}", f"{other:.2f}", f"{whole / other:.2f}"]
        lines.append([program, f"`{arch}`", *cells, *(f"{t:.2f}" for t in again)])
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "tile-compile", table()

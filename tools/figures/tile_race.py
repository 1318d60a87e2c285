"""Tile programs on Hopper GPUs (h100_tile.csv, h200_tile.csv, h200_types.csv, h100_attention.csv and h100_experts.csv
in docs), and under schedules."""

from __future__ import annotations

from collections.abc import Iterator

from tools.figures import records
from tools.pages import as_table

GPUS = ("h100", "h200")
COMPILERS = ("ours", "TileIR", "Triton")
Best = tuple[float, float, str]
"""Speed, ratio, and the candidate's name."""


def found(file: str) -> dict[str, dict[str, Best]]:
    """By problem and compiler; libraries have names of their own."""
    best: dict[str, dict[str, Best]] = {}
    for row in records(file):
        name = row["candidate"]
        compiler = next((c for c in COMPILERS if name.startswith(c)), name)
        one = float(row["speed"]), float(row["ratio"]), name.removeprefix(compiler).strip()
        known = best.setdefault(row["problem"], {}).get(compiler)
        best[row["problem"]][compiler] = max(one, known) if known else one
    return best


def table(gpu: str) -> str:
    lines = [["problem", "library", *COMPILERS, "our plan"], ["---", "---", *["---:"] * 3, "---"]]
    for problem, by in found(f"{gpu}_tile.csv").items():
        library = next(name for name in by if name not in COMPILERS)
        unit = "TFLOPS" if problem.startswith(("gemm", "moe", "attention")) else "GB/s"
        cells = [f"{by[c][0]:.0f}" if c in by else "–" for c in COMPILERS]
        plan = by["ours"][2] if "ours" in by else ""
        lines.append([problem, f"{library}: {by[library][0]:.0f} {unit}", *cells, plan])
    return as_table(lines)


def types() -> str:
    """GEMMs of other types, and of few rows, beside PyTorch's."""
    lines = [["M × N × K", "product", "type", "tile", "µs", "TFLOPS", "PyTorch, µs", "ratio"]]
    lines.append(["---"] * 4 + ["---:"] * 4)
    for row in records("h200_types.csv"):
        ratio = float(row["torch_us"]) / float(row["us"])
        shape = row["shape"].replace("×", " × ")
        product = f"`{row['product']}`"
        lines.append(
            [shape, product, row["dtype"], row["tiles"], row["us"], row["tflops"], row["torch_us"], f"{ratio:.2f}"]
        )
    return as_table(lines)


def experts() -> str:
    """The mixture of experts beside one dense product of the same size, whose time is divided by the others'."""
    lines = [["rows of the experts", "cuBLAS, dense", "ours", "Triton"], ["---", *["---:"] * 3]]
    for problem, by in found("h100_experts.csv").items():
        cells = [f"{by[c][0]:.0f} TFLOPS ({by[c][1]:.2f})" for c in ("ours", "Triton")]
        kind = "half of them one expert's, none another's" if "uneven" in problem else "equal"
        lines.append([kind, f"{by['cuBLAS, dense'][0]:.0f} TFLOPS", *cells])
    return as_table(lines)


ORDERS = "ours", "one loop", "diagonal first", "diagonal block"


def attention() -> str:
    """TFLOPS of cuDNN and of each program, with cuDNN's time divided by the program's in brackets."""
    heads = ["length × columns", "cuDNN", "loop and loop", "one loop", "diagonal loop first", "diagonal block first"]
    lines = [heads, ["---", *["---:"] * 5]]
    by: dict[str, dict[str, tuple[float, float]]] = {}
    for row in records("h100_attention.csv"):
        by.setdefault(row["problem"], {})[row["candidate"]] = float(row["tflops"]), float(row["ratio"])
    for problem, mine in by.items():
        best = (mine.get(f"{order} 128×128") for order in ORDERS)
        cells = ["" if one is None else f"{one[0]:.0f} ({one[1]:.2f})" for one in best]
        lines.append([problem.removeprefix("causal "), f"{mine['cuDNN'][0]:.0f}", *cells])
    return as_table(lines)


def schedules() -> str:
    """How many cases of each program hold under how many schedules."""
    lines = [["program", "plans", "types", "H100", "B200"], ["---", "---", "---", "---:", "---:"]]
    rows = records("tile_schedules.csv")
    for program in dict.fromkeys(row["program"] for row in rows):
        mine = [row for row in rows if row["program"] == program]
        plans, dtypes = ({row[name] for row in mine} for name in ("plan", "dtype"))
        cells = []
        for gpu in ("h100", "b200"):
            found = [row for row in mine if row["gpu"] == gpu]
            cells.append(f"{sum(row['verdict'] == 'ok' for row in found)} of {len(found)}")
        lines.append([program.replace("_", " "), str(len(plans)), ", ".join(sorted(dtypes)), *cells])
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    for gpu in GPUS:
        yield f"{gpu}-tile", table(gpu)
    yield "h200-types", types()
    yield "h100-experts", experts()
    yield "h100-attention", attention()
    yield "tile-schedules", schedules()

"""Step 10 with one of its ideas left out at a time: the predicted times of a GPU, or those that this machine measures.

    PYTHONPATH=. python3 benchmarks/ablation.py                              # predicted for an H100
    PYTHONPATH=. python3 benchmarks/ablation.py --gpu b200 --shape 4096,4096,1024
    PYTHONPATH=. python3 benchmarks/ablation.py --measure                    # on this GPU: the same rows, beside cuBLAS
    PYTHONPATH=. python3 benchmarks/ablation.py --csv docs/ablation.csv      # into the table of the documentation

An idea is left out by replacing a few texts of the reference; `--show` prints them. Only time is predicted, of one of
many launches in a row. Measured are launches of a CUDA graph, whose kernels take turns; results are compared with
cuBLAS first.
"""

from __future__ import annotations

import argparse
import csv
import io
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini.commands import positive
from tirx_mini.course import KernelRef, Shape, default_kernels, load_kernel, shape_text
from tirx_mini.driver import predict
from tirx_mini.ending import command
from tirx_mini.files import write_whole
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc

SHAPES: Mapping[str, Shape] = {"h100": (3072, 3072, 1024), "b200": (4096, 4096, 1024)}
"""The shape of a table, by the GPU: several tiles for each SM, and few steps along K, so that it is soon simulated."""


@dataclass(frozen=True)
class Idea:
    """An idea of step 10. without: what a kernel does that lacks it. edits: texts of the reference, and what replaces
    each of them."""

    name: str
    without: str
    edits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """The time of step 10 without an idea. ghz: of the clock; None where it was measured."""

    idea: Idea
    us: float
    ghz: float | None = None


HEAD: tuple[str, ...] = ("gpu", "shape", "left_out", "instead", "predicted_us", "ghz", "measured_us", "device")
"""The columns of the table."""
ALL = Idea("nothing", "–")
_TURN = """\
                    # One thread per warp: all four are past their waits when the other consumer starts.
                    if lane_id == 0:
                        turn.arrive(1 - consumer)
"""
_LAST = """\
                    mma_phase.skip(K_TILES)
                    write_back()
                    tile_scheduler.next_tile()
                    tile_scheduler.next_tile()
"""
_DEPTH = "(SMEM_BYTES - NUM_CONSUMER * EPI_DEPTH * EPI_M * EPI_N * DTYPE_SIZE) // TMA_BYTES"
_TILES = "TILES = ((128, 128), (128, 160), (128, 192), (64, 128))"
HOPPER = (
    Idea("deep pipeline", "2 stages instead of as many as fit", {_DEPTH: "2"}),
    Idea("two consumers", "one consumer, which multiplies and then stores", {
        "NUM_CONSUMER = 2": "NUM_CONSUMER = 1",
        "turn.arrive(1 - consumer)": "turn.arrive(consumer)",
        _LAST: _LAST.replace("                    mma_phase.skip(K_TILES)\n", "").replace(
            "                    tile_scheduler.next_tile()\n", "", 1),
    }),
    Idea("overlapped write-back", "a consumer waits for its turn until the other one has stored", {
        _TURN: "",
        _LAST: _LAST.replace("write_back()\n", f"write_back()\n{_TURN}"),
    }),
    Idea("large tiles", "tiles of 64 × 128", {_TILES: "TILES = ((64, 128),)"}),
    Idea("a tile shape for the number of SMs", "tiles of 128 × 128", {_TILES: "TILES = ((128, 128),)"}),
    Idea("persistent CTAs", "a CTA for every two tiles", {
        "    EPI_M, EPI_N = 64": "    SM_COUNT = ceil(M_TILES * N_TILES / 2)\n    EPI_M, EPI_N = 64",
    }),
    Idea("MMAs in flight", "a wait for each batch of MMAs before the next one", {
        "Tx.ptx.wgmma.wait_group(1)": "Tx.ptx.wgmma.wait_group(0)",
    }),
    Idea("two buffers for the write-back", "one buffer", {"EPI_DEPTH = 2": "EPI_DEPTH = 1"}),
    Idea("overlapped launches", "a launch after the end of the one before", {
        "                        Tx.ptx.griddepcontrol.wait()\n": "",
    }),
    Idea("order of the tiles", "row after row", {
        "l2_group_size=8": "l2_group_size=1",
        "init(bx % (SM_COUNT // 2) * 2 + bx // (SM_COUNT // 2))": "init(bx)",
    }),
)  # fmt: skip
_RELEASE = """\
                    if i == MMA_N // EPI_N - 1:
                        # All columns are read: the MMA warp may start the next tile during the last store.
                        Tx.ptx.tcgen05.fence.before_thread_sync()
                        ld2mma.arrive(wg_id, cta_id=0, pred=True)
"""
_STORED = """\
                    # The next chunk overwrites Dsmem.
                    Tx.cuda.warpgroup_sync(wg_id + 1)
"""
BLACKWELL = (
    Idea("deep pipeline", "2 stages instead of 4", {"PIPE_DEPTH = 4": "PIPE_DEPTH = 2"}),
    Idea("two consumers", "one consumer, and tiles of 256 × 256", {"NUM_CONSUMER = 2": "NUM_CONSUMER = 1"}),
    Idea("clusters of two CTAs", "single CTAs, and tiles of 256 × 128", {
        "CTA_GROUP = 2": "CTA_GROUP = 1", "cta_group=2": "cta_group=1", '"cta_group": 2': '"cta_group": 1',
        "cta_mask=3": "cta_mask=1",
    }),
    Idea("persistent CTAs", "a cluster for every tile", {
        "    K_TILES = K // BLK_K\n": "    K_TILES = K // BLK_K\n"
        "    SM_COUNT = M // (BLK_M * NUM_CONSUMER * CTA_GROUP) * (N // MMA_N) * CTA_GROUP\n",
    }),
    Idea("overlapped write-back", "tensor memory is released after the last store", {
        _RELEASE: "",
        _STORED: _STORED + _RELEASE.replace("during", "after"),
    }),
    Idea("order of the tiles", "row after row", {"l2_group_size=8": "l2_group_size=1"}),
)  # fmt: skip
IDEAS: Mapping[str, tuple[Idea, ...]] = {"h100": (ALL, *HOPPER), "b200": (ALL, *BLACKWELL)}


def reference(gpu: str) -> Path:
    """The file of step 10 for a GPU."""
    return default_kernels() / gpu_spec(gpu).architecture.kernels / "step10_multi_consumer.py"


def without(idea: Idea, gpu: str) -> str:
    """The text of step 10 without an idea. Raises `ValueError` where the reference lacks a text of the edits."""
    text = reference(gpu).read_text(encoding="utf-8")
    for old, new in idea.edits.items():
        if old not in text:
            raise ValueError(f"step 10 for {gpu} does not have {old!r}")
        text = text.replace(old, new)
    return text


def kernel(idea: Idea, gpu: str, shape: Shape, sms: int | None = None) -> PrimFunc:
    """The kernel of step 10 without an idea. sms: of a smaller GPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "step10.py")
        path.write_text(without(idea, gpu), encoding="utf-8")
        return load_kernel(KernelRef(path, "hgemm_v10"), shape=shape, sms=sms)


def predicted(idea: Idea, gpu: str, shape: Shape) -> Row:
    """The row of an idea by the clock of the simulator."""
    timing = predict(kernel(idea, gpu, shape), gpu=gpu, jobs=1).timing
    if timing is None:
        raise ValueError(f"step 10 without {idea.name} does not end")
    return Row(idea, timing.row.us, timing.row.clock_ghz)


def measured(gpu: str, shape: Shape, rounds: int) -> tuple[list[Row], float]:
    """The rows on this machine's GPU, and the time of cuBLAS."""
    from benchmarks.contest import Contest

    contest = Contest(shape, "float16")
    ideas = {idea.name: idea for idea in IDEAS[gpu]}
    for name, idea in ideas.items():
        contest.enter_factory(name, lambda m, n, k, dtype, idea=idea: kernel(idea, gpu, (m, n, k)))
    us = {name: 1e3 * statistics.median(times) for name, times in contest.run(rounds).items()}
    return [Row(idea, us[name]) for name, idea in ideas.items() if name in us], us["cuBLAS"]


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown; the last column is the time more than that of all ideas."""
    clock = rows[0].ghz is not None
    lines = [
        "| left out | instead | µs |" + (" GHz |" if clock else "") + " more |",
        "| --- | --- | ---: |" + (" ---: |" if clock else "") + " ---: |",
    ]
    for row in rows:
        more = "–" if row is rows[0] else f"{row.us / rows[0].us - 1:+.1%}".replace("%", " %").replace("-", "−")
        ghz = f" {row.ghz:.2f} |" if clock else ""
        lines.append(f"| {row.idea.name} | {row.idea.without} | {row.us:.1f} |{ghz} {more} |")
    return "\n".join(lines)


def updated(path: Path, gpu: str, shape: Shape, rows: Sequence[Row], device: str) -> str:
    """A table with these rows of a GPU: predicted ones replace all of it, measured ones its last two columns."""
    old: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            old = list(csv.DictReader(file))
    mine = {each["left_out"]: each for each in old if each["gpu"] == gpu}
    for row in rows:
        kept = mine.get(row.idea.name, {})
        figures = {"predicted_us": f"{row.us:.1f}", "ghz": f"{row.ghz:.2f}"} if row.ghz is not None else {
            "measured_us": f"{row.us:.1f}", "device": device}  # fmt: skip
        key = {"gpu": gpu, "shape": shape_text(shape), "left_out": row.idea.name, "instead": row.idea.without}
        mine[row.idea.name] = {**kept, **key, **figures}
    names = [idea.name for idea in IDEAS[gpu]]
    found = [each for each in old if each["gpu"] != gpu] + [mine[name] for name in names if name in mine]
    text = io.StringIO()
    writer = csv.DictWriter(text, HEAD, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(found, key=lambda each: list(IDEAS).index(each["gpu"])))
    return text.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", choices=sorted(IDEAS), default="h100", help="(default: h100)")
    parser.add_argument("--shape", type=lambda text: tuple(map(positive, text.split(","))), metavar="M,N,K")
    parser.add_argument("--measure", action="store_true", help="measure on the GPU of this machine")
    parser.add_argument("--rounds", type=int, default=20, help="of the measurement (default: 20)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the rows into this table")
    parser.add_argument("--show", action="store_true", help="print what each row replaces")
    options = parser.parse_args()
    shape: Shape = options.shape or SHAPES[options.gpu]
    if options.show:
        for idea in IDEAS[options.gpu]:
            print(f"{idea.name}:", *(f"\n-{old}\n+{new}" for old, new in idea.edits.items()))
        return 0
    print(f"step 10 at {shape_text(shape)}, {'measured' if options.measure else 'predicted for ' + options.gpu}\n")
    device = ""
    if options.measure:
        import torch

        device = torch.cuda.get_device_name()
        rows, cublas = measured(options.gpu, shape, options.rounds)
        print(f"{table(rows)}\n\n{device}; cuBLAS: {cublas:.1f} µs")
    else:
        rows = [predicted(idea, options.gpu, shape) for idea in IDEAS[options.gpu]]
        print(table(rows))
    if options.csv is not None:
        write_whole(options.csv, updated(options.csv, options.gpu, shape, rows, device))
    return 0


if __name__ == "__main__":
    sys.exit(command(main))

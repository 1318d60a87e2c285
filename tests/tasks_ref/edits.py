"""The references of the tasks, and what one would hand in before one is done: edits of these."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tirx_mini.course import TASKS

ROOT = Path(__file__).parents[2]

Edits = Sequence[tuple[str, str]]
"""Old and new texts; each old one is in the file once."""

LOADS = " " * 32
SLOW: dict[str, Edits] = {
    "a": [("PIPE_DEPTH = 4", "PIPE_DEPTH = 1")],
    "b": [("max(1, min(K_TILES, SM_COUNT // (M_TILES * N_TILES)))", "1")],
    "c": [("PIPE_DEPTH = 5", "PIPE_DEPTH = 2"),
          (f"{LOADS}load_b(", f"{LOADS}a_full.wait(load_state.stage, load_state.phase ^ 1)\n{LOADS}load_b(")],
}  # fmt: skip
"""Right kernels that miss the budget."""

EARLY = "                    acc_empty.arrive(0)\n"
NAIVE: dict[str, Edits] = {
    "a": [("num_n_tiles=-(-N // BLK_N)", "num_n_tiles=max(1, N // BLK_N)")],
    "b": [("(split + 1) * K_TILES // SPLITS - k_first", "K_TILES // SPLITS"),
          ("split * K_TILES // SPLITS", "split * (K_TILES // SPLITS)")],
    "c": [(EARLY, ""), ("                    read_sums()\n", f"{EARLY}                    read_sums()\n")],
}  # fmt: skip
"""Kernels that are wrong for some problem."""

ROUNDED: dict[str, Edits] = {
    "a": [("Tx.max(Dreg[j] + bias", "Tx.max(Tx.float32(Tx.float16(Dreg[j])) + bias")],
    "c": [("sums[j] = sums[j] * factors", "sums[j] = Tx.float32(Tx.float16(sums[j])) * factors")],
}
"""Kernels that round the sums to float16 before the rest is computed, which their contracts exclude."""


def reference(letter: str, edits: Edits = ()) -> str:
    """The text of a task's reference, edited."""
    text = (ROOT / "tasks_ref" / TASKS[letter].file).read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, f"task {letter}: {text.count(old)} times {old!r}"
        text = text.replace(old, new)
    return text

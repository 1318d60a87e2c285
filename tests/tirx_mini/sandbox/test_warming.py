"""The first kernel of a process is of the constructs that references have, and leaves nothing behind."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

from tirx_mini.course import KernelRef, load_kernel
from tirx_mini.ir import TileCall, walk
from tirx_mini.resources import resource
from tirx_mini.sandbox import remember_lines
from tirx_mini.sandbox.warming import FILE, TEXT, warm_up


def test_it_leaves_nothing_behind() -> None:
    warm_up()
    assert FILE not in linecache.cache
    assert FILE not in {getattr(module, "__file__", None) for module in list(sys.modules.values())}


def test_it_has_the_tile_operations_of_step_7() -> None:
    remember_lines(FILE, TEXT)
    kernel = load_kernel(KernelRef(Path(FILE), "make"), shape=(128, 128, 128), source=TEXT.encode())
    reference = load_kernel(KernelRef(next(resource("kernels_ref/sm100").glob("step07_*.py")), "hgemm_v7"), size=512)
    mine, theirs = ({node.op for node in walk(each.body) if isinstance(node, TileCall)} for each in (kernel, reference))
    assert mine >= theirs

"""The page of `tirx_mini.layout`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

from tirx_mini import layout
from tirx_mini.layout import axis

from ._markdown import body, described, doc_of, document, fenced, table

_HEAD = """# Layouts

This page lists the names of `tirx_mini.layout`. A layout maps the coordinates of an element to places on the
hardware, along named axes. [The language](../language.md#layouts) introduces layouts, and [Shared
memory](../concepts/shared-memory.md) shows what swizzles do. In the signatures, `Coord` is an int, a NumPy array or
a value of a kernel."""

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Layouts": ("S", "R", "Layout", "TileLayout", "ComposeLayout", "Spec", "Replica", "Iter", "ExecScope",
                "LayoutError"),
    "Swizzles and shared memory": ("tma_shared_layout", "SwizzleMode", "SwizzleLayout", "swizzle_mode", "dtype_bits"),
    "Registers": (
        "mma_fragment_layout", "tcgen05_ld_layout", "wg_local_layout", "tcgen05_atom_layout", "tmem_datapath_layout",
        "tmem_mma_operand_layout",
        "wgmma_accumulator_layout",
        "sf_tmem_layout",
        "sf_smem_layout",
    ),
    "Operations": ("is_injective", "is_bijective", "inverse", "inverse_tile", "compose"),
    "What dispatches ask": (
        "slice_region", "SlicedLayout", "tma_boxes", "TmaBox", "mma_descriptor_params", "DescriptorParams",
        "vector_length",
    ),
}  # fmt: skip
_AXIS = re.compile(r'^(\w+) = Axis\("\w+"\)(?:  # (.+))?$', re.MULTILINE)


def page() -> str:
    """The page."""
    parts = [_HEAD]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}")
        for name in names:
            thing = getattr(layout, name)
            if name == "S":
                parts += ["### S", fenced("S[shape]\nS[shape : strides]", "python"), *body(doc_of(type(thing)))]
            elif name == "R":
                parts += ["### R", fenced("R[shape : strides]", "python"), *body(doc_of(type(thing)))]
            else:
                parts += described(thing, level=3)
    return document(*parts, "## Axes", _axes())


def _axes() -> str:
    """The axes with the comments beside them in the source; one without a comment continues the one above it."""
    source = Path(inspect.getfile(axis)).read_text(encoding="utf-8")
    rows: list[tuple[list[str], str]] = []
    for name, text in _AXIS.findall(source):
        if text:
            rows.append(([name], text))
        else:
            rows[-1][0].append(name)
    intro = (
        "`1@TLane` is a stride of one along an axis. `Axis` and `Stride` are their classes, and `AXES` has all axes by "
        "name.\n\n"
    )
    return intro + table(("axis", "counts"), [(", ".join(f"`{name}`" for name in names), text) for names, text in rows])

"""Compiler hints of a program: layouts and CTA rasterisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import Buffer, Hint, TirxError
from tirx_mini.records import dataclass
from tirx_mini.script import current

from ..layouts import thread_map

__all__ = [
    "Fragment", "annotate_compile_flags", "annotate_l2_hit_ratio", "annotate_layout", "annotate_min_blocks_per_sm",
    "annotate_pass_configs", "annotate_restrict_buffers", "annotate_safe_value", "annotate_ws_pipeline_depth",
    "use_swizzle",
]  # fmt: skip

Fragment = thread_map
LAYOUT_HINT, SWIZZLE_HINT, SAFE_VALUE_HINT = "tl.annotate_layout", "tl.use_swizzle", "tl.annotate_safe_value"


def use_swizzle(panel_size: int, order: str = "row", enable: bool = True) -> None:
    """Rasterise CTAs in panels of `panel_size` rows (or columns) of tiles to improve L2 locality."""
    if order not in ("row", "col", "column"):
        raise TirxError(f'T.use_swizzle has order="row" and "col", not {order!r}')
    if enable:
        current("T.use_swizzle").emit(Hint(SWIZZLE_HINT, (("panel", int(panel_size)), ("order", order[:3]))))


def annotate_layout(layout_map: Mapping[Any, object]) -> None:
    """Set the layouts of buffers: a `Fragment` for a fragment, a `Layout` for shared memory."""
    current("T.annotate_layout").emit(Hint(LAYOUT_HINT, (("layouts", tuple(layout_map.items())),)))


@dataclass(frozen=True)
class Swizzled:
    """A request for the swizzled shared-memory layout that a buffer's users require."""

    buffer: Any


def annotate_pass_configs(configs: Mapping[Any, object]) -> None:
    """Set pass options, as `pass_configs` of `tilelang.compile` does."""
    builder = current("T.annotate_pass_configs")
    for key, value in configs.items():
        builder.attrs.setdefault(str(getattr(key, "value", key)), value)


def annotate_safe_value(safe_value_map: Mapping[Any, object]) -> None:
    """Set what reads outside an argument give, instead of zeros."""
    builder = current("T.annotate_safe_value")
    for buffer in safe_value_map:
        if not isinstance(buffer, Buffer) or buffer.scope != "global":
            raise TirxError(f"T.annotate_safe_value is for arguments in global memory, not for {buffer!r}")
    builder.emit(Hint(SAFE_VALUE_HINT, (("values", tuple((b.root.name, v) for b, v in safe_value_map.items())),)))


def _ignored(name: str, doc: str) -> object:
    def annotate(*args: object, **options: object) -> None:
        current(f"T.{name}")

    annotate.__name__ = annotate.__qualname__ = name
    annotate.__doc__ = f"{doc} It has no effect here."
    return annotate


annotate_compile_flags = _ignored("annotate_compile_flags", "Options for CUDA's compiler.")
annotate_l2_hit_ratio = _ignored("annotate_l2_hit_ratio", "How much of a buffer the L2 is to keep.")
annotate_min_blocks_per_sm = _ignored("annotate_min_blocks_per_sm", "How many CTAs an SM is to hold.")
annotate_restrict_buffers = _ignored("annotate_restrict_buffers", "Which arguments may overlap.")
annotate_ws_pipeline_depth = _ignored("annotate_ws_pipeline_depth", "How deep pipelines of warpgroups are.")

"""The page of `tirx_mini.lang`."""

from __future__ import annotations

from typing import Any

from tirx_mini import lang
from tirx_mini.lang.barriers import RemoteBarrier
from tirx_mini.lang.launch_control import Worker

from ._markdown import described, doc_of, document, fenced

_HEAD = """# The kernel library `tirx_mini.lang`

With this page you can choose a barrier, a pipeline or a scheduler for a kernel, and know its arguments and its
cost. The library is written in the language itself: its objects exist at compile time, and their methods are
expanded at each call. What a method costs is therefore what its instructions cost; [Instructions](instructions.md)
lists these. The ideas behind the objects are on the pages on [mbarriers](../concepts/mbarriers.md), [tensor
memory](../concepts/tensor-memory.md) and [persistent kernels](../concepts/persistence.md).

<!-- not run: a fragment -->
```python
from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TCGen05Bar, TMABar
```

In the signatures, `Integer` is a number that is known at compile time or when the kernel runs (`Expr | int`), and
the examples are parts of a kernel."""

_CLASSES: tuple[Any, ...] = (
    lang.PoolAllocator, lang.MBarrier, lang.TMABar, lang.TCGen05Bar, RemoteBarrier, lang.Pipeline, lang.PipelineState,
    lang.ClusterPersistentScheduler2D, lang.GroupMajor3D, lang.BaseTileScheduler, lang.ClusterLaunchControlScheduler,
    Worker, lang.FlashAttentionLinearScheduler, lang.FlashAttentionLPTScheduler, lang.IndexedTripleTileScheduler,
    lang.TMEMPool, lang.SmemDescriptor,
)  # fmt: skip
_FUNCTIONS = (lang.WarpRole, lang.WarpgroupRole)
_FORMS = {lang.PipelineState: ('PipelineState(name: str, depth: int, phase: Integer | None = None)\n'
                               'PipelineState(depth: int, phase: Integer | None = None)')}  # fmt: skip
"""The signatures of what has several."""


def page() -> str:
    """The page."""
    parts = [_HEAD]
    for cls in _CLASSES:
        head, *rest = described(cls)
        parts += [head, *([fenced(_FORMS[cls], "python"), *rest[1:]] if cls in _FORMS else rest)]
    parts.append("## Roles")
    for function in _FUNCTIONS:
        parts += described(function, level=3)
    return document(*parts)


def examples() -> dict[str, str]:
    """The examples of the page by the name of what they show."""
    found = {item.__name__: doc_of(item).example for item in (*_CLASSES, *_FUNCTIONS)}
    return {name: text for name, text in found.items() if text}

"""The start page of the reference."""

from __future__ import annotations

_TEXT = """# Reference

These pages are for looking things up: they list every name with its arguments, its meaning and its cost. They are
generated from the docstrings of the package, the table of instructions, the table of tile primitives and the
parsers of the commands, so they agree with the code. [The language](../language.md) explains how the names work
together.

| page | what it lists |
| --- | --- |
| [Names of `Tx`](tx.md) | kernels, ids and scopes, loops, buffers, values |
| [lang](lang.md) | `tirx_mini.lang`: memory pools, barriers, `PipelineState`, tile schedulers, roles |
| [Instructions](instructions.md) | `Tx.ptx` and `Tx.cuda`: each instruction with its PTX, issuer and cost |
| [Tile primitives](tile.md) | `Tx.copy`, `Tx.gemm_async` and the others, their options and their dispatches |
| [Layouts](layout.md) | `tirx_mini.layout`: layouts, axes, swizzles and the operations on them |
| [Tensor expressions](te.md) | `tirx_mini.te`: computations, schedules, schedules of blocks |
| [Names in the three dialects](dialects.md) | what of TVM 0.26 is supported, what is refused, and PTX's spelling |
| [Python](python.md) | `compile`, `simulate`, reports and findings, executables, targets, `utils.py` |
| [Commands](commands.md) | `python -m tirx_mini …`: every command with its options |

In an editor, the same text appears as you type ([Editors](../language.md#editors)). In Python, use `help`, for
example `help(Tx.ptx.tcgen05.commit)`."""


def page() -> str:
    """The page."""
    return _TEXT

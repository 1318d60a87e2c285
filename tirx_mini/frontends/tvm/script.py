"""Apache TVM's import paths, so that files written for TVM or for the course's `tvm` run unchanged.

    from tirx_mini.compat import tvm

    with tvm.imports():
        import gemm_kernels                        # its `from tvm.script import tirx as Tx` finds tirx_mini

or ``python -m tirx_mini.compat.tvm gemm_kernels.py``, or ``python -m tirx_mini.compat.tvm -m pytest tests``. Nothing
changes outside the ``with`` block: an installed `tvm` is available again after it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tirx_mini.foreign import scripts

from .import_paths import imports
from .paths import NAMES, PATHS, REFUSED_MODULES

__all__ = ["NAMES", "PATHS", "REFUSED_MODULES", "imports", "main"]

PROGRAM = "python -m tirx_mini.compat.tvm"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script, or with -m a module such as pytest, with tirx_mini in place of `tvm`.

    Without a GPU, PyTorch's "cuda" is host memory, and kernels run in the simulator. A mistake in a kernel prints its
    error page and returns 1. The exit status is 2 where no script is named, or none is there.
    """
    return scripts.run_script(arguments, PROGRAM, ["tvm"])


if __name__ == "__main__":
    sys.exit(main())

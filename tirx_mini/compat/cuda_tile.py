"""The import path of NVIDIA's cuTile, so that a file written for ``import cuda.tile as ct`` runs unchanged.

    from tirx_mini.compat import cuda_tile

    with cuda_tile.imports():
        import kernels                             # its `import cuda.tile as ct` finds tirx_mini

or ``python -m tirx_mini.compat.cuda_tile kernels.py``. Nothing changes outside the ``with`` block: an installed
`cuda.tile` is available again after it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tirx_mini.tile_ir import imports, simulated

from .host import CLOCK, simulated_gpu
from .scripts import run_script
from .target import Target
from .tvm import gpu_or_simulator

__all__ = ["imports", "main"]

PROGRAM = "python -m tirx_mini.compat.cuda_tile"


class _Timed(list[Any]):
    """Reports of launches; each advances the clock of the simulated device."""

    def append(self, report: Any) -> None:
        CLOCK.get().time_us += report.time_us or 0.0


@contextmanager
def _instead_of_cutile() -> Iterator[None]:
    """`cuda.tile` is tirx_mini's, and without a GPU, PyTorch's "cuda" is host memory."""
    gpu = simulated_gpu(Target("cuda"))
    with imports(), gpu_or_simulator(children=False):
        if gpu is None:
            yield
            return
        with simulated(gpu.name.lower(), reports=_Timed()):
            yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script, or with -m a module such as pytest, with tirx_mini as its `cuda.tile`.

    Without a GPU, PyTorch's "cuda" is host memory, and kernels run in the simulator. CuPy is NumPy where it is not
    installed. A mistake in a kernel prints its error page and returns 1. The exit status is 2 where no script is named.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    return run_script(given, PROGRAM, main.__doc__, _instead_of_cutile())


if __name__ == "__main__":
    sys.exit(main())

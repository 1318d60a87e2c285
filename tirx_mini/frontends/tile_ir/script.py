"""Import hook for NVIDIA's cuTile, so that files with ``import cuda.tile as ct`` run unchanged.

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

from tirx_mini.foreign import scripts, simulated_device

from .import_paths import imports
from .run import simulated

__all__ = ["imports", "instead_of_cutile", "main"]

PROGRAM = "python -m tirx_mini.compat.cuda_tile"


@contextmanager
def instead_of_cutile() -> Iterator[None]:
    """Substitute tirx_mini for `cuda.tile`, and simulate kernels if there is no GPU."""
    gpu = simulated_device.simulated_gpu()
    with imports():
        if gpu is None:
            yield
            return
        with simulated(gpu.name.lower(), reports=simulated_device.Timed()):
            yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script, or with -m a module such as pytest, with tirx_mini in place of `cuda.tile`.

    Without a GPU, PyTorch's "cuda" is host memory, and kernels run in the simulator. CuPy is NumPy where it is not
    installed. A mistake in a kernel prints its error page and returns 1. The exit status is 2 where no script is named.
    """
    return scripts.run_script(arguments, PROGRAM, ["cuda.tile"])


if __name__ == "__main__":
    sys.exit(main())

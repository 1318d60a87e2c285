"""Apache TVM's import paths, so that a file written for TVM or for the course's `tvm` runs unchanged.

    from tirx_mini.compat import tvm

    with tvm.imports():
        import gemm_kernels                        # its `from tvm.script import tirx as Tx` finds tirx_mini

or ``python -m tirx_mini.compat.tvm gemm_kernels.py``, or ``python -m tirx_mini.compat.tvm -m pytest tests``. Nothing
changes outside the ``with`` block: an installed `tvm` is available again after it.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .import_paths import imports
from .paths import NAMES, PATHS, REFUSED_MODULES
from .scripts import run_script

__all__ = ["NAMES", "PATHS", "REFUSED_MODULES", "imports", "install", "main"]

PROGRAM = "python -m tirx_mini.compat.tvm"


class _AfterTorch(MetaPathFinder, Loader):
    """Calls a function once PyTorch has been imported, so that a script without it does not wait for it."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._loader: Any = None

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None:
            self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then()


@contextmanager
def gpu_or_simulator(children: bool = True) -> Iterator[None]:
    """Within the block, programs for a GPU run: on that of this machine, or with PyTorch's "cuda" as host memory.

    children: whether child processes get the same `tvm`.
    """
    from .host import CLOCK, Clock, simulated_gpu
    from .target import Target
    from .without_gpu import for_children, torch_on_host

    gpu = simulated_gpu(Target("cuda"))
    with ExitStack() as stack:
        if children:
            stack.enter_context(for_children(gpu))
        if gpu is not None:
            token = CLOCK.set(Clock())
            stack.callback(CLOCK.reset, token)
            patched = stack.enter_context(ExitStack())
            if sys.modules.get("torch") is not None:
                patched.enter_context(torch_on_host(gpu))
            else:
                finder = _AfterTorch(lambda: patched.enter_context(torch_on_host(gpu)))
                sys.meta_path.insert(0, finder)
                stack.callback(lambda: finder in sys.meta_path and sys.meta_path.remove(finder))
        yield


def install() -> None:
    """Put tirx_mini in the place of `tvm` for the rest of the process: what a child process of `main` does."""
    stack = ExitStack()
    atexit.register(stack.close)
    stack.enter_context(imports())
    stack.enter_context(gpu_or_simulator(children=False))
    sys.modules["tvm"] = importlib.import_module("tvm")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script, or with -m a module such as pytest, with tirx_mini as its `tvm`.

    Without a GPU, PyTorch's "cuda" is host memory, and kernels run in the simulator. A mistake in a kernel prints its
    error page and returns 1. The exit status is 2 where no script is named, or none is there.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    return run_script(given, PROGRAM, main.__doc__, _instead_of_tvm())


@contextmanager
def _instead_of_tvm() -> Iterator[None]:
    with imports(), gpu_or_simulator():
        yield


if __name__ == "__main__":
    sys.exit(main())

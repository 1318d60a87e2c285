"""Import hook for TileLang, so that files with ``import tilelang.language as T`` run unchanged.

    from tirx_mini.compat import tilelang

    with tilelang.imports():
        import kernels                             # its `import tilelang` finds tirx_mini

or ``python -m tirx_mini.compat.tilelang kernels.py``. Nothing changes outside the ``with`` block: an installed
`tilelang` is available again after it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tirx_mini.foreign import kernel_imports, scripts, simulated_device

from .kernel import simulated

__all__ = ["imports", "instead_of_tilelang", "main"]

PROGRAM = "python -m tirx_mini.compat.tilelang"
_MISSING = {
    "tilelang.carver": "write the configurations of T.autotune yourself",
    "tilelang.tools": "`kernel.prim_func.script()` is a program as text, and `kernel.get_kernel_source()` its CUDA C++",
    "tilelang.quantize": "dequantise with arithmetic in T.Parallel",
}


class _Paths(MetaPathFinder, Loader):
    """Resolves `tilelang` and its submodules to tirx_mini."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != "tilelang" and not fullname.startswith("tilelang."):
            return None
        names = importlib.import_module("tirx_mini.frontends.tilelang.names")
        if fullname not in names.MODULES:
            raise _not_provided(fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, since a stand-in module is complete when created."""


class _StandIn(ModuleType):
    """A stand-in for a TileLang module; some are also callable as the function of the same name."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [each for each in dir(self) if not each.startswith("_")]
        if name.startswith("__") and not name.startswith(("__exp", "__log", "__sin", "__cos", "__tan")):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        names = importlib.import_module("tirx_mini.frontends.tilelang.names")
        return names.lookup(self.__name__, name)

    def __call__(self, *args: object, **options: object) -> Any:
        names = importlib.import_module("tirx_mini.frontends.tilelang.names")
        return names.CALLABLE[self.__name__](*args, **options)

    def __dir__(self) -> list[str]:
        names = importlib.import_module("tirx_mini.frontends.tilelang.names")
        language = importlib.import_module("tirx_mini.frontends.tilelang.language")
        return sorted({*names.MODULES[self.__name__], *(dir(language) if "language" in self.__name__ else ())})


def _not_provided(path: str) -> Exception:
    from tirx_mini.ir import TirxError
    from tirx_mini.script import caller_span

    class NotProvided(TirxError, ImportError):
        """A TileLang module that tirx_mini does not provide."""

    families = [path.rsplit(".", cut)[0] for cut in range(path.count(".") + 1)]
    hint = next((_MISSING[family] for family in families if family in _MISSING), None)
    return NotProvided(f"tirx_mini does not provide `{path}`", caller_span(), hint, kind="unknown-name")


def _modules() -> list[str]:
    return [name for name in sys.modules if name == "tilelang" or name.startswith("tilelang.")]


@contextmanager
def imports() -> Iterator[None]:
    """Resolve imports of `tilelang` and `tvm` to tirx_mini within the block."""
    hidden = {name: sys.modules.pop(name) for name in _modules()}
    finder = _Paths()
    sys.meta_path.insert(0, finder)
    try:
        with kernel_imports():
            yield
    finally:
        sys.meta_path.remove(finder)
        for name in _modules():
            del sys.modules[name]
        sys.modules.update(hidden)


@contextmanager
def instead_of_tilelang() -> Iterator[None]:
    """Substitute tirx_mini for `tilelang`, and simulate kernels if there is no GPU."""
    gpu = simulated_device.simulated_gpu()
    with imports():
        if gpu is None:
            yield
            return
        with simulated(gpu.name.lower(), reports=simulated_device.Timed()):
            yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script, or with -m a module such as pytest, with tirx_mini in place of `tilelang`.

    Without a GPU, PyTorch's "cuda" is host memory, and kernels run in the simulator. A mistake in a kernel prints its
    error page and returns 1. The exit status is 2 where no script is named.
    """
    return scripts.run_script(arguments, PROGRAM, ["tilelang"])


if __name__ == "__main__":
    sys.exit(main())

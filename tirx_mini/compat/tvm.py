"""Apache TVM's import paths, so that a kernel file written against the course's `tvm` runs as it is.

    from tirx_mini.compat import tvm

    with tvm.imports():
        import gemm_kernels                        # its `from tvm.script import tirx as Tx` finds tirx_mini

or ``python -m tirx_mini.compat.tvm gemm_kernels.py``. Nothing is changed outside of the ``with`` block: a `tvm` that is
installed is there again after it.
"""

from __future__ import annotations

import argparse
import importlib
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

PATHS: Mapping[str, str] = {
    "tvm": "tirx_mini",
    "tvm.ir": "tirx_mini.ir",
    "tvm.target": "tirx_mini.target",
    "tvm.script": "tirx_mini.script",
    "tvm.script.tirx": "tirx_mini.script.tirx",
    "tvm.tir": "tirx_mini.ir",
    "tvm.tir.layout": "tirx_mini.layout",
    "tvm.tirx": "tirx_mini.ir",
    "tvm.tirx.layout": "tirx_mini.layout",
    "tvm.tirx.op_schedule": "tirx_mini.layout",
    "tvm.tirx.op_schedule.cuda": "tirx_mini.layout",
    "tvm.tirx.op_schedule.cuda.common": "tirx_mini.layout",
    "tvm.tirx.tile_scheduler": "tirx_mini.lang",
    "tvm.tirx.pipeline": "tirx_mini.lang",
    "tvm.tirx.lang": "tirx_mini.lang",
    "tvm.tirx.lang.tile_scheduler": "tirx_mini.lang",
    "tvm.tirx.lang.pipeline": "tirx_mini.lang",
}
"""Where each module of TVM that kernels import from is found here."""


def modules() -> Mapping[str, ModuleType]:
    """Stand-ins for the modules of `PATHS`, each with the names of the module it stands for."""
    made: dict[str, ModuleType] = {}
    for path, ours in PATHS.items():
        made[path] = _stand_in(path, importlib.import_module(ours))
        parent, _, name = path.rpartition(".")
        if parent:
            setattr(made[parent], name, made[path])
    return made


def _stand_in(path: str, ours: ModuleType) -> ModuleType:
    module = ModuleType(path, ours.__doc__)
    module.__path__ = []

    def lookup(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        return getattr(ours, name)

    module.__dict__["__getattr__"] = lookup
    module.__dict__["__dir__"] = lambda: dir(ours)
    module.__dict__["__version__"] = getattr(ours, "__version__", None)
    if hasattr(ours, "__all__"):
        module.__dict__["__all__"] = list(ours.__all__)
    return module


@contextmanager
def imports() -> Iterator[None]:
    """In the block, `tvm` and what is below it are found in tirx_mini."""
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "tvm" or name.startswith("tvm.")}
    sys.modules.update(modules())
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name == "tvm" or name.startswith("tvm.")]:
            del sys.modules[name]
        sys.modules.update(hidden)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script whose `tvm` is tirx_mini; a mistake in a kernel prints its page, and the status is 1."""
    from tirx_mini.ir import TirxError

    parser = argparse.ArgumentParser(prog="python -m tirx_mini.compat.tvm", description=main.__doc__)
    parser.add_argument("script", help="the file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    options = parser.parse_args(arguments)
    before, sys.argv = sys.argv, [options.script, *options.arguments]
    try:
        with imports():
            runpy.run_path(options.script, run_name="__main__")
    except TirxError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        sys.argv = before
    return 0


if __name__ == "__main__":
    sys.exit(main())

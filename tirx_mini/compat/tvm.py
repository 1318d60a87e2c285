"""Apache TVM's import paths, so that a kernel file written for the course's `tvm` runs unchanged.

    from tirx_mini.compat import tvm

    with tvm.imports():
        import gemm_kernels                        # its `from tvm.script import tirx as Tx` finds tirx_mini

or ``python -m tirx_mini.compat.tvm gemm_kernels.py``. Nothing changes outside the ``with`` block: an installed `tvm` is
available again after it.
"""

from __future__ import annotations

import argparse
import importlib
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

_LANG = ("alloc_pool", "pipeline", "tile_scheduler", "warp_role")

PATHS: Mapping[str, str] = {
    "tvm": "tirx_mini",
    "tvm.ir": "tirx_mini.ir",
    "tvm.target": "tirx_mini.target",
    "tvm.script": "tirx_mini.script",
    "tvm.script.ir": "tirx_mini.script",
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
    # Apache TVM 0.26
    "tvm.tirx.script": "tirx_mini.script.tirx",
    "tvm.tirx.lang": "tirx_mini.lang",
    **{f"tvm.tirx.lang.{name}": "tirx_mini.lang" for name in _LANG},
    "tvm.backend": "tirx_mini.lang",
    "tvm.backend.cuda": "tirx_mini.lang",
    "tvm.backend.cuda.lang": "tirx_mini.lang",
    **{f"tvm.backend.cuda.lang.{name}": "tirx_mini.lang" for name in _LANG},
    "tvm.backend.cuda.tile_primitive": "tirx_mini.layout",
    "tvm.backend.cuda.tile_primitive.tma_utils": "tirx_mini.layout",
}
"""The tirx_mini module for each TVM module from which kernels import."""

NAMES: Mapping[str, Mapping[str, str]] = {
    "tvm.script.tirx": {"TMEMPool": "tirx_mini.lang:TMEMPool"},
    "tvm.tirx.script": {"TMEMPool": "tirx_mini.lang:TMEMPool"},
    "tvm.tirx.layout": {"wg_local_layout": "tirx_mini.layout:tcgen05_ld_layout"},
    "tvm.backend.cuda.tile_primitive.tma_utils": {"mma_shared_layout": "tirx_mini.layout:tma_shared_layout"},
}
"""Names that differ, or that are in another module than the rest of theirs."""


def modules() -> Mapping[str, ModuleType]:
    """Substitutes for the modules of `PATHS`, by TVM's module name."""
    made: dict[str, ModuleType] = {}
    for path, ours in PATHS.items():
        made[path] = _stand_in(path, importlib.import_module(ours))
        for name, place in NAMES.get(path, {}).items():
            module, _, attribute = place.partition(":")
            setattr(made[path], name, getattr(importlib.import_module(module), attribute))
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
    """Within the block, imports of `tvm` and its submodules resolve to tirx_mini."""
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "tvm" or name.startswith("tvm.")}
    sys.modules.update(modules())
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name == "tvm" or name.startswith("tvm.")]:
            del sys.modules[name]
        sys.modules.update(hidden)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script with tirx_mini as its `tvm`. A mistake in a kernel prints its error page and returns 1.

    The exit status is 2 where no script is named, or none is there.
    """
    from tirx_mini.ir import TirxError
    from tirx_mini.layout import LayoutError
    from tirx_mini.script import explained

    parser = argparse.ArgumentParser(prog="python -m tirx_mini.compat.tvm", description=main.__doc__)
    parser.add_argument("script", nargs="?", help="the script to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the arguments of the script")
    options = parser.parse_args(arguments)
    if options.script is None:
        print(f"error: which script? Write for example: {parser.prog} gemm_kernels.py", file=sys.stderr)
        return 2
    if not Path(options.script).is_file():
        what = "is a folder" if Path(options.script).is_dir() else "does not exist"
        print(f"error: the script {options.script} {what}", file=sys.stderr)
        return 2
    before, sys.argv = sys.argv, [options.script, *options.arguments]
    try:
        with imports():
            runpy.run_path(options.script, run_name="__main__")
    except (TirxError, LayoutError) as error:
        print(explained(error), file=sys.stderr)
        return 1
    finally:
        sys.argv = before
    return 0


if __name__ == "__main__":
    sys.exit(main())

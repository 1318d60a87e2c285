"""The names of Apache TVM's script namespace and modules, as JSON: facts for the tests of tirx_mini's dialects.

    path/to/python-with-tvm tools/tvm_names.py > tests/tirx_mini/frontends/tvm/tvm_0_26.json

It runs with the Python of an environment that has `apache-tvm`, and needs nothing of this project. Four tables come
out: ``script``, the names below `tvm.script.tirx` by their dotted path; ``classes``, the methods of the classes that
kernels use; ``modules``, the public names of each module from which kernels import; ``dispatches``, the dispatches
of tile primitives. A callable has its signature, without annotations; anything else has the name of its type.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

GROUPS = ("ptx", "cuda", "nvshmem", "metal", "webgpu", "nki", "tile")
"""Names of `tvm.script.tirx` that have names below them."""

SCOPES = ("thread", "warp", "warpgroup", "wg", "cta", "cluster")

FORWARDED = frozenset({"annotations", "functools", "builder", "parser"})
"""Names that a module has for its own use."""

MODULES = """
    tvm tvm.ir tvm.ir.type tvm.target tvm.testing tvm.script tvm.script.tirx tvm.script.ir tvm.tirx tvm.tirx.bench
    tvm.tirx.buffer tvm.tirx.expr tvm.tirx.stmt tvm.tirx.function tvm.tirx.op tvm.tirx.layout tvm.tirx.exec_scope
    tvm.tirx.script tvm.tirx.script.builder tvm.tirx.script.tile tvm.tirx.lang tvm.tirx.lang.alloc_pool
    tvm.tirx.lang.pipeline tvm.tirx.lang.smem_desc tvm.tirx.lang.tile_scheduler tvm.tirx.lang.warp_role
    tvm.tirx.compilation_pipeline tvm.tirx.transform tvm.tirx.stmt_functor tvm.tirx.operator.tile_primitive
    tvm.backend.cuda tvm.backend.cuda.op tvm.backend.cuda.script tvm.backend.cuda.lang
    tvm.backend.cuda.lang.alloc_pool tvm.backend.cuda.lang.pipeline tvm.backend.cuda.lang.smem_desc
    tvm.backend.cuda.lang.tile_scheduler tvm.backend.cuda.lang.warp_role tvm.backend.cuda.tile_primitive
    tvm.backend.cuda.tile_primitive.common tvm.backend.cuda.tile_primitive.tma_utils tvm.backend.cuda.iket
    tvm.support tvm.support.nvcc tvm.runtime
""".split()

CLASSES = (
    "tvm.backend.cuda.lang.alloc_pool:SMEMPool tvm.backend.cuda.lang.alloc_pool:TMEMPool "
    "tvm.backend.cuda.lang.pipeline:PipelineState tvm.backend.cuda.lang.pipeline:MBarrier "
    "tvm.backend.cuda.lang.pipeline:TMABar tvm.backend.cuda.lang.pipeline:TCGen05Bar "
    "tvm.backend.cuda.lang.pipeline:Pipeline tvm.backend.cuda.lang.smem_desc:SmemDescriptor "
    "tvm.backend.cuda.lang.tile_scheduler:BaseTileScheduler "
    "tvm.backend.cuda.lang.tile_scheduler:ClusterPersistentScheduler2D "
    "tvm.backend.cuda.lang.tile_scheduler:GroupMajor3D "
    "tvm.backend.cuda.lang.tile_scheduler:RankAwareGroupMajorTileScheduler "
    "tvm.backend.cuda.lang.tile_scheduler:IndexedTripleTileScheduler "
    "tvm.backend.cuda.lang.tile_scheduler:FlashAttentionLinearScheduler "
    "tvm.backend.cuda.lang.tile_scheduler:FlashAttentionLPTScheduler "
    "tvm.backend.cuda.lang.tile_scheduler:ClusterLaunchControlScheduler "
    "tvm.backend.cuda.lang.warp_role:WarpRole tvm.backend.cuda.lang.warp_role:WarpgroupRole "
    "tvm.tirx.layout:TileLayout tvm.tirx.layout:ComposeLayout tvm.tirx.layout:Layout tvm.tirx.layout:Iter "
    "tvm.tirx.layout:Axis tvm.tirx:PrimFunc tvm.ir:IRModule"
).split()
"""Classes that kernels and their drivers use, as module:name."""


def inner(value: Any) -> Any:
    """The function that a decorator of TVM has wrapped: what its wrapper's closure holds."""
    for cell in getattr(value, "__closure__", None) or ():
        held = cell.cell_contents
        held = getattr(held, "func", held)
        if inspect.isfunction(held) and held is not value:
            return inner(held)
    return value


def signature(value: Any, without: tuple[str, ...] = ()) -> str | None:
    """``(bar, phase, *, pred=None)``, or None for what cannot be called or has no signature."""
    try:
        whole = inspect.signature(value)
        if str(whole) in ("(*args, **kwargs)", "(self, *args, **kwargs)"):
            whole = inspect.signature(inner(value))
    except (TypeError, ValueError):
        return None
    kept = [
        parameter.replace(annotation=parameter.empty)
        for name, parameter in whole.parameters.items()
        if name not in without
    ]
    text = str(whole.replace(parameters=kept, return_annotation=whole.empty))
    return re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "...", text)


def public(value: Any) -> list[str]:
    return [name for name in dir(value) if not name.startswith("_") and name not in FORWARDED]


def described(value: Any) -> str:
    """The signature of a function, else the name of the type of a value."""
    if type(value).__name__ in ("function", "partial", "ScopedOp", "method") or callable(value):
        return signature(value) or type(value).__name__
    return type(value).__name__


def below(path: str, value: Any) -> dict[str, str]:
    """All names below the value of a group."""
    found: dict[str, str] = {}
    for name in public(value):
        child = getattr(value, name)
        group = type(child).__name__.endswith("Namespace") and type(child).__name__ != "ScopeNamespace"
        whole = f"{path}.{name}"
        if not group or callable(child):
            found[whole] = described(child)
        if group:
            found |= below(whole, child)
    return found


def script_names() -> dict[str, str]:
    """Each name below `tvm.script.tirx`, with tile primitives once below `tile` and once below each scope."""
    tirx = importlib.import_module("tvm.script.tirx")
    found: dict[str, str] = {}
    for name in public(tirx):
        if name in GROUPS:
            found |= below(name, getattr(tirx, name))
        elif name not in SCOPES:
            found[name] = described(getattr(tirx, name))
    found = {name: text for name, text in found.items() if name.removeprefix("tile.") not in SCOPES}
    primitives = [name for name in public(tirx.tile) if type(getattr(tirx.tile, name)).__name__ == "ScopedOp"]
    for scope in SCOPES:
        found |= {f"{scope}.{name}": found[f"tile.{name}"] for name in primitives}
    return found


def class_names() -> dict[str, dict[str, str]]:
    """The constructor and the public methods and attributes of each class."""
    found: dict[str, dict[str, str]] = {}
    for place in CLASSES:
        module, _, name = place.partition(":")
        cls = getattr(importlib.import_module(module), name)
        own = {n for base in cls.__mro__ if base.__module__.startswith("tvm.") for n in vars(base)} - {"script", "show"}
        members = {n: inspect.getattr_static(cls, n) for n in public(cls) if n in own}
        found[place] = {"__init__": signature(cls.__init__, ("self",)) or "?"} | {
            n: signature(getattr(cls, n), ("self",)) or type(member).__name__ for n, member in members.items()
        }
    views = importlib.import_module("tvm.tirx._buffer_view")
    functions = {n: v for n, v in vars(views).items() if inspect.isfunction(v) and not n.startswith("_")}
    found["tvm.tirx:Buffer"] = {n: signature(v, ("self", "buf", "buffer")) or "?" for n, v in functions.items()}
    proxy = importlib.import_module("tvm.tirx")
    buffer = proxy.decl_buffer((4, 4), "float32")
    for n in public(buffer):
        found["tvm.tirx:Buffer"].setdefault(n, described(getattr(buffer, n)))
    return found


def module_names(module: str) -> list[str]:
    """The public names of a module; from its source where it imports a package that this environment lacks."""
    try:
        return public(importlib.import_module(module))
    except ImportError:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            return []
        body = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
        names = [node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        return sorted(name for name in names if not name.startswith("_"))


def dispatches() -> dict[str, list[str]]:
    """The names that ``dispatch="…"`` takes on an NVIDIA GPU, by tile primitive."""
    importlib.import_module("tvm.backend.cuda.tile_primitive")
    registered = importlib.import_module("tvm.tirx.operator.tile_primitive").list_registered_schedules()
    return {op.removeprefix("tirx.tile."): sorted(of["cuda"]) for op, of in registered.items() if of.get("cuda")}


def main() -> None:
    version = importlib.import_module("tvm").__version__
    facts = {
        "version": version,
        "script": script_names(),
        "classes": class_names(),
        "modules": {module: module_names(module) for module in MODULES},
        "dispatches": dispatches(),
    }
    json.dump(facts, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()

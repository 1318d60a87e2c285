"""References to one kernel by file and name: ``gemm_kernels.py:hgemm_v7``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import IRModule, PrimFunc
from tirx_mini.records import dataclass
from tirx_mini.script import StandIn, standing_in

from .constants import Constant
from .kernels import NO_CONSTANTS, KernelFileError, default_kernels, explaining, is_factory, load_module, step_of
from .steps import STEPS, Shape

NO_STAND_INS: Mapping[int, StandIn] = MappingProxyType({})

_DEFAULT_SIZE = 1024


@dataclass(frozen=True)
class KernelRef:
    """A kernel by file and name. name: "" for the only kernel of the file."""

    path: Path
    name: str = ""

    @staticmethod
    def parse(text: str) -> KernelRef:
        """Parse ``file.py:name`` or ``file.py``; drive letters of Windows paths are part of the path."""
        path, colon, name = text.rpartition(":")
        if not colon or not name.isidentifier() or len(path) == 1:
            return KernelRef(Path(text))
        return KernelRef(Path(path), name)

    @property
    def of_course(self) -> bool:
        """True if the name is a factory `hgemm_vN` in a reader's file, not in the references."""
        return step_of(self.name) is not None and not self.path.resolve().is_relative_to(default_kernels().resolve())

    def __str__(self) -> str:
        return f"{self.path}:{self.name}" if self.name else str(self.path)


def load_kernel(
    ref: KernelRef,
    *,
    size: int | None = None,
    shape: Shape | None = None,
    sms: int | None = None,
    constants: Mapping[str, Constant] = NO_CONSTANTS,
    parameters: Mapping[str, Constant] = NO_CONSTANTS,
    stand_ins: Mapping[int, StandIn] = NO_STAND_INS,
    source: bytes | None = None,
) -> PrimFunc:
    """Return the kernel that `ref` names: a ``@Tx.prim_func``, or the kernel of a factory ``f(M, N, K)``.

    size: of each dimension that the step leaves free. shape: (M, N, K). sms, constants: as in `load_module`.
    parameters: arguments of the factory by name, beside M, N and K. stand_ins: the statements for open TODOs of the
    factory, by the line of the `...`. source: as in `load_kernels`.

    Raises `KernelFileError` for a file or name without a kernel, `TirxError` for a mistake in the kernel,
    `ValueError` for a shape that the kernel does not accept.
    """
    module = load_module(ref.path, sms=sms, constants=constants, source=source)
    found = getattr(module, _choose(ref, module))
    if not isinstance(found, PrimFunc):
        arguments = _arguments(ref, found, size, shape, parameters)
        with explaining(), standing_in(_file_of(found), stand_ins):
            found = found(*arguments, **parameters)
    found = getattr(found, "prim_func", found)  # of a kernel of tilelang.jit
    if isinstance(found, IRModule):
        found = found.main
    if not isinstance(found, PrimFunc):
        raise KernelFileError(f"{ref} does not make a kernel: it returned {type(found).__name__}")
    return found


def _file_of(factory: Callable[..., object]) -> str:
    """Return the file of a factory, or "" for a callable without code."""
    return getattr(getattr(factory, "__code__", None), "co_filename", "")


def named_kernel(ref: KernelRef) -> KernelRef:
    """Return `ref` with the name of the file's only kernel if it has none; raises as `load_kernel`."""
    return ref if ref.name else KernelRef(ref.path, _choose(ref, load_module(ref.path)))


def _choose(ref: KernelRef, module: ModuleType) -> str:
    """Return the name in the module that `ref` denotes."""
    kernels = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, PrimFunc) or (is_factory(name) and isinstance(value, Callable))
    }
    if ref.name:
        if not hasattr(module, ref.name):
            raise KernelFileError(f"{ref.path} defines no {ref.name}" + _choices(kernels))
        if not isinstance(getattr(module, ref.name), (PrimFunc, Callable)):
            raise KernelFileError(f"{ref} is neither a kernel nor a function that makes one")
        return ref.name
    if len(kernels) == 1:
        return next(iter(kernels))
    problem = "defines several kernels" if kernels else "defines no kernel"
    raise KernelFileError(f"{ref.path} {problem}" + _choices(kernels))


def _choices(kernels: dict[str, Any]) -> str:
    return f"; write for example :{next(iter(kernels))}; it has {', '.join(kernels)}" if kernels else ""


def _arguments(
    ref: KernelRef,
    factory: Callable[..., object],
    size: int | None,
    shape: Shape | None,
    given: Mapping[str, Constant],
) -> Shape | tuple[()]:
    """Return the positional arguments of a factory: M, N and K, or none. given: its other arguments."""
    parameters = inspect.signature(factory).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty and p.name not in given]
    if not required:
        return ()
    if len(required) != 3:
        raise ArgumentError(f"{ref} takes {len(required)} arguments; a factory takes M, N and K")
    if shape is not None:
        return shape
    step = STEPS.get(step_of(getattr(factory, "__name__", "")) or 0)
    if step is not None:
        return step.shape(size) if size is not None else step.shapes[0]
    edge = size or _DEFAULT_SIZE
    return edge, edge, edge

"""Kernels in files: a student's file that defines ``hgemm_v1``, ``hgemm_v2``, …, or a folder with one file a step.

The kernel of a task is made by ``task_a``, ``task_b``, … of a file.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, ModuleType

from tirx_mini.foreign import kernel_imports
from tirx_mini.hardware import DEFAULT_ARCH, DEFAULT_GPU, GPUS, architecture_of
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.resources import resource, resource_root
from tirx_mini.script import explained

from .constants import Constant, parse_file, set_constants, set_sm_count
from .steps import STEPS
from .todos import hint_at

Factory = Callable[..., PrimFunc]
"""The factory ``hgemm_vN(M, N, K, dtype="float16")`` of the kernel for a shape."""

NO_CONSTANTS: Mapping[str, Constant] = MappingProxyType({})

_FACTORY, _TASK = re.compile(r"hgemm_v(\d+)"), re.compile(r"task_[a-z]")
_STEPS = f"hgemm_v{min(STEPS)} … hgemm_v{max(STEPS)}"


class KernelFileError(Exception):
    """The error for an unusable kernel file; the message is one sentence for the user."""


def step_of(name: str) -> int | None:
    """Return the step of a factory name: 7 for "hgemm_v7", or None for any other name."""
    match = _FACTORY.fullmatch(name)
    return int(match.group(1)) if match else None


def is_factory(name: str) -> bool:
    """Return whether a function of this name makes the kernel of a step or of a task."""
    return step_of(name) is not None or _TASK.fullmatch(name) is not None


def load_kernels(
    path: Path | str,
    arch: str = architecture_of(DEFAULT_ARCH).kernels,
    *,
    sms: int | None = None,
    constants: Mapping[str, Constant] = NO_CONSTANTS,
    source: bytes | None = None,
) -> Mapping[int, Factory]:
    """Return the kernel factories in `path` by step number.

    path: a Python file that defines ``hgemm_vN``, or a folder of such files, directly or under `arch` (`arch_folder`).
    It can import the modules next to it (`utils`), and `tvm`, which is replaced by tirx_mini. A factory without the
    parameter `dtype` is one for float16. sms, constants: as in `load_module`. source: the text of a file that cannot be
    opened any more.

    Raises `KernelFileError` if there is nothing to load, and `TirxError` for a mistake in the file; so does a factory.
    """
    found = load_factories(path, arch, sms=sms, constants=constants, source=source)
    steps = {step: factory for name, factory in found.items() if (step := step_of(name)) is not None}
    if not steps:
        raise KernelFileError(f"{path} defines no {_STEPS}")
    return dict(sorted(steps.items()))


def load_factories(
    path: Path | str,
    arch: str = architecture_of(DEFAULT_ARCH).kernels,
    *,
    sms: int | None = None,
    constants: Mapping[str, Constant] = NO_CONSTANTS,
    source: bytes | None = None,
) -> Mapping[str, Factory]:
    """Return the kernel factories of steps and tasks in `path` by name; otherwise as `load_kernels`."""
    path = Path(path)
    if source is not None:
        modules = [_load(path, sms, constants, source)]
    else:
        files = _kernel_files(path, arch)
        with _importable(path.resolve().parent):
            modules = [_load(file, sms, constants) for file in files]
    found = {
        name: _usable(name, factory)
        for module in modules
        for name, factory in vars(module).items()
        if is_factory(name) and isinstance(factory, Callable)
    }
    if not found:
        raise KernelFileError(f"{path} defines no {_STEPS}")
    return found


def _kernel_files(path: Path, arch: str) -> list[Path]:
    if not path.exists():
        raise KernelFileError(f"the kernel file {path} does not exist")
    if not path.is_dir():
        return [path]
    folder = path / arch if (path / arch).is_dir() else path
    return sorted(folder.glob("step*.py"))


def load_module(
    path: Path | str,
    *,
    sms: int | None = None,
    constants: Mapping[str, Constant] = NO_CONSTANTS,
    source: bytes | None = None,
) -> ModuleType:
    """Return the module of a Python file, which can import adjacent modules and, as tirx_mini, `tvm`.

    sms: for a GPU with so many multiprocessors; constants that hold the number of a whole GPU's, as
    ``SM_COUNT = 148``, get this value instead. constants: other values for constants of the file, as
    ``{"PIPE_DEPTH": 4}`` (`constants_of` says which there are; others are ignored). source: as in `load_kernels`.

    Raises `KernelFileError` if the file does not exist or is not Python, `TirxError` for a mistake in it.
    """
    path = Path(path)
    if source is not None:
        return _load(path, sms, constants, source)
    if not path.is_file():
        raise KernelFileError(f"the kernel file {path} does not exist")
    with _importable(path.resolve().parent):
        return _load(path, sms, constants)


@contextmanager
def explaining() -> Iterator[None]:
    """Run user code within the block: it can import `tvm`, and its mistakes become `TirxError` at their lines."""
    try:
        with kernel_imports():
            yield
    except Exception as error:
        page = explained(error)
        if page is not None and page.kind == "todo":
            _name_hint(page)
        if page is None or page is error:
            raise
        raise page from None


def _name_hint(page: TirxError) -> None:
    """Add the command for hints to a page about an unfilled TODO of a step."""
    place = page.span.user if page.span is not None else None
    if place is None or page.diagnostic.hint is not None or not Path(place.file).is_file():
        return
    try:
        command = hint_at(Path(place.file), place.line)
    except OSError:  # a hand-in's, which can open no file
        return
    if command is not None:
        page.diagnostic = replace(page.diagnostic, hint=f"for a hint, run {command}")


def arch_folder(arch: str) -> str:
    """Return the folder of the kernels for an architecture: "sm90" for "sm_90a"."""
    return architecture_of(arch).kernels


def default_kernels() -> Path:
    """Return the folder of the reference kernels: `kernels_ref` of the working directory, else the package's own."""
    here = Path("kernels_ref")
    return here if here.is_dir() else resource("kernels_ref")


def gpu_of(path: Path) -> str:
    """Return the GPU whose ladder a student's file is, by its name, and the default GPU for any other file."""
    own = (name for name, spec in GPUS.items() if spec.architecture.student_file == path.name)
    return next(own, DEFAULT_GPU)


def student_file(arch: str = DEFAULT_ARCH) -> Path:
    """Return the student file for an architecture: in the working directory, else in the checkout."""
    name = architecture_of(arch).student_file
    here, beside = Path(name), resource(name)
    return beside if beside.is_file() and not here.is_file() else here


def read_kernels(path: Path) -> str:
    """Return the text of a student's file. Raises `KernelFileError` if there is none."""
    if path.is_dir():
        raise KernelFileError(f"{path} is a folder; name the file that you fill in")
    if not path.is_file():
        raise KernelFileError(f"the kernel file {path} does not exist")
    return path.read_text(encoding="utf-8", errors="replace")


def _load(
    file: Path, sms: int | None, constants: Mapping[str, Constant], source: bytes | None = None
) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise KernelFileError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    for name in {str(file), spec.origin or ""}:
        linecache.checkcache(name)  # pages show the lines of this version of the file
    try:
        with explaining():
            if source is None and sms is None and not constants:
                spec.loader.exec_module(module)
            else:
                tree = parse_file(file, source)
                if sms is not None:
                    set_sm_count(tree, sms)
                set_constants(tree, constants)
                exec(compile(tree, str(file), "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        own = error.filename in (None, str(file), spec.origin)
        where = file if own else error.filename  # an imported module has the error
        raise KernelFileError(f"{where}:{error.lineno}: {error.msg}: {(error.text or '').strip()}") from error
    return module


def _usable(name: str, factory: Factory) -> Factory:
    """Return the factory in its general form, with mistakes explained; one without `dtype` accepts only float16."""
    takes_dtype = _takes_dtype(factory)

    @functools.wraps(factory)
    def build(m: int, n: int, k: int, dtype: str = "float16") -> PrimFunc:
        if not takes_dtype and dtype != "float16":
            raise ValueError(f'{name} makes kernels of float16 only: give it a parameter dtype="float16", and use it')
        with explaining():
            return factory(m, n, k, dtype=dtype) if takes_dtype else factory(m, n, k)

    return build


def _takes_dtype(factory: Factory) -> bool:
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):  # not every callable has one
        return True
    return "dtype" in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


@contextmanager
def _importable(root: Path) -> Iterator[None]:
    """Make the modules beside a kernel file, and the kit's `utils`, importable within the block."""
    kit = str(resource_root())
    added = [str(root)] if kit in sys.path else [str(root), kit]
    sys.path[:] = [*added[:1], *sys.path, *added[1:]]
    try:
        yield
    finally:
        for path in added:
            sys.path.remove(path)

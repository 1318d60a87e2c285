"""Tile programs as named in commands: programs in files, and the programs of lesson 11."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from tirx_mini.course import Checked, KernelFileError, KernelRef, Launched, Setting, explaining, load_module
from tirx_mini.pytorch import pytorch
from tirx_mini.resources import resource

from .import_paths import imports
from .language import TileKernel
from .run import Launch, captured, lowered_launch, simulate

DEFAULT_TILE_SIZE = 4096
TRACED_SIZE = 1024
"""Of a program of the course that is run."""
HOW_TO_LAUNCH = 'give its arguments, as in --args "float16[512,512], 64"'


def _matrix(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float16)


def _moe(module: ModuleType, n: int) -> None:
    torch = pytorch("the program moe")
    tokens, experts, hidden, choices = n, 8, n // 2, 2
    ids = torch.arange(tokens * choices).reshape(tokens, choices) % experts
    shapes = ((tokens, n), (experts, 2 * hidden, n), (experts, n, hidden), (tokens, choices))
    x, gate_up, down, weights = (torch.empty(shape, dtype=torch.float16) for shape in shapes)
    module.moe(x, gate_up, down, ids, weights)


TILE_PROGRAMS: Mapping[str, Callable[[ModuleType, int], Any]] = MappingProxyType({
    "gemm": lambda m, n: m.gemm(_matrix(n, n), _matrix(n, n), _matrix(n, n)),
    "persistent_gemm": lambda m, n: m.gemm(_matrix(n, n), _matrix(n, n), _matrix(n, n), sms=132),
    "batched_gemm": lambda m, n: m.batched_gemm(*(_matrix(4, n, n) for _ in range(3))),
    "attention": lambda m, n: m.attention(*(_matrix(4, 16, n, 128) for _ in range(4)), causal=True),
    "moe": _moe,
    "softmax": lambda m, n: m.softmax(_matrix(n, n), _matrix(n, n)),
    "layer_norm": lambda m, n: m.layer_norm(_matrix(n, n), _matrix(n), _matrix(n), _matrix(n, n)),
    "transpose": lambda m, n: m.transpose(_matrix(n, n), _matrix(n, n)),
    "vector_add": lambda m, n: m.add(_matrix(n * n), _matrix(n * n), _matrix(n * n)),
})  # fmt: skip
"""What launches each program at a size: extents of matrices, the length of sequences, the number of tokens."""
_HOSTS: Mapping[str, str] = MappingProxyType({"persistent_gemm": "gemm", "vector_add": "add"})
"""The function that launches a program, where it has another name."""


def tile_launch(program: str, size: int | None = None, args: tuple[object, ...] | None = None) -> Launch:
    """Return a launch of ``FILE.py:KERNEL``, recorded while the file is imported, or of a course program.

    size: of a program of the course. args: instead of those that the file gives; the grid is then one block.
    Raises `KernelFileError` where there is no such kernel, or no launch of it.
    """
    file, _, name = program.rpartition(":")
    if not file:
        if program.endswith(".py"):
            raise KernelFileError(f"which kernel? Write for example: {program}:KERNEL")
        return tile_program(name, size) if size else tile_program(name)
    with captured() as launches, imports():
        module = load_module(file)
    kernel = getattr(module, name, None)
    if not isinstance(kernel, TileKernel):
        found = [n for n, v in vars(module).items() if isinstance(v, TileKernel)]
        raise KernelFileError(f"{file} has no kernel {name!r}; it has {', '.join(found) or 'none'}")
    if args is not None:
        return Launch(kernel, (1, 1, 1), args)
    for launch in launches:
        if launch.kernel.function is kernel.function:
            return launch
    raise KernelFileError(f"{file} does not launch {name} while it is imported: {HOW_TO_LAUNCH}")


def tile_program(name: str, size: int = DEFAULT_TILE_SIZE) -> Launch:
    """Return the first launch of a program in kernels_ref/tile. Raises `KernelFileError` for an unknown name."""
    if name not in TILE_PROGRAMS:
        raise KernelFileError(f"there is no tile program {name!r}; there are {', '.join(TILE_PROGRAMS)}")
    with captured() as launches:
        TILE_PROGRAMS[name](load_module(_file(name)), size)
    return launches[0]


def _file(name: str) -> Path:
    return resource(f"kernels_ref/tile/{name}.py")


class TilePrograms:
    """Tile programs for the commands that accept kernels (`course.Programs`)."""

    @staticmethod
    def has(program: str) -> bool:
        """Return whether ``FILE.py:KERNEL`` or a name refers to a tile program."""
        file, _, name = program.rpartition(":")
        if not file:
            return program in TILE_PROGRAMS
        with captured(), imports(), suppress(Exception):  # what is wrong with the file is told when it is loaded
            return isinstance(getattr(load_module(file), name, None), TileKernel)
        return False

    @staticmethod
    def check(program: str, size: int | None, gpu: str, **options: Any) -> Checked:
        """Run a program as launched in its file; data is simulated only if control flow depends on it."""
        launch = tile_launch(program, size or TRACED_SIZE)

        def run(data: bool) -> Checked:
            schedules = options.get("schedules", 1) if data else 1
            given = {**options, "schedules": schedules, "data": data}
            return Checked(simulate(launch.grid, launch.kernel, launch.args, gpu, **given))

        checked = run(options.get("schedules", 1) > 1)
        return checked if checked.report.trace is not None else run(True)

    @staticmethod
    def source(program: str) -> KernelRef | None:
        """Return the file and the function that launch a program (`course.Programs`)."""
        file, _, name = program.rpartition(":")
        if not file:
            return KernelRef(_file(name), _HOSTS.get(name, name)) if program in TILE_PROGRAMS else None
        with captured(), imports():
            module = load_module(file)
        found = getattr(module, name, None)
        if isinstance(found, TileKernel):
            return KernelRef(Path(file))
        kernels = any(isinstance(value, TileKernel) for value in vars(module).values())
        return KernelRef(Path(file), name) if kernels and isinstance(found, FunctionType) else None

    @staticmethod
    def launches(
        program: str, size: int | None, args: Sequence[object], gpu: str, setting: Setting
    ) -> list[Launched]:
        """Return the launches of a program with other values of constants (`course.Programs`)."""
        file, _, name = program.rpartition(":")
        with captured() as launches, imports():
            module = load_module(file or _file(name), constants=setting.constants)
            found = getattr(module, name, None) if file else None
            if isinstance(found, TileKernel):
                if args:
                    raise KernelFileError(f"{name} needs a grid: name the function that launches it, not the kernel")
                chosen = [launch for launch in launches if launch.kernel.function is found.function]
            else:
                launches.clear()
                with explaining():
                    if file:
                        getattr(module, name)(*args, **setting.parameters)
                    else:
                        TILE_PROGRAMS[name](module, size or TRACED_SIZE)
                chosen = launches
        if not chosen:
            raise KernelFileError(f"{program} launches nothing")
        return [Launched(func, tuple(values)) for func, values in (lowered_launch(each, gpu) for each in chosen)]

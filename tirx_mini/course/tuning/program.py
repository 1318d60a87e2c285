"""The program to tune: what it launches with given values of its constants, and the values as the user wrote them."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tirx_mini.arguments import check_room
from tirx_mini.foreign import language_of, resolve
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.records import dataclass, replace
from tirx_mini.report import product_shape

from ..check import make_arguments, random_array
from ..constants import Constant, constants_of, converted, lines_of_constants, parameters_of, parse_file
from ..kernel_ref import KernelRef, load_kernel, named_kernel
from ..kernels import KernelFileError, load_module
from ..launches import parse_arguments, random_arrays
from ..programs import Launched, Setting, launching
from ..steps import Shape, shape_text
from ..what_if import Assignment

_DEFAULT_SIZE = 1024
CHECKED_SIZE, CHECKED_PROGRAM_SIZE = 1024, 256
"""The extents at which a candidate is checked where its own problem takes long: of a factory, and a named program."""


@dataclass(frozen=True)
class TunedProgram:
    """A program, ``FILE.py:NAME`` or the name of a tile program, and the problem that it is tuned for.

    size, shape: of a factory, or the size of a named program. args: as text, of a function that launches tile programs.
    gpu: a name of `hardware.GPUS`.
    """

    name: str
    gpu: str = DEFAULT_GPU
    size: int | None = None
    shape: Shape | None = None
    args: str = ""

    @property
    def spec(self) -> GpuSpec:
        """The modelled GPU."""
        return gpu_spec(self.gpu)

    @property
    def problem(self) -> str:
        """The problem in words."""
        if self.shape is not None:
            return shape_text(self.shape)
        return self.args or (str(self.size) if self.size is not None else "its own size")

    @cached_property
    def source(self) -> KernelRef:
        """The file with the constants, and the function that reads them; "" for all of the file."""
        found = launching(self.name)
        if found is not None:
            return found[1]
        ref = KernelRef.parse(self.name)
        if ref.path.suffix != ".py":
            raise KernelFileError(f"{self.name} is no kernel in a Python file, as in kernels.py:matmul")
        if not ref.path.is_file():
            raise KernelFileError(f"the kernel file {ref.path} does not exist")
        return named_kernel(ref)

    @property
    def _in_file(self) -> bool:
        """True if the program is named by its file, and so called with its parameters."""
        return KernelRef.parse(self.name).path.is_file()

    @cached_property
    def _tree(self) -> ast.Module:
        return parse_file(self.source.path)

    def setting(self, assignment: Assignment) -> Setting:
        """Return the values of an assignment. Raises `ConstantError` for a name that the program does not have."""
        function = self.source.name
        known = constants_of(self._tree, function, items=True)
        parameters = parameters_of(self._tree, function)
        values = {
            name: _value(text) if name in parameters and name not in known
            else converted(self._tree, function, name, text)
            for name, text in assignment.items()
        }  # fmt: skip
        passed = set(parameters) if self._in_file else set(parameters) - set(known)
        return Setting(
            {name: value for name, value in values.items() if name not in passed},
            {name: value for name, value in values.items() if name in passed},
        )

    def declared(self) -> list[Assignment]:
        """Return the candidates that the program itself declares, as `tilelang.autotune(configs=…)` does."""
        if launching(self.name) is not None:
            return []
        with self._imports():
            function = getattr(load_module(self.source.path), self.source.name, None)
            configurations = getattr(function, "configurations", None)
            if configurations is None:
                return []
            shape = self.shape or (self.size or _DEFAULT_SIZE,) * 3
            return [{name: str(value) for name, value in each.items()} for each in configurations(*shape)]

    @contextmanager
    def _imports(self) -> Iterator[None]:
        """Substitute tirx_mini within the block for other projects' packages that the file imports."""
        from tirx_mini.foreign import scripts

        text = self.source.path.read_text(encoding="utf-8", errors="replace")
        with ExitStack() as entered:
            for package, context in scripts.importable().items():
                if re.search(rf"^\s*(import|from) {re.escape(package)}\b", text, re.MULTILINE):
                    entered.enter_context(resolve(context)())
            yield

    def now(self, names: Sequence[str]) -> Assignment | None:
        """Return the values in the file; None if one of the names has none, as a parameter without a default."""
        known = constants_of(self._tree, self.source.name, items=True)
        return {name: str(known[name]) for name in names} if all(name in known for name in names) else None

    def edits(self, assignment: Assignment) -> str:
        """Return what to write, in words: constants with their lines, and arguments of the function."""
        known = constants_of(self._tree, self.source.name, items=True)
        lines = lines_of_constants(self._tree, self.source.name, items=True)
        parts: list[str] = []
        for name, value in assignment.items():
            line = lines.get(name)
            if line is None or value != str(known[name]):
                parts.append(f"{name} = {value}" + ("" if line is None else f" (line {line}, now {known[name]})"))
        return ", ".join(parts)

    def launches(self, assignment: Assignment, data: bool = False) -> list[Launched]:
        """Return what the program launches with these values. Raises as `load_kernel` does.

        data: whether arrays hold random numbers; else the time alone is asked for.
        """
        with self._imports():
            return self._launches(self.setting(assignment), data)

    def _launches(self, setting: Setting, data: bool) -> list[Launched]:
        found = launching(self.name)
        if found is None:
            kernel = load_kernel(
                self.source, size=self.size, shape=self.shape, constants=setting.constants,
                parameters=setting.parameters,
            )  # fmt: skip
            return [Launched(kernel, tuple(make_arguments(kernel)) if data else ())]
        args = parse_arguments(self.args, random_arrays()) if data else parse_arguments(self.args)
        launches = found[0].launches(self.name, self.size, args, self.gpu, setting)
        if data:
            _fill(launches)
        return launches

    def smaller(self) -> TunedProgram | None:
        """Return the same program on a problem that is quickly simulated with data; None if its size is given."""
        if self.args:
            return None
        if self.shape is not None:
            m, n, k = (min(extent, CHECKED_SIZE) for extent in self.shape)
            return replace(self, shape=(m, n, k))
        largest = CHECKED_SIZE if self._in_file else CHECKED_PROGRAM_SIZE
        return replace(self, size=min(self.size, largest)) if self.size is not None else None


def all_candidates(sets: Sequence[Sequence[Assignment]]) -> list[Assignment]:
    """Return the candidates that options make: each alternative of one with each of the others."""
    return [{name: value for part in parts for name, value in part.items()} for parts in itertools.product(*sets)]


def assignment_text(assignment: Assignment) -> str:
    """Return an assignment in words, as in "TM = 64, TN = 128"."""
    return ", ".join(f"{name} = {value}" for name, value in assignment.items())


def is_product(program: TunedProgram, launches: Sequence[Launched]) -> bool:
    """Return whether this is a matrix multiplication of the course, A @ B.T; other languages may have another B."""
    kernel = launches[0].kernel
    if launching(program.name) is not None or language_of(kernel.attrs):
        return False
    return product_shape(kernel) is not None


def _value(text: str) -> Constant:
    """Return the value of a parameter: a literal, or else the text itself."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, (int, float, str)) else text


def _fill(launches: Sequence[Launched]) -> None:
    """Fill the arrays of floating-point numbers that are zero with random numbers, each once."""
    rng = np.random.default_rng(0)
    arrays: dict[int, npt.NDArray] = {}
    for launch in launches:
        arrays |= {each.ctypes.data: each for each in launch.args if isinstance(each, np.ndarray)}
    check_room(4 * max((each.size for each in arrays.values()), default=0), "random data")
    for array in arrays.values():
        if not array.dtype.name.startswith(("int", "uint", "bool")) and not array.any():
            array[...] = random_array(rng, array.dtype, array.shape)

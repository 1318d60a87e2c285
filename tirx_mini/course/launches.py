"""Launches from a command line: the arguments, the grid and the block for a program in a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tirx_mini.arguments import TensorMap
from tirx_mini.foreign import frontends, resolve
from tirx_mini.records import dataclass

from .check import Checked, random_array

if TYPE_CHECKING:
    from .staged_lines import Item

Array: TypeAlias = npt.NDArray[Any]
EXAMPLE = "write a number, or an array as in float16[512,512]"


@dataclass(frozen=True)
class LaunchText:
    """A launch as text. args: "float16[512,512], 64"; grid, block, cluster: "8,4", or "" without one.

    smem: bytes of dynamic shared memory. include, define, optimize: for a file that a compiler reads.
    """

    args: str = ""
    grid: str = ""
    block: str = ""
    cluster: str = ""
    smem: int = 0
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    optimize: bool = False


@dataclass(frozen=True)
class LaunchedKernel:
    """A kernel that a text defines. parameters: as the text has them. template: whether only its instances run."""

    name: str
    line: int
    parameters: str = ""
    template: bool = False


class LaunchedFiles(Protocol):
    """The interface of a front end to programs that a command line launches.

    source: the text in the place of the file's, or None. Its lines have the name of the file, without a folder.
    """

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages at which a kernel can be shown, the default one first."""
        ...

    def launched(
        self, program: str, launch: LaunchText, gpu: str | None, source: str | None = None, **options: object
    ) -> Checked:
        """Run a program, ``FILE:KERNEL``, in the simulator. options: of `simulate`. Raises as `check_file`."""
        ...

    def stage(self, program: str, stage: str, launch: LaunchText, gpu: str | None) -> str:
        """Return a program as text at one of `stages`. Raises as `launched`, `TirxError` and `ToolchainError`."""
        ...

    def item(self, program: str, stage: str, launch: LaunchText, gpu: str | None, source: str) -> Item:
        """Return a program at one of `stages` for a page that shows it beside its text. Raises as `stage`."""
        ...

    def kernels(self, file: str, text: str) -> Sequence[LaunchedKernel]:
        """Return the kernels that the text of a file defines. The text is not compiled."""
        ...


def launched_with(program: str) -> LaunchedFiles | None:
    """Return the front end that launches a program, by its file; None for any other program."""
    for each in frontends():
        if each.launched(Path(file_and_name(program)[0])):
            return resolve(each.programs)()
    return None


def file_and_name(program: str) -> tuple[str, str]:
    """Split ``file.cu:name<float>`` into ("file.cu", "name<float>"); drive letters are part of the path."""
    match = re.fullmatch(r"(.[^:]*(?::[\\/][^:]*)?)(?::(.*))?", program)
    return (match[1], match[2] or "") if match else (program, "")


def zeros(dtype: str, shape: tuple[int, ...]) -> Array:
    """Return an array of zeros. Raises `TypeError` for an unknown dtype."""
    import ml_dtypes

    return np.zeros(shape, np.dtype(getattr(ml_dtypes, dtype, dtype)))


def parse_arguments(text: str, array: Callable[[str, tuple[int, ...]], Array] = zeros) -> tuple[Any, ...]:
    """Parse the arguments that ``float16[512,512], 2.0, 64`` describes.

    ``zeros(int32[8])`` is an array of zeros, ``TensorMap(float16[512,512], box=(64, 128), swizzle=128)`` a tensor map,
    ``(1, 2.0)`` a structure, ``[float32[8], float32[8]]`` a pointer to pointers. array: the constructor of other
    arrays. Raises `ValueError` for any other text.
    """
    parts = [part for part in _parts(text) if part]
    return tuple(_argument(part, array) for part in parts)


def random_arrays(seed: int = 0) -> Callable[[str, tuple[int, ...]], Array]:
    """Return a function that makes random arrays like those of `check`."""
    rng = np.random.default_rng(seed)
    return lambda dtype, shape: random_array(rng, zeros(dtype, ()).dtype, shape)


def parse_dims(option: str, text: str) -> tuple[int, ...]:
    """Parse the numbers of a text such as ``8,4``. Raises `ValueError` for any other text."""
    if not re.fullmatch(r"\d+(,\d+){0,2}", text):
        raise ValueError(f"{option} {text}: write one to three numbers, as in 8,4")
    return tuple(int(number) for number in text.split(","))


def _parts(text: str) -> list[str]:
    """Split a text at the commas outside brackets."""
    found, depth = [""], 0
    for char in text:
        depth += (char in "[(") - (char in "])")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return [part.strip() for part in found]


def _argument(text: str, array: Callable[[str, tuple[int, ...]], Array]) -> Any:
    try:
        return _value(ast.parse(text.replace("[]", "[()]"), mode="eval").body, array)
    except (SyntaxError, LookupError, TypeError):
        raise ValueError(f"{text!r} is not an argument: {EXAMPLE}") from None


def _value(node: ast.expr, array: Callable[[str, tuple[int, ...]], Array]) -> Any:
    """Return the value of an expression. Raises `LookupError` if it does not describe an argument."""
    if isinstance(node, ast.Name) and node.id in ("nan", "inf"):
        return float(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        shape = _literal(node.slice)
        try:
            return array(node.value.id, tuple(map(int, shape if isinstance(shape, tuple) else (shape,))))
        except TypeError:
            raise ValueError(f"{node.value.id!r} is not a dtype of an array") from None
    if isinstance(node, (ast.Tuple, ast.List)):
        values = [_value(each, array) for each in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        options = {each.arg: _literal(each.value) for each in node.keywords if each.arg}
        if node.func.id == "zeros":
            return _value(node.args[0], zeros)
        if node.func.id == "TensorMap":
            return TensorMap(_value(node.args[0], array), *map(_literal, node.args[1:]), **options)
        raise LookupError
    value = _literal(node)
    if value is not None and not isinstance(value, (bool, int, float)):
        raise LookupError
    return value


def _literal(node: ast.expr) -> Any:
    """Return the value of a constant. Raises `LookupError` for anything else."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise LookupError from None

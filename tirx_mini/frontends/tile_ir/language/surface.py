"""cuTile's public API: decorators, annotations and tile-code functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, TypeVar

from tirx_mini.records import dataclass

from .dtypes import DType, int32, int64
from .errors import TileSyntaxError, TileTypeError

Implementation = Callable[..., Any]


class Operation:
    """A tile-code function, such as `ct.load`, callable only in kernels.

    implementation: takes the tracer and the function's arguments, and emits cuda_tile.
    """

    def __init__(self, name: str, implementation: Implementation, host: Callable[..., object] | None = None) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = implementation.__doc__
        self.implementation = implementation
        self.host = host

    @cached_property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.implementation)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def bind(self, args: Iterable[object], kwargs: Mapping[str, object]) -> inspect.BoundArguments:
        """Bind the arguments to parameters. Raises `TileTypeError` for mismatches."""
        try:
            return self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            shown = ", ".join(str(p).split(":")[0].split(" =")[0].split("=")[0] for p in self.parameters)
            raise TileTypeError(f"{self.__name__}(): {error}", hint=f"it takes ({shown})") from None

    @property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        return tuple(self.__signature__.parameters.values())

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.host is not None:
            return self.host(*args, **kwargs)
        raise TileSyntaxError(
            f"ct.{self.__name__} can only be called in tile code",
            hint="call it in a function that `@ct.kernel` marks, and launch that with `ct.launch`",
        )

    def __repr__(self) -> str:
        return f"<function ct.{self.__name__}>"


OPERATIONS: dict[str, Operation] = {}
"""The functions of tile code, by name. The modules of `ops/` fill it while they are imported."""
METHODS: dict[tuple[type, str], Operation] = {}
"""Methods of values, by the class of the value and their name."""


def operation(name: str, host: Callable[..., object] | None = None) -> Callable[[Implementation], Operation]:
    """Define ``ct.name`` (decorator).

    host: the implementation in host code, for the few functions that are available there.
    """

    def define(implementation: Implementation) -> Operation:
        OPERATIONS[name] = Operation(name, implementation, host)
        return OPERATIONS[name]

    return define


def method(owner: type, name: str) -> Callable[[Implementation], Operation]:
    """Define a method on values of the class `owner` (decorator); its first argument is the value."""

    def define(implementation: Implementation) -> Operation:
        METHODS[owner, name] = Operation(name, implementation)
        return METHODS[owner, name]

    return define


# -- Decorators --------------------------------------------------------------------------------------------------------

Hint = Any
"""An option of a kernel: a number, a `ByTarget`, or None to leave it to the compiler."""


class ByTarget:
    """A value that depends on the architecture: ``ct.ByTarget(sm_100=8, default=2)``."""

    def __init__(self, *, default: object = None, **value_by_target: object) -> None:
        self.default = default
        self.values: Mapping[str, Any] = MappingProxyType(value_by_target)

    def at(self, arch: str) -> Any:
        """Return the value for an architecture, such as "sm_90a" or "sm_90"."""
        return self.values.get(arch.rstrip("af"), self.default)


@dataclass(frozen=True)
class Hints:
    """The options of ``@ct.kernel``; None leaves the choice to the compiler."""

    num_ctas: Hint = None
    occupancy: Hint = None
    opt_level: Hint = 3
    num_worker_warps: Hint = None

    def at(self, arch: str) -> Hints:
        """Return the options for one architecture."""

        def value(hint: Hint) -> Hint:
            return hint.at(arch) if isinstance(hint, ByTarget) else hint

        return Hints(
            *(value(getattr(self, name)) for name in ("num_ctas", "occupancy", "opt_level", "num_worker_warps"))
        )


_LIMITS = {"num_ctas": (1, 16, True), "occupancy": (1, 32, False), "opt_level": (0, 3, False),
           "num_worker_warps": (1, 32, True)}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TileKernel:
    """A kernel, executed by each block of a grid and launched by `ct.launch`.

    function: the Python function.
    """

    function: Any
    hints: Hints = field(default_factory=Hints)
    programs: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    """What it was compiled to, by the kinds of its arguments."""

    @property
    def __name__(self) -> str:
        return self.function.__name__

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.function.__doc__

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise TileSyntaxError(
            f"the kernel `{self.__name__}` cannot be called",
            hint=f"launch it: ct.launch(stream, grid, {self.__name__}, (argument, …))",
        )

    def replace_hints(self, **hints: object) -> TileKernel:
        """Return the same kernel with other options."""
        _check_hints(hints)
        return replace(self, hints=replace(self.hints, **hints))


class _Marks(type):
    """The metaclass that makes `ct.kernel` both a decorator and the class of its results."""

    def __call__(cls, function: object = None, /, **hints: object) -> Any:
        _check_hints(hints)
        if function is None:
            return lambda marked: kernel(marked, **hints)
        if not isinstance(function, FunctionType):
            raise TileTypeError(f"@ct.kernel marks a function, not {type(function).__name__}")
        return TileKernel(function, Hints(**hints))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TileKernel)


class kernel(metaclass=_Marks):
    """Mark a function as a kernel: ``@ct.kernel``, or ``@ct.kernel(num_ctas=2)``.

    num_ctas: CTAs of a cluster, a power of two from 1 to 16. With 2, blocks that are neighbours along x are in one
        cluster, and each loads a half of the tiles that both need; other numbers change nothing.
    occupancy: blocks that are to run on one SM at the same time, 1 to 32.
    opt_level: 0 to 3.
    num_worker_warps: warps that compute, a power of two from 1 to 32.
    """

    replace_hints = TileKernel.replace_hints


def _check_hints(hints: Mapping[str, Any]) -> None:
    for name, given in hints.items():
        if name not in _LIMITS:
            raise TileTypeError(f"@ct.kernel has no option `{name}`", hint=f"its options are {', '.join(_LIMITS)}")
        low, high, power = _LIMITS[name]
        values = [*given.values.values(), given.default] if isinstance(given, ByTarget) else [given]
        for value in values:
            if value is None:
                continue
            whole = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
            if not whole or (power and value & (value - 1)):
                raise TileTypeError(
                    f"{name}={value!r}: it is a {'power of two' if power else 'number'} from {low} to {high}"
                )


@dataclass(frozen=True, eq=False)
class TileFunction:
    """A function marked by ``@ct.function`` for use in tile code.

    on_host: whether Python may call it as well.
    """

    function: Any
    on_host: bool

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.on_host:
            return self.function(*args, **kwargs)
        raise TileSyntaxError(
            f"`{self.__name__}` can only be called in tile code", hint="mark it with `@ct.function(host=True)`"
        )


def function(func: object = None, /, *, host: bool = False, tile: bool = True) -> Any:
    """Mark a function for use in tile code: ``@ct.function``. Unmarked functions can be called as well.

    host: whether Python may call it.
    tile: whether tile code may call it.
    """
    if func is None:
        return lambda marked: function(marked, host=host, tile=tile)
    return TileFunction(func, host) if tile else func


# -- Types and annotations ---------------------------------------------------------------------------------------------


class Array:
    """An array in global memory, the parameter type for NumPy arrays and PyTorch tensors."""


class Tile:
    """A tile: a value with power-of-two extents on which one block computes."""


class TiledView:
    """An array partitioned into tiles, as returned by ``array.tiled_view(shape)``."""


class RawArrayMemory:
    """The memory of an array addressed by offsets, as returned by ``array.get_raw_memory()``."""


class Slice:
    """An index of `load_advanced_indexing` along a dense dimension: ``ct.Slice(start, length)``."""

    def __init__(self, start: object, length: object, /) -> None:
        self.start, self.length = start, length


Scalar = Tile | int | float


class ConstantAnnotation:
    """An ``Annotated[…]`` marker of a compile-time constant; the kernel is compiled for each of its values."""


@dataclass(frozen=True)
class ArrayAnnotation:
    """An ``Annotated[…]`` marker that specifies the passing of an array.

    index_dtype: the type of its extents and strides, int32 or int64.
    static_shape_dims, static_stride_dims: dimensions whose extents and strides are constants; here all are.
    """

    index_dtype: DType = int32
    static_shape_dims: tuple[int, ...] = ()
    static_stride_dims: tuple[int, ...] = ()


@dataclass(frozen=True)
class ListAnnotation:
    """An ``Annotated[…]`` marker of a list of arrays, whose items `element` annotates."""

    element: Any


@dataclass(frozen=True)
class ScalarAnnotation:
    """An ``Annotated[…]`` marker of a scalar's type."""

    dtype: DType


_T = TypeVar("_T")
Constant = Annotated[_T, ConstantAnnotation()]
IndexedWithInt64 = Annotated[Array, ArrayAnnotation(index_dtype=int64)]
ScalarInt64 = Annotated[int, ScalarAnnotation(int64)]

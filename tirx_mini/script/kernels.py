"""The decorator ``@Tx.prim_func``, which translates a Python function to a kernel's IR."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, overload

from tirx_mini.ir import COURSE, DIALECT, HANDLE, NATIVE, Buffer, DataType, IRModule, PrimFunc, Span, TirxError, Var
from tirx_mini.records import dataclass, replace

from .builder import Builder, building
from .environment import Bound, Env, Outside
from .functions import Executor
from .handles import BufferType, ConstexprMarker, DType, OptionalType, data_type
from .source import FunctionSource, check_function, source_of
from .statements import Returned
from .threads import with_indices

_DTYPE_NAMES = ("int32", "int64", "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "bool", "handle")


@overload
def prim_func(function: Callable[..., object]) -> PrimFunc: ...
@overload
def prim_func(
    *,
    tirx: bool | None = None,
    private: bool = False,
    persistent: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = False,
    dialect: str | None = None,
) -> Callable[[Callable[..., Any]], PrimFunc]: ...
def prim_func(
    function: Callable[..., object] | None = None,
    *,
    tirx: bool | None = None,
    private: bool = False,
    persistent: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = False,
    dialect: str | None = None,
) -> Any:
    """Parse the function as a kernel and return its `PrimFunc` (decorator).

    dialect: "tvm" for the defaults of Apache TVM 0.26. The imports of `tirx_mini.compat.tvm` pass it; ``tirx=True``,
        which only the course's decorator has, overrides it.

    The other keyword arguments are accepted for compatibility with TIRx and have no effect. Raises `TirxError` for a
    mistake in the kernel.
    """
    __tracebackhide__ = True
    attrs = {DIALECT: dialect} if dialect is not None and tirx is None else {}
    if function is None:
        return partial(_with_caller, attrs)
    return reading(function, caller_locals(2), attrs=attrs)


def ir_module(cls: type) -> IRModule:
    """Convert a class of kernels to a module (decorator): ``@I.ir_module`` above ``class Module:``."""
    return IRModule({name: kernel for name, kernel in vars(cls).items() if isinstance(kernel, PrimFunc)})


def _with_caller(attrs: Mapping[str, object], function: Callable[..., object]) -> PrimFunc:
    __tracebackhide__ = True
    return reading(function, caller_locals(2), attrs=attrs)


def caller_locals(depth: int) -> Mapping[str, Any]:
    """Return the local names at the kernel's definition, which annotations may use without capturing them."""
    frame = inspect.currentframe()
    for _ in range(depth):
        frame = frame.f_back if frame is not None else None
    return {} if frame is None else frame.f_locals


def reading(
    function: Callable[..., object],
    caller: Mapping[str, object],
    given: Mapping[str, object] | None = None,
    attrs: Mapping[str, object] | None = None,
    spelling: str = COURSE,
    keeps_numbers: bool = False,
) -> PrimFunc:
    """Call `read`, hiding this package from the tracebacks of errors."""
    __tracebackhide__ = True
    try:
        check_function(function, "@Tx.prim_func" if given is None else "@T.jit")
        return read(function, caller, given, attrs or {}, spelling, keeps_numbers)
    except TirxError as error:
        mistake = error.with_traceback(None)
    raise mistake from None


def read(
    function: Callable[..., object],
    caller: Mapping[str, object],
    given: Mapping[str, object] | None,
    attrs: Mapping[str, object],
    spelling: str = COURSE,
    keeps_numbers: bool = False,
    parameters: Mapping[str, object] | None = None,
) -> PrimFunc:
    """Parse `function` as a kernel.

    caller: the local names at its definition.
    given: the values of compile-time parameters, or None for a kernel that cannot have any.
    attrs: its attributes, to which `Tx.func_attr` adds.
    spelling: the dialect that it is written in.
    keeps_numbers: a name that a plain number is assigned to once stays that number, as in TileLang.
    parameters: the values of its parameters, for a function whose body says which of them are arguments of the kernel:
        those that are `Untyped`, by a statement ``A: T.Tensor((M, K), "float16")``. Its return value is then the
        attribute "returned".
    """
    source = source_of(function)
    span = source.span(source.node)
    span = replace(span, end_line=span.line, end_column=0)
    builder = Builder(function.__name__, span, attrs=dict(attrs), spelling=spelling, keeps_numbers=keeps_numbers)
    env = Env(outer=Outside.of(function, caller), body=source.node.body)
    executor = Executor(source, builder, env)
    with building(builder):
        if parameters is None:
            _Parameters(function, source, executor, given).declare()
        else:
            env.names.update(parameters)
        outcome = executor.run(source.node.body)
        if parameters is not None and isinstance(outcome, Returned) and outcome.value is not None:
            builder.attrs["returned"] = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
        func = builder.finish(span)
        if builder.threads:
            func = replace(func, body=with_indices(func.body), spelling=NATIVE)
        return func


@dataclass(frozen=True)
class _Parameters:
    """Converts each parameter to a buffer, variable or compile-time value by its annotation."""

    function: Callable[..., Any]
    source: FunctionSource
    executor: Executor
    given: Mapping[str, Any] | None

    def declare(self) -> None:
        arguments, names = self.source.node.args, self.executor.env.names
        fixed = self.given is None and (arguments.kwonlyargs or arguments.defaults)
        if arguments.vararg or arguments.kwarg or fixed:
            raise TirxError(
                "a kernel can only have plain parameters without defaults",
                self.executor.span(self.source.node),
                "take the value from the names around the kernel, or make it a parameter of a @Tx.jit kernel",
            )
        rest: list[tuple[ast.arg, Any]] = []
        for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            kind = self.function.__annotations__.get(arg.arg)
            if _names_constexpr(arg, kind):
                names[arg.arg] = self._constexpr(arg)
            else:
                rest.append((arg, kind))
        for arg, kind in rest:  # their types may name compile-time parameters
            self._runtime(arg, self._annotation(arg, kind))

    def _constexpr(self, arg: ast.arg) -> object:
        span = self.executor.span(arg)
        if self.given is None:
            raise TirxError(
                f"`{arg.arg}` is a T.constexpr parameter, which only a T.jit kernel has",
                span,
                f"decorate the kernel with @T.jit, and call {self.function.__name__}.specialize({arg.arg}=…)",
            )
        if arg.arg not in self.given:
            raise TirxError(
                f"{self.function.__name__}.specialize is called without `{arg.arg}`, which has no default",
                span,
                f"write {self.function.__name__}.specialize({arg.arg}=…)",
            )
        return self.given[arg.arg]

    def _runtime(self, arg: ast.arg, kind: object) -> None:
        span, given = self.executor.span(arg), self.given or {}
        if isinstance(kind, OptionalType):
            if arg.arg in given and given[arg.arg] is None:
                self.executor.env.names[arg.arg] = None
                return
            kind, given = kind.annotation, {k: v for k, v in given.items() if k != arg.arg or v is not None}
        if arg.arg in given:
            raise TirxError(
                f"`{arg.arg}` is a parameter of the compiled kernel, so `specialize` cannot give it the value "
                f"{given[arg.arg]!r}",
                span,
                f"annotate it as `{arg.arg}: T.constexpr`, or as `T.Optional(…)` to leave it out with {arg.arg}=None",
            )
        if isinstance(kind, BufferType) and any(isinstance(extent, str) for extent in kind.shape):
            kind = replace(kind, shape=tuple(self._extent(extent, span) for extent in kind.shape))
        value = _parameter(arg.arg, kind, span)
        self.executor.builder.params.append(value)
        if isinstance(value, Var) and value.dtype != HANDLE:
            self.executor.env.names[arg.arg] = Bound(value, span, "kernel parameter")
        else:
            self.executor.env.names[arg.arg] = value

    def _extent(self, extent: object, span: Span) -> Any:
        """Return an extent given as text, ``T.Buffer(("n", 128))``, whose symbols are declared in the body."""
        if not isinstance(extent, str):
            return extent
        node = self.executor.guarded(self.source.node, ast.parse, extent, "shape", "eval").body
        for part in ast.walk(node):
            ast.copy_location(part, self.source.node)
            if isinstance(part, ast.Name) and part.id not in self.executor.env.names:
                var = self.executor.builder.symbol(part.id, _declared_dtype(self.source.node.body, part.id))
                self.executor.env.names[part.id] = Bound(var, span)
        return self.executor.eval(node)

    def _annotation(self, arg: ast.arg, kind: object) -> object:
        """Return the type given by an annotation, evaluating string annotations."""
        if not isinstance(kind, str) or arg.annotation is None:
            return kind
        node = arg.annotation
        if isinstance(node, ast.Constant):
            if node.value in _DTYPE_NAMES:
                return DType(data_type(node.value))
            node = self.executor.guarded(node, ast.parse, node.value, "annotation", "eval").body
            for part in ast.walk(node):
                ast.copy_location(part, arg.annotation)
        return self.executor.eval(node)


def _declared_dtype(statements: Sequence[ast.stmt], name: str) -> DataType:
    """Return the dtype of a symbol from its statement ``n = T.int64()``, or else int32."""
    for node in statements:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and not node.value.args:
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if name in targets and isinstance(node.value.func, ast.Attribute):
                return data_type(node.value.func.attr)
    return DataType("int32")


def _names_constexpr(arg: ast.arg, kind: object) -> bool:
    """Return whether a parameter is annotated as ``T.constexpr``, even in an unevaluated string."""
    if isinstance(kind, str) and arg.annotation is not None:
        return kind.split("[")[0].split(".")[-1].strip() == "constexpr"
    return isinstance(kind, ConstexprMarker)


def _parameter(name: str, kind: object, span: Span) -> Buffer | Var:
    if isinstance(kind, BufferType):
        return replace(kind.buffer(name), span=span)
    if isinstance(kind, DType):
        return Var(kind.dtype, name, span=span)
    raise TirxError(
        f"the parameter `{name}` needs a type",
        span,
        f'write `{name}: Tx.Buffer((M, N), "float16")` or `{name}: Tx.int32`',
    )

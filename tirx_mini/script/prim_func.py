"""``@Tx.prim_func``: translates a Python function to the IR of a kernel."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, overload

from tirx_mini.ir import HANDLE, Buffer, IRModule, PrimFunc, Span, TirxError, Var

from .builder import Builder, building
from .environment import Bound, Env, Outside
from .functions import Executor
from .handles import BufferType, DType, data_type
from .source import FunctionSource, check_function, source_of

_DTYPE_NAMES = ("int32", "int64", "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "bool", "handle")


@overload
def prim_func(function: Callable[..., Any]) -> PrimFunc: ...
@overload
def prim_func(
    *, tirx: bool = True, private: bool = False, persistent: bool = False, check_well_formed: bool = True
) -> Callable[[Callable[..., Any]], PrimFunc]: ...
def prim_func(
    function: Callable[..., Any] | None = None,
    *,
    tirx: bool = True,
    private: bool = False,
    persistent: bool = False,
    check_well_formed: bool = True,
) -> Any:
    """Decorator: read the function as a kernel and return its `PrimFunc`.

    The keyword arguments are accepted for compatibility with TIRx and have no effect. Raises `TirxError` for a mistake
    in the kernel.
    """
    __tracebackhide__ = True
    if function is None:
        return _with_caller
    return _read(function, _caller_locals(2))


def ir_module(cls: type) -> IRModule:
    """Decorator that turns a class of kernels into a module: ``@I.ir_module`` above ``class Module:``."""
    return IRModule({name: kernel for name, kernel in vars(cls).items() if isinstance(kernel, PrimFunc)})


def _with_caller(function: Callable[..., Any]) -> PrimFunc:
    __tracebackhide__ = True
    return _read(function, _caller_locals(2))


def _caller_locals(depth: int) -> Mapping[str, Any]:
    """The local names at the kernel's definition, which annotations may use although the function itself does not."""
    frame = inspect.currentframe()
    for _ in range(depth):
        frame = frame.f_back if frame is not None else None
    return {} if frame is None else frame.f_locals


def _read(function: Callable[..., Any], caller: Mapping[str, Any]) -> PrimFunc:
    __tracebackhide__ = True
    try:
        check_function(function, "@Tx.prim_func")
        return read(function, caller)
    except TirxError as error:
        mistake = error.with_traceback(None)
    raise mistake from None


def read(function: Callable[..., Any], caller: Mapping[str, Any]) -> PrimFunc:
    """Read `function` as a kernel.

    caller: the local names at its definition.
    """
    source = source_of(function)
    span = source.span(source.node)
    span = replace(span, end_line=span.line, end_column=0)
    builder = Builder(function.__name__, span)
    env = Env(outer=Outside.of(function, caller), body=source.node.body)
    executor = Executor(source, builder, env)
    with building(builder):
        _parameters(function, source, executor)
        executor.run(source.node.body)
        return builder.finish(span)


def _parameters(function: Callable[..., Any], source: FunctionSource, executor: Executor) -> None:
    """Make each parameter a buffer or a variable, according to its annotation."""
    arguments = source.node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise TirxError("a kernel can only have plain parameters without defaults", executor.span(source.node))
    for arg in (*arguments.posonlyargs, *arguments.args):
        span = executor.span(arg)
        value = _parameter(arg.arg, _annotation(arg, function.__annotations__.get(arg.arg), executor), span)
        executor.builder.params.append(value)
        if isinstance(value, Var) and value.dtype != HANDLE:
            executor.env.names[arg.arg] = Bound(value, span, "kernel parameter")
        else:
            executor.env.names[arg.arg] = value


def _annotation(arg: ast.arg, kind: Any, executor: Executor) -> Any:
    """The type given by an annotation; an annotation that is a string is evaluated."""
    if not isinstance(kind, str) or arg.annotation is None:
        return kind
    node = arg.annotation
    if isinstance(node, ast.Constant):
        if node.value in _DTYPE_NAMES:
            return DType(data_type(node.value))
        node = executor.guarded(node, ast.parse, node.value, "annotation", "eval").body
        for part in ast.walk(node):
            ast.copy_location(part, arg.annotation)
    return executor.eval(node)


def _parameter(name: str, kind: Any, span: Span) -> Buffer | Var:
    if isinstance(kind, BufferType):
        return replace(kind.buffer(name), span=span)
    if isinstance(kind, DType):
        return Var(kind.dtype, name, span=span)
    raise TirxError(
        f"the parameter `{name}` needs a type",
        span,
        f'write `{name}: Tx.Buffer((M, N), "float16")` or `{name}: Tx.int32`',
    )

"""Calls of CUDA functions that the kernel defines as source code, or that CUDA C++ provides."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import HANDLE, Call, DataType, Evaluate, Expr, TirxError, as_expr
from tirx_mini.wording import described

from .builder import current, place
from .handles import data_type


def func_call(*args: Any, function: str | None = None, source_code: str = "", return_type: object = "void") -> Any:
    """Call a CUDA function that the kernel defines as source code.

    ``T.cuda.func_call("clamp", x, source_code="__device__ float clamp(float x) {…}", return_type="float32")``.

    The compiler emits the source and the call. The simulator does not know what the function does, and its verdict is
    at best "incomplete", unless ``tirx_mini.simulate(…, functions={"clamp": …})`` says what it computes.
    Values and pointers (`A.ptr_to([i])`) can be passed; the result is a number, a bool or nothing.
    """
    if function is None:
        function, *rest = args if args else (None,)
        args = tuple(rest)
    if not isinstance(function, str) or not isinstance(source_code, str):
        raise TirxError(
            "T.cuda.func_call needs the name of a function and its source as strings",
            place(),
            'write T.cuda.func_call("name", …, source_code="__device__ …", return_type="float32")',
        )
    return _call("T.cuda.func_call", function, args, source_code, return_type)


def call_extern(dtype: object, function: str, *args: object) -> Any:
    """Call a function that CUDA C++ provides, ``T.call_extern("float32", "rsqrtf", x)``, or else as `func_call`."""
    return _call("T.call_extern", function, args, "", dtype)


def _call(name: str, function: str, args: tuple[object, ...], source_code: str, return_type: object) -> Expr | None:
    builder = current(name)
    returned = "void" if return_type in ("void", "") else str(data_type(return_type))
    attrs = (("function", function), ("source_code", source_code), ("return_type", returned))
    operands = tuple(as_expr(arg) for arg in args)
    tile = next((operand for operand in operands if operand.is_tile), None)
    if tile is not None:
        message = f"{name} passes values and pointers, but {described(tile)} is a tile"
        raise TirxError(message, place(), "pass a pointer, as in A.ptr_to([i, 0])", about=tile)
    if returned == "void":
        builder.emit(Evaluate(Call(HANDLE, "func_call", operands, attrs)))
        return None
    dtype = DataType(returned)
    if dtype.is_handle or dtype.lanes > 1:
        hint = "let the function write through a pointer"
        raise TirxError(f"{name} cannot return {returned}: only numbers and bool", place(), hint)
    return Call(dtype, "func_call", operands, attrs)

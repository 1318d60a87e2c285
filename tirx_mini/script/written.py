"""Parsing of kernels from text, the inverse of `PrimFunc.script`."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Mapping
from itertools import count
from typing import Any

from tirx_mini import layout
from tirx_mini.ir import IRModule, PrimFunc, Span, TirxError

from . import ir, tirx

_texts = count(1)


def from_source(text: str, extra: Mapping[str, object] | None = None, **options: object) -> Any:
    """Return the kernel or module defined by a text, such as the output of `script()`.

    options: those of TVM's parser, which have no effect.

    The text may use `Tx` and `T` for the language, the names of `tirx_mini.layout`, and those in `extra`.
    """
    file = f"<kernel {next(_texts)}>"
    body = textwrap.dedent(text)
    linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
    names: dict[str, Any] = {name: getattr(layout, name) for name in layout.__all__}
    names |= {"Tx": tirx, "T": tirx, "I": ir, "__name__": file, **(extra or {})}
    try:
        exec(compile(body, file, "exec", dont_inherit=True), names)
    except SyntaxError as error:
        column, line = (error.offset or 1) - 1, error.lineno or 1
        place = Span(file, line, column, error.end_lineno or line, max(column, (error.end_offset or 0) - 1))
        raise TirxError(f"the text is not valid Python: {error.msg}", place) from None
    except RecursionError:
        raise TirxError("an expression of the text is nested too deeply", Span(file, 1)) from None
    functions = [value for value in names.values() if isinstance(value, (PrimFunc, IRModule))]
    if not functions:
        raise TirxError("the text does not define a kernel", hint="decorate a function with @Tx.prim_func")
    return functions[-1]

"""Rendering of a lowered function as a self-contained CUDA C++ file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tirx_mini.hardware import DEFAULT_ARCH, Architecture, architecture_of
from tirx_mini.ir import (
    AllocBuffer,
    Buffer,
    PrimFunc,
    Span,
    TensorMap,
    TirxError,
    Var,
)
from tirx_mini.isa import instructions, restrict_params, written_params
from tirx_mini.records import dataclass

from .exprs import ExprRenderer
from .helpers import Helpers
from .names import Names, identifier
from .notes import Notes
from .signs import Signs
from .stmts import StmtRenderer
from .types import HEADERS, SCALARS, c_type
from .usage import Param, mentioned_dtypes, used_params
from .writer import Writer

TYPEDEFS = {
    "uchar": "unsigned char",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "int64_t": "long long",
    "uint64_t": "unsigned long long",
}
GENERATED = "tirx_mini.cu"
"""The file to which line information attributes emitted text that has no line in the kernel's source."""
TENSOR_MAP = """\
// A tensor in global memory as TMA addresses it; cuTensorMapEncodeTiled fills it in on the host.
struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};
"""
WORKSPACE_ALIGN = 16
PROGRAMMATIC = """\
// Contains griddepcontrol.wait: launch it with CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""


@dataclass(frozen=True)
class CudaSource:
    """The emitted file.

    kernel: the name of the entry point.
    params: its parameters, in order.
    spans: the place in the kernel's source that each line of `text` comes from.
    """

    text: str
    kernel: str
    params: tuple[Param, ...]
    spans: tuple[Span | None, ...]

    def span_at(self, line: int) -> Span | None:
        """Return the kernel source span from which line `line` (from 1) of the text derives."""
        return self.spans[line - 1] if 0 < line <= len(self.spans) else None


def cuda_source(
    func: PrimFunc,
    arch: str = DEFAULT_ARCH,
    *,
    line_directives: bool = False,
    comments: bool = False,
    quotes: bool = False,
) -> CudaSource:
    """Return the CUDA C++ of a lowered function.

    arch: the target architecture, such as "sm_90a".
    line_directives: map the text to the kernel's source by ``#line``, for profilers and debuggers. Text without source
        lines, such as the helpers, then belongs to the file `GENERATED`.
    comments: explain descriptors, roles and the parts of shared memory at the end of their lines (`notes`); apart from
        these comments the text is the same.
    quotes: quote each line of the kernel's source above the code that it became.
    Raises `TirxError` for constructs without a CUDA form.
    """
    if func.launch is None:
        raise TirxError(f"{func.name} has no launch configuration; was the kernel lowered?", func.span)
    names = Names()
    helpers = Helpers()
    expr = ExprRenderer(names, Signs(func), helpers)
    kernel = identifier(f"{func.name}_kernel")
    params = used_params(func)
    workspaces = [_workspace(buffer, names) for buffer in func.workspaces]
    body = Writer(line_directives, quotes)
    notes = Notes(body, comments)
    if func.launch.programmatic:
        body.text(PROGRAMMATIC)
    with body.block(_signature(func, kernel, _parameters(func, params, names), architecture_of(arch)), span=func.span):
        prologue_at = len(body.lines)
        _declare_shared(func, names, body, notes)
        StmtRenderer(func, names, expr, body, notes)(func.body)
    notes.finish()
    prologue = helpers.prologue(expr.specials)
    body.lines[prologue_at:prologue_at] = prologue
    body.spans[prologue_at:prologue_at] = [None] * len(prologue)

    maps = func.tensor_maps or any(isinstance(p, Var) and p.dtype == "tensormap" for p in func.params)
    blocks = [*([TENSOR_MAP] if maps else []), *helpers.definitions(), *workspaces]
    head = Writer()
    if line_directives:
        head.line(f'#line 2 "{GENERATED}"')
    for block in (_includes(func), _typedefs("\n".join([*blocks, *body.lines])), *blocks):
        if block:
            head.text(block)
            head.line()
    lines = [*head.lines, *body.lines]
    return CudaSource("\n".join(lines) + "\n", kernel, params, (*head.spans, *body.spans))


def _includes(func: PrimFunc) -> str:
    headers = {HEADERS[dtype] for dtype in mentioned_dtypes(func) if dtype in HEADERS}
    return "\n".join(f"#include <{header}>" for header in sorted(headers))


def _typedefs(text: str) -> str:
    """Return definitions of the integer types used in `text`, since NVRTC lacks <cstdint>."""
    used = (name for name in TYPEDEFS if name in text and re.search(rf"\b{name}\b", text))
    return "\n".join(f"typedef {TYPEDEFS[name]} {name};" for name in used)


def _signature(func: PrimFunc, kernel: str, parameters: str, arch: Architecture) -> str:
    launch = func.launch
    assert launch is not None
    cluster = f"__cluster_dims__({', '.join(map(str, launch.cluster))}) " if launch.cluster_size > 1 else ""
    # With one CTA an SM, ptxas may use all of its registers, and can compute how many setmaxnreg has to move.
    moves = any(entry.moves_registers for entry in instructions(func))
    alone = moves or 2 * launch.smem_bytes > arch.smem_per_sm
    bounds = f"{launch.threads}, 1" if alone else str(launch.threads)
    return f'extern "C" __global__ void __launch_bounds__({bounds}) {cluster}{kernel}({parameters})'


def _parameters(func: PrimFunc, params: Sequence[Param], names: Names) -> str:
    written, restricted = written_params(func), restrict_params(func)
    texts: list[str] = []
    for param in params:
        if isinstance(param, TensorMap):
            texts.append(f"const __grid_constant__ CUtensorMap {names.define(param.var, param.var.name)}")
        elif isinstance(param, Var) and param.dtype == "tensormap":
            texts.append(f"const __grid_constant__ {c_type(param.dtype)} {names.define(param, param.name)}")
        elif isinstance(param, Var):
            texts.append(f"{c_type(param.dtype)} {names.define(param, param.name)}")
        else:
            const = "" if param in written else "const "
            restrict = " __restrict__" if param in restricted else ""
            texts.append(f"{const}{SCALARS[param.dtype]}*{restrict} {names.define(param, param.name)}")
    return ", ".join(texts)


def _workspace(buffer: Buffer, names: Names) -> str:
    """Return the definition of a workspace, which the module holds."""
    name = names.define(buffer, buffer.name)
    return (
        "// All CTAs of a launch share it, and so do launches: two of them must not run at the same time.\n"
        f"__device__ __align__({buffer.align or WORKSPACE_ALIGN}) {SCALARS[buffer.dtype]} {name}[{buffer.size}];"
    )


def _declare_shared(func: PrimFunc, names: Names, out: Writer, notes: Notes) -> None:
    """Declare the dynamic shared memory of the kernel."""
    pools = [node.buffer for node in func.of(AllocBuffer) if node.buffer.scope == "shared"]
    if not pools:
        return
    if len(pools) > 1:
        listed = ", ".join(b.name for b in pools)
        raise TirxError(f"shared memory was not planned: {listed} are separate allocations", pools[1].span)
    pool = pools[0]
    align = f"__align__({pool.align}) " if pool.align else ""
    out.line(f"extern __shared__ {align}{_byte_type(pool)} {names.define(pool, pool.name)}[];", pool.span)
    notes.pool(pool)


def _byte_type(pool: Buffer) -> str:
    return "uchar" if pool.dtype == "uint8" else SCALARS[pool.dtype]

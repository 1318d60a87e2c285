"""The intermediate representation: types, expressions, statements, buffers and functions; walking, arithmetic, printing."""

from .arith import Analyzer, simplify
from .buffer import SCOPES, Buffer, scalar, shared_address
from .dtype import BOOL, FLOAT32, HANDLE, INT32, INT64, UINT32, UINT64, DataType
from .expr import (
    SPECIALS, AddressOf, Binary, BufferLoad, Call, Cast, Const, Expr, ExprLike, Ramp, Range, Region, Select, Special,
    Str, Unary, Var, as_bool, as_expr, binary, cast, const, int_value, promote, select, special, unary, wrap,
)  # fmt: skip
from .func import IRModule, Launch, PrimFunc
from .span import Diagnostic, Span, SpanStack, TirxError, excerpt
from .stmt import (
    SCOPE_KINDS, SERIAL, UNROLLED, AllocBuffer, Bind, Break, BufferStore, Continue, DeclBuffer, Evaluate, For, Hint, If,
    Scope, ScopeIds, Seq, Stmt, TensorMap, TileCall, While, seq,
)  # fmt: skip
from .visit import Mutator, children, rewrite, structural_equal, substitute, walk

__all__ = [name for name in dir() if not name.startswith("_")]

"""`tir.TensorIntrin`: named instructions, each defined by a description and an implementation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import AllocBuffer, Block, Buffer, For, PrimFunc, Stmt, TirxError, seq, substitute
from tirx_mini.script import caller_span

from .intrinsic import Statements, TensorIntrin
from .tir_blocks import opened
from .tir_tensorize import computation_of

_REGISTERED: dict[str, RegisteredIntrin] = {}
"""By name. It is of the process, as in TVM: a module registers instructions when it is imported."""


class RegisteredIntrin:
    """An instruction: `impl` implements the computation that `desc` describes on the same buffers."""

    def __init__(self, desc: PrimFunc, impl: PrimFunc, name: str = "tensor_intrin") -> None:
        self.name, self.desc, self.impl = name, desc, impl
        self.intrin = _described(name, desc, impl)

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Register an instruction under a name for `tensorize`.

        Raises `TirxError` for a name that is taken, unless `override`, and for a description that is not one block in
        loops.
        """
        if name in _REGISTERED and not override:
            raise TirxError(f"there is an instruction {name!r} already", caller_span(), "pass override=True")
        _REGISTERED[name] = RegisteredIntrin(desc, impl, name)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> RegisteredIntrin | None:
        """Return the instruction of a name. Raises `TirxError` without one, unless `allow_missing`."""
        if name not in _REGISTERED and not allow_missing:
            raise _unknown(name)
        return _REGISTERED.get(name)


def registered(name: str) -> TensorIntrin:
    """Return the instruction of a name. Raises `TirxError` without one."""
    if name not in _REGISTERED:
        raise _unknown(name)
    return _REGISTERED[name].intrin


def _unknown(name: str) -> TirxError:
    known = f"there are {', '.join(_REGISTERED)}" if _REGISTERED else "register it with tir.TensorIntrin.register"
    if name.startswith(("wmma_", "mma_")):
        known = "tensorize loops of 16 × 8 × 16 with te.mma(), whose operands are in shared memory"
    return TirxError(f"there is no instruction {name!r}", caller_span(), known)


def _described(name: str, desc: PrimFunc, impl: PrimFunc) -> TensorIntrin:
    body = opened(desc).body
    if not isinstance(body, For):
        hint = "describe the instruction by loops around one block"
        raise TirxError(f"the description of {name} does not begin with a loop", desc.span, hint)
    made = computation_of(body, name)
    outputs = [param for param in desc.params if param is made.target]
    order = [param for param in desc.params if param in made.tensors]
    if len(outputs) != 1 or len(impl.params) != len(desc.params):
        hint = "give both functions the same parameters: the inputs, and one output"
        raise TirxError(f"{name}: the description and the implementation do not fit", impl.span, hint)
    whole = opened(impl).body

    def statements(inputs: Sequence[Buffer], results: Sequence[Buffer]) -> Statements:
        regions: dict[Any, Buffer] = {made.target: results[0], **dict(zip(order, inputs, strict=True))}
        views = {own: regions[param] for own, param in zip(impl.params, desc.params, strict=True) if param in regions}
        stmt = substitute(_plain(whole), {}, {own: view for own, view in views.items() if isinstance(own, Buffer)})
        return (None, None, stmt) if made.continues else stmt

    return TensorIntrin(name, made.op, tuple(made.tensors[param] for param in order if isinstance(param, Buffer)),
                        statements)  # fmt: skip


def _plain(stmt: Stmt) -> Stmt:
    """Remove the enclosing block of a statement."""
    if isinstance(stmt, Block) and not stmt.vars and stmt.init is None:
        return seq(*(AllocBuffer(buffer, span=stmt.span) for buffer in stmt.allocs), stmt.body)
    return stmt

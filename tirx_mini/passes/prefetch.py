"""The PrefetchTensorMaps pass: prefetch tensor maps, so that no copy waits for its map."""

from __future__ import annotations

from tirx_mini.ir import HANDLE, Call, Evaluate, If, PrimFunc, Stmt, TensorMap, Var, seq, special
from tirx_mini.isa import Memory, instruction_of


def prefetch_tensor_maps(func: PrimFunc) -> PrimFunc:
    """Prefetch every tensor map that the body uses, from one thread at the start of each CTA.

    A tensor map is a parameter of the kernel. No earlier kernel writes it, so the prefetch may precede every wait. Maps
    that the kernel prefetches itself are skipped. Each prefetch has the span of its copy.
    """
    maps = _used_maps(func)
    if not maps:
        return func
    calls = (_prefetch(tensor_map) for tensor_map in maps)
    return func.with_body(seq(If(special("threadIdx.x") < 1, seq(*calls), span=maps[0].span), func.body))


def _prefetch(tensor_map: TensorMap) -> Stmt:
    span = tensor_map.span
    return Evaluate(Call(HANDLE, "prefetch.tensormap", (tensor_map.var,), span=span), span=span)


def _used_maps(func: PrimFunc) -> list[TensorMap]:
    """Return the tensor maps of the body's copies, except those that the body prefetches itself."""
    used: set[Var] = set()
    prefetched: set[Var] = set()
    if func.tensor_maps:
        for node in func.of(Call):
            if entry := instruction_of(node):
                copies = Memory.GLOBAL in entry.reads | entry.writes
                (used if copies else prefetched).update(arg for arg in node.args if isinstance(arg, Var))
    return [tensor_map for tensor_map in func.tensor_maps if tensor_map.var in used - prefetched]

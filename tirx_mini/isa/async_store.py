"""Stores to the shared memory of a cluster that complete on an mbarrier (PTX ISA: "st.async")."""

from __future__ import annotations

from typing import Literal

from .core import instruction
from .facts import BarrierEffect, Completion, Memory, Scope
from .machine import Machine, Thread
from .memory import WordType, access
from .operands import MbarrierAddress, SharedAddress, SourceRegisters

_WORDS = {"": 1, "v2": 2, "v4": 4}


def _template(vec: str, **_: object) -> str:
    registers = "{{src}}" if vec else "{src}"
    head = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
    return f"{head}{{.vec}}{{.type}} [{{address}}], {registers}, [{{bar}}];"


def _registers(vec: str, **_: object) -> int:
    return _WORDS[vec]


@instruction(
    _template,
    name="st.async",
    implied=("weak",),
    issued_by=Scope.THREAD,
    min_sm=90,
    cost="alu",
    barrier=BarrierEffect.COMPLETE_TX,
    writes=Memory.SHARED,
    completion=Completion.MBARRIER,
    registers=_registers,
    typed="type",
    lanewise=True,
)
def st_async(
    gpu: Machine,
    thread: Thread,
    address: SharedAddress,
    src: SourceRegisters,
    bar: MbarrierAddress,
    *,
    type: WordType = "b32",
    vec: Literal["", "v2", "v4"] = "",
) -> None:
    """Begin storing 1, 2 or 4 words from registers at `address`; their bytes complete on `bar`.

    Both addresses lie in one CTA of the cluster, as `map_shared_rank` returns them. The store is a weak one of the
    thread, without a proxy of its own. A thread that waits for the phase of `bar` that its bytes complete observes the
    stored words.
    """
    gpu.store_async(thread, access("weak", "", "shared::cluster", type, _WORDS[vec]), address, src, bar)

"""Descriptions of the objects that warps wait for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tirx_mini.sim import (
    BulkWait,
    ClusterBarrierWait,
    ColumnsWait,
    GridBarrierWait,
    LanesWait,
    MbarrierWait,
    NamedBarrierWait,
    PairWait,
    Poll,
    RegisterWait,
    Wait,
    WgmmaWait,
)


def _wgmma(wait: WgmmaWait) -> str:
    text = f"a wgmma of {wait.warpgroup}"
    if wait.missing:
        have = "has" if wait.missing == 1 else "have"
        text += f", which {wait.missing} of its {wait.warps} warps {have} not committed"
    return text


_TEXTS: Mapping[type[Wait], Callable[[Any], str]] = MappingProxyType({
    MbarrierWait: lambda wait: f"{wait.barrier.name} to complete its phase of parity {wait.parity}",
    NamedBarrierWait: lambda wait: f"{wait.threads} threads to arrive at barrier {wait.number}",
    ClusterBarrierWait: lambda wait: "every thread of the cluster to arrive at the cluster barrier",
    GridBarrierWait: lambda wait: "every thread of the grid to synchronise",
    ColumnsWait: lambda wait: f"{wait.columns} columns of tensor memory ({wait.free} are free on the SM, this CTA "
    f"holds {wait.held})",
    PairWait: lambda wait: "the other CTA of the pair to allocate tensor memory too",
    BulkWait: lambda wait: f"its TMA stores to {'have read their source' if wait.read else 'complete'}",
    WgmmaWait: _wgmma,
    RegisterWait: lambda wait: f"{wait.needed} registers a warp, to have {wait.count} a thread, of the {wait.free} "
    "that are free",
    LanesWait: lambda wait: f"the other lanes of its mask to execute {wait.name}",
    Poll: lambda wait: "another thread to change what this loop reads",
})  # fmt: skip


def wait_text(wait: Wait) -> str:
    """Return the awaited object in words, as the end of "warp 3 waits for …"."""
    return _TEXTS[type(wait)](wait)

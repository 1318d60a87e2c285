"""What must be over when a CTA ends: copies from and into its shared memory, signals to its barriers, allocations.

All of it is judged by what the CTA's warps know at their end, so the verdict does not depend on how fast an engine was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.ir import Span

from .causality import ORDER

if TYPE_CHECKING:
    from .machine import Cta

KIND = "in-flight-at-exit"
ALIVE = "cluster_sync() before the kernel ends keeps every CTA alive until its peers are done"


def check_end(cta: Cta) -> None:
    """Record what a CTA, all of whose warps have ended, leaves behind."""
    known = np.maximum.reduce([warp.agent.known[ORDER] for warp in cta.warps])
    left = (*_loads(cta, known), *_stores(cta), *_signals(cta, known), *_allocations(cta), *_barriers(cta))
    for message, span, details in left:
        kind, severity = details.pop("kind", KIND), details.pop("severity", "error")
        cta.gpu.findings.add(kind, severity, message, span, details={"cta": cta.name, **details})


Problem = tuple[str, "Span | None", dict[str, Any]]


def _loads(cta: Cta, known: np.ndarray) -> Iterator[Problem]:
    for agent, load in cta.incoming.items():
        if known[agent] < load.epoch:
            yield (
                f"{cta.name} ends while a TMA load into its shared memory may be in flight",
                load.span,
                {"role": load.role, "buffer": load.buffer, "hint": "wait for every load before the kernel ends"},
            )


def _stores(cta: Cta) -> Iterator[Problem]:
    for warp in cta.warps:
        for copy in warp.unfinished_copies():
            yield (
                f"{cta.name} ends while a TMA store may still read its shared memory",
                copy.span,
                {
                    "role": copy.role,
                    "rule": "PTX ISA: cp.async.bulk.wait_group",
                    "hint": "after the last TMA store: commit_group(), then wait_group(0)",
                },
            )


def _signals(cta: Cta, known: np.ndarray) -> Iterator[Problem]:
    for barrier in cta.mbarriers.values():
        for agent, (epoch, what, role, span) in barrier.remote.items():
            if known[agent] < epoch:
                yield (
                    f"{cta.name} may end before the {what} of {role} gets to its {barrier.name}",
                    span,
                    {"barrier": barrier.name, "role": role, "hint": ALIVE},
                )


def _allocations(cta: Cta) -> Iterator[Problem]:
    for block in cta.allocator.blocks.values():
        yield (
            f"{cta.name} ends while it holds {block.columns} columns of tensor memory",
            block.span,
            {
                "kind": "tmem-not-freed",
                "rule": "PTX ISA: tcgen05.alloc",
                "hint": "one warp frees every allocation with tcgen05.dealloc before the kernel ends",
            },
        )


def _barriers(cta: Cta) -> Iterator[Problem]:
    """A phase that only some of the expected threads arrived in: no one waited for it, or this would be a deadlock."""
    for barrier in cta.mbarriers.values():
        if 0 < barrier.pending < barrier.expected:
            got = barrier.expected - barrier.pending
            arrivals = [arrival for arrival in barrier.arrivals.values() if arrival.count]
            count = f"{got} of its {barrier.expected} arrivals"
            message = f"{barrier.name} got {count} in its last round: a wait for them would never end"
            yield (
                message,
                barrier.init_span,
                {
                    "kind": "barrier-incomplete",
                    "severity": "warning",
                    "barrier": barrier.name,
                    "hint": f"initialise it with {got}, or let {barrier.expected} threads arrive in each round",
                    "notes": tuple((f"{a.what} by {a.role}", a.span) for a in arrivals[:4]),
                },
            )

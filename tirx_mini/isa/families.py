"""Instructions that other rooms treat alike: they ask for a family, and name no instruction."""

from __future__ import annotations

ATOMICS = frozenset(("atom", "atom.cas", "red"))
"""Atomic operations on global and shared memory (PTX ISA: "atom", "red")."""

WORD_STORES = frozenset(("st",))
"""Stores of words of a register (PTX ISA: "st"); the address is the first operand."""

RESULTLESS_WRITES = WORD_STORES | {"red"}
"""Writes of words that return nothing; the address is the first operand."""

NAMED_ARRIVALS = frozenset(("bar.arrive", "barrier.arrive"))
"""Arrivals at a named barrier that do not wait (PTX ISA: "bar, barrier")."""

NAMED_BARRIERS = NAMED_ARRIVALS | {"bar.sync", "barrier.sync"}
"""The instructions that name a barrier and a count of threads (PTX ISA: "bar, barrier")."""

SHUFFLES = "shfl.sync"
"""The section of instructions whose result comes from another lane (PTX ISA: "shfl.sync")."""

MEETINGS = frozenset(("bar.warp.sync", SHUFFLES, "vote.sync", "match.sync", "redux.sync"))
"""Sections of instructions that lanes of a mask execute together, each wherever it is: `.sync` without `.aligned`."""

ADDED_ARRIVALS = frozenset(("cp.async.mbarrier.arrive",))
"""Arrivals that the phase expects in addition to the count of init (PTX ISA: "cp.async.mbarrier.arrive")."""

MMA_SYNC = "mma.sync"
"""The products of a warp (PTX ISA: "mma")."""

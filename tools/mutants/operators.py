"""The mutation operators: each names a mistake, and finds every place of a kernel where it can be made.

An operator is a function from a kernel's source to its mutations there; `OPERATORS` is the table of all.
"""

from __future__ import annotations

from collections.abc import Mapping

from .expressions import (
    accumulation,
    argument_of,
    bounds,
    counts,
    depths,
    dimensions,
    elections,
    guards,
    initial_states,
    initial_values,
    name_use,
    named_barriers,
    offsets,
    operands,
    other_barrier,
    other_state,
    places_of_tiles,
    roles,
    rows,
    scopes,
    stages,
)  # fmt: skip
from .mutation import BARRIERS, Operator
from .statements import drop, exchange, into_the_branch, out_of_the_branch, twice

OPERATORS: Mapping[str, Operator] = {
    "drop a wait": drop("wait"),
    "drop a fence": drop("fence"),
    "drop an arrival": drop("arrive"),
    "drop a commit": drop("commit"),
    "drop the pool's commit": drop("pool"),
    "drop a sync": drop("sync"),
    "drop an init": drop("init"),
    "drop an alloc or dealloc": drop("allocation"),
    "drop a copy": drop("copy"),
    "drop an MMA": drop("MMA"),
    "drop an advance": drop("advance"),
    "drop a part": drop("part"),
    "twice": twice,
    "move past the next": exchange,
    "move into the branch": into_the_branch,
    "move out of the branch": out_of_the_branch,
    "count": counts,
    "phase": argument_of(r".+\.(wait|try_wait)", 1, "phase", "({}) ^ 1", "0"),
    "first phase": initial_values,
    "first state": initial_states,
    "stage": stages,
    "mask": argument_of(r".+\.(arrive|commit)", -1, "cta_mask", "0", "1", "2", "3"),
    "CTA of an arrival": argument_of(r".+\.arrive", -1, "cta_id", "1"),
    "CTA of a remote view": argument_of(r".+\.remote_view", 0, "cta_id", "1"),
    "predicate": argument_of(r".+\.arrive", -1, "pred", "False"),
    "CTA group": argument_of(r".+", -1, "cta_group", "3 - ({})"),
    "barrier": other_barrier,
    "state": other_state,
    "bytes": name_use("TMA_BYTES", "{} // 2", "{} * 2", "{} - 16"),
    "depth": depths,
    "depth of a barrier": argument_of("|".join(BARRIERS), 1, "depth", "({}) - 1"),
    "depth of a state": argument_of("PipelineState", 1, "depth", "({}) + 1"),
    "named barrier": named_barriers,
    "stores in flight": argument_of(r".+\.wait_group", 0, "n", "1"),
    "loop": bounds,
    "offset": offsets,
    "place of a tile": places_of_tiles,
    "row": rows,
    "guard": guards,
    "election": elections,
    "scope": scopes,
    "accum": accumulation,
    "roles": roles,
    "operands": operands,
    "tensor memory": argument_of(r".+\.tcgen05\.(alloc|dealloc)", 1, "n_cols", "64", "256", "1024", "500"),
    "size of a buffer": dimensions,
    "scheduler": argument_of("ClusterPersistentScheduler2D", -1, "num_clusters", "({}) + 1", "({}) - 1"),
    "scheduler's first tile": argument_of(r"tile_scheduler\.init", 0, "cluster_id", "0", "({}) + 1"),
}
"""The operators by the name of the mistake."""

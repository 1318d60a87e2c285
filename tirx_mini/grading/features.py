"""The lesson of each step, as facts: its kernel must have some features, and leave others to later steps.

Each missing or premature feature has a sentence. Kernels are judged by what they do: by which warps issue
loads and MMAs, and wait, in a run, and by the size of their grid, not by names or by how the code is laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tirx_mini.course import Shape
from tirx_mini.hardware import GpuSpec
from tirx_mini.records import dataclass

from .facts import Facts


@dataclass(frozen=True)
class Seen:
    """The evidence by which a step is judged.

    facts: of a run.
    large: CTAs of the grid at `LARGE`; None if the step has no such size, or the kernel was not built for it.
    held: how many of these a GPU holds at a time.
    gpu: which one is modelled.
    shape: of the run, where it is another one than the problem that shows what a step teaches.
    """

    facts: Facts
    large: int | None
    held: int
    gpu: GpuSpec
    shape: Shape | None = None

    @property
    def persistent(self) -> bool:
        """Return whether the grid of a large problem fits on the GPU, so that a CTA computes several tiles."""
        return self.large is not None and self.large <= self.held

    def deep(self, stages: int) -> bool:
        """Return whether enough K tiles are loaded ahead, or as many as a problem with few tiles certainly has."""
        return self.facts.depth >= (stages if self.shape is None else min(stages, self.shape[2] // WIDEST))


WIDEST = 128
"""The columns of a wide K tile."""
LARGE = 8192, 8192, 1024
"""The shape for comparing grids with the GPU: 4,096 tiles of 128 × 128, more CTAs than any GPU holds."""

_AT_LARGE = f"M = N = {LARGE[0]}, K = {LARGE[2]}"

Rule = Callable[[Seen], str]
"""A rule that returns a sentence about an error, or ""."""


def _multiplies(seen: Seen) -> str:
    if seen.facts.multiplies:
        return ""
    if seen.facts.multipliers:
        return "D does not come from the tensor cores: without the products of the MMAs, parts of it are the same"
    return "no MMA is issued: the tensor cores do not multiply"


def _tiles(seen: Seen) -> str:
    facts = seen.facts
    if seen.shape is not None and seen.shape[0] * seen.shape[1] <= 128 * 128:
        return ""
    if facts.ctas > 1 and facts.working > 1:
        return ""
    does = "one of the CTAs computes all of D" if facts.ctas > 1 else "the grid has one CTA"
    return f"{does}: from step 3 on, CTAs compute the tiles of D side by side"


def _loads(seen: Seen) -> str:
    facts = seen.facts
    others = sorted({"A", "B"} - facts.loads)
    if others:
        return f'TMA does not load {_and(others)}: from step 4 on, it does (`Tx.copy_async` with dispatch="tma")'
    if facts.copies:
        return f"threads load {_and(sorted(facts.copies))} from global memory, too: from step 4 on, TMA loads all of it"
    return ""


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


def _stores(seen: Seen) -> str:
    if not seen.facts.tma_store:
        return "TMA does not store D: from step 4 on, a tile of D is stored from shared memory by TMA"
    return "threads store to D, too: from step 4 on, TMA stores all of it" if seen.facts.thread_store else ""


def _blind(seen: Seen) -> str:
    if seen.facts.steady:
        return ""
    return "what it loads, or which way it goes, depends on its data: from step 5 on, it must be the same for all data"


def _ring(seen: Seen) -> str:
    if seen.deep(2):
        return ""
    return "one K tile is loaded at a time: from step 5 on, stages let the next one be loaded during an MMA"


def _persistent(seen: Seen) -> str:
    if seen.persistent and seen.large is not None and seen.facts.ctas > seen.large:
        return f"the grid has {seen.facts.ctas:,} CTAs, and only {seen.large:,} at {_AT_LARGE}: it is another kernel"
    if seen.persistent:
        return ""
    if seen.large is None:
        return f"no kernel was built for {_AT_LARGE}, where the grid of a persistent kernel fits on the GPU"
    return (
        f"at {_AT_LARGE}, the grid has {seen.large:,} CTAs, and a {seen.gpu.name} holds {seen.held:,} of them at a "
        "time: from step 6 on, the grid fits on the GPU, and each CTA computes several tiles"
    )


def _roles(seen: Seen) -> str:
    facts = seen.facts
    if facts.roles:
        return ""
    both = sorted(facts.producers & facts.multipliers)
    if both:
        return f"warp {both[0]} issues TMA loads and MMAs: from step 7 on, each have a warp and a loop of their own"
    if not facts.producers:
        return "no warp issues TMA loads: from step 7 on, a warp of its own does"
    return "the warp that issues TMA loads waits at barriers of the whole CTA: from step 7 on, it has a loop of its own"


def _writers(seen: Seen) -> str:
    facts = seen.facts
    if not facts.tensor_memory or not facts.readers & (facts.producers | facts.multipliers):
        return ""
    return "the warps that issue loads or MMAs also write back: from step 7 on, a warpgroup does nothing else"


def _deep(seen: Seen) -> str:
    if seen.deep(4):
        return ""
    return f"{_stages(seen)} loaded ahead: step 8 has a pipeline of four stages"


def _pairs(seen: Seen) -> str:
    facts = seen.facts
    if facts.cluster < 2:
        return "the kernel has no clusters: step 9 has clusters of two CTAs"
    if seen.facts.tensor_memory:
        return "" if facts.paired else "not every MMA has cta_group=2: in step 9 the tensor cores of two CTAs share it"
    return "" if facts.multicast else "no load is multicast: in step 9 a load brings a tile to both CTAs of a cluster"


def _two(seen: Seen) -> str:
    if seen.facts.consumers >= 2 or (seen.shape is not None and seen.facts.tiles <= 1):
        return ""
    unit = "warp of a CTA issues MMAs" if seen.facts.tensor_memory else "warpgroup of a CTA multiplies"
    return f"one {unit}: step 10 has two, each with results of its own"


def _stages(seen: Seen) -> str:
    depth = seen.facts.depth
    return f"{depth} K tile{' is' if depth == 1 else 's are'}"


# -- what only later steps do ------------------------------------------------------------------------------------------


def _no_tma(seen: Seen) -> str:
    if seen.facts.loads or seen.facts.tma_store:
        return "it uses TMA, which step 4 introduces: here, threads copy the tiles"
    return ""


def _one_stage(seen: Seen) -> str:
    if seen.facts.depth < 2:
        return ""
    return f"{_stages(seen)} loaded before the first MMA ends, in stages, which step 5 introduces: here, one is"


def _one_tile(seen: Seen) -> str:
    if not seen.persistent:
        return ""
    return (
        f"at {_AT_LARGE}, the grid has {seen.large:,} CTAs that compute several tiles each, which step 6 introduces: "
        "here, a CTA computes one tile"
    )


def _no_roles(seen: Seen) -> str:
    return "TMA loads and MMAs have warps of their own, which step 7 introduces" if seen.facts.roles else ""


def _shallow(seen: Seen) -> str:
    if seen.facts.depth < 4:
        return ""
    return f"{_stages(seen)} loaded ahead, as step 8 introduces: here, the pipeline has two stages (PIPE_DEPTH = 2)"


def _no_pairs(seen: Seen) -> str:
    return f"it has clusters of {seen.facts.cluster} CTAs, which step 9 introduces" if seen.facts.cluster > 1 else ""


def _one_consumer(seen: Seen) -> str:
    if seen.facts.consumers < 2:
        return ""
    unit = "warps of a CTA issue MMAs" if seen.facts.tensor_memory else "warpgroups multiply"
    return f"{seen.facts.consumers} {unit}, which step 10 introduces"


_TMA = (_loads, _stores)
_RING = (*_TMA, _blind, _ring)
_ROLES = (*_RING, _persistent, _roles, _writers)

TEACHES: dict[int, tuple[Rule, ...]] = {
    1: (_multiplies,),
    2: (_multiplies,),
    3: (_multiplies, _tiles),
    4: (_multiplies, _tiles, *_TMA),
    5: (_multiplies, _tiles, *_RING),
    6: (_multiplies, *_RING, _persistent),
    7: (_multiplies, *_ROLES),
    8: (_multiplies, *_ROLES, _deep),
    9: (_multiplies, *_ROLES, _pairs),
    10: (_multiplies, *_ROLES, _two),
}
"""The required features of each step's kernel."""

LATER: dict[int, tuple[Rule, ...]] = {
    1: (_no_tma,),
    2: (_no_tma,),
    3: (_no_tma,),
    4: (_one_stage, _one_tile),
    5: (_one_tile, _no_roles),
    6: (_no_roles,),
    7: (_shallow, _no_pairs, _one_consumer),
    8: (_no_pairs, _one_consumer),
    9: (_one_consumer,),
    10: (),
}
"""The features that only later steps introduce, forbidden in a step's kernel."""

JUDGED_BY_GRID = frozenset(
    step for step in TEACHES if _persistent in TEACHES[step] or _one_tile in LATER[step]
)
"""The steps that depend on the grid of a large problem."""


def missing(step: int, seen: Seen) -> Iterator[str]:
    """Yield the features of a step that its kernel lacks, as one sentence each."""
    return filter(None, (rule(seen) for rule in TEACHES[step]))


def ahead(step: int, seen: Seen) -> Iterator[str]:
    """Yield the features of the kernel that only later steps introduce, as one sentence each."""
    return filter(None, (rule(seen) for rule in LATER[step]))

"""States that advance before their first use, so that the first wait is for the second round."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.isa import BarrierEffect

from ..kind import Explanation
from .sites import Assignment, Site, Sites


def advanced_first(sites: Sites, waits: Sequence[Site]) -> Explanation | None:
    """Explain a wait whose first phase is wrong because the role's state advances before it.

    This applies only to a wait that is known to be wrong: a correct state may begin one step back. A loop is skipped if
    another wait of the role precedes it, because that wait may belong to the first round.
    """
    for wait in waits:
        if wait.effect is not BarrierEffect.WAIT or not wait.loops or _waited_before(sites, wait):
            continue
        steps = _steps(sites, wait)
        ahead = [one for one in steps if one.order <= wait.order]
        if ahead and len(ahead) == len(steps):
            first = ahead[0]
            return Explanation(
                f"the state advances before its first wait for {wait.barrier}, which is then for the round after the "
                "first one",
                "advance the state (move_to_next_stage) behind the wait, after the last use of its stage in the round",
                ((f"{wait.barrier} is waited for here", wait.span),),
                {"barrier": wait.barrier},
                order=f"if the first round of {wait.barrier} is not over by then",
                span=first.span,
            )
    return None


def _steps(sites: Sites, wait: Site) -> list[Assignment]:
    """Return the assignments of a wait's state in the innermost loop around it."""
    variables = [*sites.variables(wait.argument("phase"))[0]]
    if wait.index is not None:
        variables += sites.variables(wait.index)[0]
    loops = list(map(id, wait.loops))
    return [
        one for one in sites.assignments
        if list(map(id, one.loops)) == loops and any(one.variable is variable for variable in variables)
    ]  # fmt: skip


def _waited_before(sites: Sites, wait: Site) -> bool:
    """Return whether the role also waits for the barrier before the loop."""
    others = sites.of(wait.barrier, BarrierEffect.WAIT)
    return any(one.order < wait.order and (one.threads & wait.threads).any() for one in others)

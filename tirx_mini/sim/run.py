"""A simulation: a lowered kernel with its arguments, which can be executed repeatedly on a modelled GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .doubts import Doubt
from .gpu import Gpu
from .machine import NO_ORDER, Probe, warp_name
from .outcome import Outcome
from .plans import BoundKernel, answered, running
from .question import DETERMINISTIC, Circumstances
from .setup import Part


class Simulation(BoundKernel):
    """A bound kernel whose question is answered by the first applicable plan."""

    def run(self, circumstances: Circumstances = DETERMINISTIC) -> Outcome:
        """Execute the kernel once."""
        return answered(self, circumstances)

    def doubted(self, outcome: Outcome) -> tuple[int, ...]:
        """Return the warps of the first CTA whose mbarrier tests failed in this run but succeed in another order.

        The warps are identified by the numbers of their first events.
        """
        doubts = [one.origin for one in outcome.open_orders or () if one.doubt is Doubt.TEST]
        warps = self.image.launch.warps
        roles = {origin.role for origin in doubts}
        return tuple(warp for warp in range(warps) if warp_name(warp, warps) in roles)

    def excerpt(self, clusters: Sequence[int], probe: Probe | None = None, *, trace: bool = False) -> Outcome:
        """Execute some clusters alone on the GPU, with data and without checks."""
        setup = replace(self.limits, trace=trace, order=NO_ORDER, values=self.values, part=Part(clusters), probe=probe)
        with running(4 if trace else 1), Gpu(self.image, self.arrays, self.spec, setup) as machine:
            return machine.run()

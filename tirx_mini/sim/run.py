"""A lowered kernel with its arguments, ready to be executed on a modelled GPU as often as one likes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .gpu import Gpu
from .machine import NO_ORDER, Probe
from .outcome import Outcome
from .plans import BoundKernel, answered, running
from .question import DETERMINISTIC, Circumstances
from .setup import Part


class Simulation(BoundKernel):
    """A kernel bound to its arguments, whose question is answered by the first plan that applies."""

    def run(self, circumstances: Circumstances = DETERMINISTIC) -> Outcome:
        """Execute the kernel once."""
        return answered(self, circumstances)

    def excerpt(self, clusters: Sequence[int], probe: Probe | None = None, *, trace: bool = False) -> Outcome:
        """Execute some clusters alone on the GPU, with their data and without checks."""
        setup = replace(self.limits, trace=trace, order=NO_ORDER, values=self.values, part=Part(clusters), probe=probe)
        with running(4 if trace else 1), Gpu(self.image, self.arrays, self.spec, setup) as machine:
            return machine.run()

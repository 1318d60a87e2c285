"""Probes: perturbations of the data of a run, which show what its results depend on."""

from __future__ import annotations

import numpy as np

from ..timing import Clock


class Probe:
    """A probe changes the values that engines move and multiply, and records its uses.

    The base class changes nothing.

    clock: of the run that the probe is attached to.
    """

    clock: Clock

    def loaded(self, copy: object, cta: object, box: np.ndarray) -> np.ndarray:
        """Return the bytes that a TMA load delivers to a CTA. copy: an `engines.BulkCopy`. box: its bytes, in chunks of
        16."""
        return box

    def read(self, smem: object, low: int, high: int) -> None:
        """Note that an MMA reads a range of shared memory; the next `factor` applies to its product."""

    def factor(self, cta: object, unit: int) -> float:
        """Return the factor for a product. unit: the issuing warp of the CTA, or the warpgroup."""
        return 1.0

"""Batched execution of clusters for their results alone; see `machine.batched`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tirx_mini.hardware import GpuSpec

from ..gpu import Gpu
from ..machine import NO_TIME, BatchedWarp, ClusterValue, KernelImage, Parted, ResidentCluster, ResidentCta, per_cluster
from ..ordering import Unequal
from ..outcome import Standing
from ..setup import Part, Setup

MOST = 24
"""The maximum number of clusters in a batch; each has its own tensor memory and registers."""


class BatchedGpu(Gpu):
    """An untimed GPU that executes clusters of a launch in batches of equal control flow.

    Clusters must be equal (`KernelImage.equal`). Raises `Unequal`, or NumPy's `ValueError`, for any operation that is
    not supported for several clusters at once.
    """

    def __init__(
        self, image: KernelImage, arrays: Sequence[np.ndarray], spec: GpuSpec, clusters: range, setup: Setup
    ) -> None:
        super().__init__(image, arrays, spec, replace(setup, part=Part(range(0)), time=NO_TIME, equal=True))
        self.warp_type = BatchedWarp
        count = max(1, -(-len(clusters) // MOST))
        self._todo = deque(np.array_split(np.array(clusters), count))
        self._clusters = len(clusters)

    def _advance(self) -> None:
        """Execute the clusters. If some clusters of a batch diverge, both groups start again, on other SMs."""
        groups = iter(self._groups)
        group = next(groups)
        while self._todo:
            numbers = self._todo[0]
            cluster = ResidentCluster(self, int(numbers[0]), tuple(numbers.tolist()))
            self._place(cluster, group, 0.0)
            try:
                self.clock.run()
            except Parted as parted:
                self.clock.clear()
                self.clusters.remove(cluster)
                self._todo.popleft()
                self._todo.extendleft((numbers[~parted.holds], numbers[parted.holds]))
                if (free := next(groups, None)) is None:
                    raise Unequal from None  # they part all the time
                group = free
                continue
            if self.clusters:
                return  # it waits forever
            for store in cluster.late:
                store()
            self._todo.popleft()

    def standing(self) -> Standing:
        """Return the progress of the run as the fraction of its clusters that have finished."""
        todo, clusters = self._todo, self._clusters
        return Standing(lambda flops: 1 - sum(map(len, todo)) / clusters)

    def block_indices(self, cta: ResidentCta) -> tuple[ClusterValue, ClusterValue, ClusterValue]:
        """Return blockIdx of a CTA in each cluster of the batch."""
        inner = np.array(cta.cluster_ctaid)
        blocks = np.array([np.array(self.origin_of(number)) + inner for number in cta.cluster.numbers])
        x, y, z = blocks.T
        return per_cluster(x), per_cluster(y), per_cluster(z)

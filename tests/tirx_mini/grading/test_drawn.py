"""The clusters that a grader draws: more of a kernel whose clusters are not proved equal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tirx_mini.course import default_kernels, load_kernels
from tirx_mini.grading.drawn import UNEQUAL, matrices, right_in_clusters
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.sim import Outcome, Simulation

SHAPE = (512, 512, 128)


def reference() -> PrimFunc:
    return lower(load_kernels(default_kernels(), "sm100")[4](*SHAPE))


@pytest.mark.parametrize("equal", [True, False])
def test_more_clusters_are_drawn_where_they_may_differ(equal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Sequence[int]] = []
    excerpt = Simulation.excerpt

    def observed(simulation: Simulation, clusters: Sequence[int]) -> Outcome:
        drawn.append(clusters)
        return excerpt(simulation, clusters)

    monkeypatch.setattr(Simulation, "excerpt", observed)
    if not equal:
        monkeypatch.setattr(Simulation, "equal", False)
    assert right_in_clusters(reference(), matrices(SHAPE, "float16", 7), gpu_spec("b200"), 7, (1e-2, 1e-2), 2)
    assert [len(clusters) for clusters in drawn] == [2 if equal else 2 * UNEQUAL]

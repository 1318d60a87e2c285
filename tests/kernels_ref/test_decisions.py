"""From step 4 on, a kernel with another decision than the reference passes the check: the course prescribes none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.kernels_ref.decisions import DECISIONS, Decision
from tests.kernels_ref.edits import SMS, Edit
from tirx_mini.course import check_kernel
from tirx_mini.diagnose.deadlock import find_sites
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower


def protocol(kernel: PrimFunc) -> Counter[tuple[object, ...]]:
    """The uses of a kernel's mbarriers: for each site, its operation, operands and guards, and the threads there."""
    sites = find_sites(lower(kernel)).all
    return Counter(
        (site.barrier, site.role, int(site.threads.sum()), tuple(map(repr, site.call.args[1:])))
        for site in sites
        if site.barrier and site.effect is not None
    )


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda one: f"{one.edit.step} {one.made}")
def test_another_decision_is_right(decision: Decision, tmp_path: Path) -> None:
    kernel = decision.edit.kernel(tmp_path)
    checked = check_kernel(kernel, gpu=gpu_spec("b200").with_sms(SMS), trace=False)
    assert checked.ok and checked.report.findings == (), str(checked.report)
    assert checked.product is not None and checked.product.ok
    assert checked.report.proof is not None and checked.report.proof.holds


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda one: f"{one.edit.step} {one.made}")
def test_it_is_another_one(decision: Decision, tmp_path: Path) -> None:
    assert protocol(decision.edit.kernel(tmp_path)) != protocol(Edit(decision.edit.step).kernel(tmp_path))


def test_each_step_from_4_on_has_one() -> None:
    assert [decision.edit.step for decision in DECISIONS] == list(range(4, 11))

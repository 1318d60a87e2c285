"""The judgement of a repair: what is still wrong, in a clause."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.tirx_mini.course.drills.hiding import SYNC, with_barriers, with_one_stage
from tirx_mini.course import DRILLS, KernelFileError, Outcome
from tirx_mini.course.drills import Attempt, attempt, deal

WARNS = "Tx.ptx.tcgen05.fence.after_thread_sync()"


def judged(name: str, text: str, folder: Path) -> Attempt:
    dealt = deal(next(drill for drill in chain.from_iterable(DRILLS.values()) if drill.name == name), 0)
    texts = {
        "broken": dealt.text, "repaired": dealt.repaired, "barriers": with_barriers(dealt.text),
        "one stage": with_one_stage(dealt.text), "no fence": dealt.repaired.replace(WARNS, "pass"),
        "nothing": "x = 1\n",
    }  # fmt: skip
    path = folder / "drill.py"
    path.write_text(texts[text], encoding="utf-8")
    return attempt(dealt, path)


@pytest.mark.parametrize(
    ("name", "text", "outcome", "said"),
    [
        ("one warp waits", "repaired", Outcome.RIGHT, ""),
        ("one warp waits", "broken", Outcome.WRONG, "the kernel still fails"),
        ("one warp waits", "barriers", Outcome.RIGHT, "still too slow: it can be 1.1 × as fast"),
        ("next tile", "one stage", Outcome.RIGHT, "still too slow: it can be 1.4 × as fast"),
        ("next tile", "no fence", Outcome.RIGHT, "another order of the same events is not"),
    ],
)
def test_what_is_still_wrong_is_said(name: str, text: str, outcome: Outcome, said: str, tmp_path: Path) -> None:
    found = judged(name, text, tmp_path)
    assert found.found.outcome is outcome and said in found.said
    assert found.passed is (not said)


def test_a_file_without_the_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match="defines no hgemm"):
        judged("next tile", "nothing", tmp_path)


def test_barriers_stand_where_all_threads_of_a_cta_come() -> None:
    lines = with_barriers(deal(DRILLS["sm100"][3], 0).text).splitlines()
    assert lines.count(" " * 12 + SYNC) > 5 and lines.count(" " * 16 + SYNC) > 3
    assert not any(line == " " * 20 + SYNC for line in lines)

"""Hand-ins that are alike: kernels of one hand are found, and what all solutions share is not counted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels_ref.edits import SOURCES
from tirx_mini.course import load_module
from tirx_mini.grading import Likeness, likenesses, prints
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower

STEP, SHAPE = 5, (256, 256, 512)
STUDENT = Path(__file__).parents[1] / "frontends" / "tvm" / "students" / "phase_arithmetic.py"


def made(folder: Path, name: str, source: str) -> PrimFunc:
    """The kernel of step 5 in a text, lowered."""
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    return lower(load_module(path).hgemm_v5(*SHAPE))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> PrimFunc:
    return made(tmp_path_factory.mktemp("reference"), "step05", SOURCES[STEP].read_text(encoding="utf-8"))


def student(depth: int) -> str:
    """A kernel of another hand, with that many stages."""
    text = STUDENT.read_text(encoding="utf-8").replace("PIPE_DEPTH=2", f"PIPE_DEPTH={depth}")
    for theirs, ours in {
        "import tvm\n": "",
        "tvm.script import": "tirx_mini.script import",
        "tvm.tir.layout": "tirx_mini.layout",
        "tvm.tirx.op_schedule.cuda.common": "tirx_mini.layout",
    }.items():
        assert theirs in text
        text = text.replace(theirs, ours)
    return text


def test_names_and_lines_do_not_matter(tmp_path: Path, reference: PrimFunc) -> None:
    text = SOURCES[STEP].read_text(encoding="utf-8")
    renamed = "# a line more\n" + text.replace("Asmem", "a_tiles").replace("tma_bar", "full").replace("m_st", "row")
    assert prints(made(tmp_path, "renamed", renamed)) == prints(reference)


def test_other_code_has_other_prints(tmp_path: Path, reference: PrimFunc) -> None:
    text = SOURCES[STEP].read_text(encoding="utf-8")
    fewer = made(tmp_path, "fewer", text.replace("PIPE_DEPTH = 2", "PIPE_DEPTH = 3"))
    assert prints(fewer) != prints(reference)
    assert len(prints(fewer) & prints(reference)) > len(prints(reference)) // 2


def test_two_hand_ins_of_one_hand_are_found_among_many(tmp_path: Path, reference: PrimFunc) -> None:
    text = SOURCES[STEP].read_text(encoding="utf-8")
    sources = {f"own{depth}": text.replace("PIPE_DEPTH = 2", f"PIPE_DEPTH = {depth}") for depth in (2, 3, 4, 5)}
    sources |= {"first": student(2), "second": student(3).replace("bars", "barriers").replace("m_st", "row")}
    kernels = {name: {STEP: prints(made(tmp_path, name, source))} for name, source in sources.items()}
    (found,) = likenesses(kernels, {STEP: prints(reference)}, digests={name: name for name in sources})
    assert (found.first, found.second, found.same_file) == ("first", "second", False)
    assert found.share > 0.6 and found.steps == ((STEP, found.share),)


def test_equal_files_are_listed_though_every_solution_has_their_prints() -> None:
    kernels = {name: {1: frozenset(range(50))} for name in "abcd"}
    assert likenesses(kernels, {1: range(50)}, dict(zip("abcd", "xyxz", strict=True))) == [
        Likeness("a", "c", share=1.0, same_file=True)
    ]


def test_what_many_have_weighs_little() -> None:
    everyone, few = frozenset(range(100)), frozenset(range(100, 130))
    kernels = {f"s{i:02}": {1: everyone | {1000 + i * 50 + j for j in range(40)}} for i in range(20)}
    for name in ("s03", "s07"):
        kernels[name] = {1: kernels[name][1] | few}
    (found,) = likenesses(kernels, {}, {}, at_least=0.3)
    assert (found.first, found.second) == ("s03", "s07")
    assert found.share == pytest.approx(30 / 70)


@given(st.dictionaries(st.sampled_from("abcde"), st.frozensets(st.integers(0, 60)), min_size=2))
def test_a_share_is_a_share_whatever_the_order(sets: dict[str, frozenset[int]]) -> None:
    kernels = {name: {4: found} for name, found in sets.items()}
    backwards = dict(reversed(kernels.items()))
    found = likenesses(kernels, {4: (1, 2)}, {}, at_least=0.0)
    assert found == likenesses(backwards, {4: (2, 1)}, {}, at_least=0.0)
    assert all(0 < each.share <= 1 + 1e-9 and each.first < each.second for each in found)


def test_prints_are_equal_in_every_process(tmp_path: Path, reference: PrimFunc) -> None:
    script = tmp_path / "again.py"
    script.write_text(
        "from pathlib import Path\n"
        "from tirx_mini.course import load_module\n"
        "from tirx_mini.grading import prints\n"
        "from tirx_mini.passes import lower\n"
        f"print(sorted(prints(lower(load_module(Path({str(SOURCES[STEP])!r})).hgemm_v5(*{SHAPE!r})))))\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={"PYTHONPATH": str(root), "PYTHONHASHSEED": "7"},
    )
    assert done.stdout.strip() == str(sorted(prints(reference)))

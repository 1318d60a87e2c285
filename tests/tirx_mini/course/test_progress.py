"""What is known of a student's file: the state of each step, and what is next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import ROOT, SKELETONS, filled_in
from tirx_mini.course import (
    STEPS,
    Case,
    KernelFileError,
    Plan,
    Standing,
    State,
    advice,
    plan,
    run_task,
    solutions,
    todos_in,
)
from tools.pages import headings

SMALL = 512
INIT = "Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)"
COPIES = """\
                with Tx.cta():
                    Tx.copy(Asmem[:, :], A[:, k * BLK_K : (k + 1) * BLK_K])
                    Tx.copy(Bsmem[:, :], B[:, k * BLK_K : (k + 1) * BLK_K])
"""
SYNC = "                Tx.cuda.cta_sync()\n"
FOLDER = Path("kernels.py")


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """The student's file with this text, by its path from the working directory."""

    def write(text: str) -> Path:
        (tmp_path / "gemm_kernels.py").write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return Path("gemm_kernels.py")

    return write


def edited(steps: tuple[int, ...], old: str, new: str, *, step: int) -> str:
    """The skeleton with these steps filled in, and a text of one of them, where it comes first, replaced."""
    head, name, tail = filled_in("sm100", steps).partition(f"def hgemm_v{step}(")
    assert old in tail.partition("\ndef ")[0]
    return head + name + tail.replace(old, new, 1)


def standings_of(path: Path, largest: int = SMALL) -> tuple[Plan, list[Standing]]:
    found = plan(path, largest=largest)
    return found, found.standings([run_task(task) for task in found.tasks()])


def first(path: Path) -> tuple[Standing, str, str]:
    """The first step that is not done, and the sentence and the command for it."""
    found, standings = standings_of(path)
    following = advice(found, standings)
    left = next(standing for standing in standings if not standing.done)
    assert following.step == left.step
    return left, following.sentence, following.command


def test_nothing_of_the_skeleton_is_run(written: Callable[[str], Path]) -> None:
    text = SKELETONS["sm100"].read_text(encoding="utf-8")
    found, standings = standings_of(written(text))
    assert found.tasks() == [] and found.gpu == "b200"
    lines = {step: todos[0].line for step, todos in todos_in(text).items()}
    assert standings == [Standing(step, State.NOT_BEGUN, line=lines[step]) for step in STEPS]
    following = advice(found, standings)
    assert following.sentence == "read docs/steps/step01.md, and begin step 1. For a hint:"
    assert following.command == "python -m tirx_mini hint 1"


def test_five_steps_filled_in_as_the_references_are(written: Callable[[str], Path]) -> None:
    found, standings = standings_of(written(filled_in("sm100", range(1, 6))))
    assert [standing.state for standing in standings] == [State.FAST] * 5 + [State.NOT_BEGUN] * 5
    for standing in standings[:5]:
        assert standing.passed == standing.tests > 0 and standing.codes == ()
        assert standing.share == pytest.approx(1) and standing.tflops
    assert [standing.tests for standing in standings[:5]] == [1, 4, 3, 3, 2]  # up to 512, and the oblong shape
    assert advice(found, standings).command == "python -m tirx_mini hint 6"


def test_the_tests_are_those_of_the_step_test() -> None:
    assert STEPS[7].cases("sm100") == (
        Case((1024,) * 3), Case((2048,) * 3), Case((256, 384, 512), timed=False),
        Case((384, 640, 256), sms=2, timed=False),
    )  # fmt: skip
    assert STEPS[7].cases("sm100", full=True, few_sms=False)[-3:] == (
        Case((4096,) * 3), Case((8192,) * 3), Case((256, 384, 512), timed=False),
    )  # fmt: skip
    assert str(STEPS[7].cases("sm90")[-1]) == "384x640x256-2sms"


def test_a_step_that_is_begun_leads_to_its_first_open_todo(written: Callable[[str], Path]) -> None:
    text = filled_in("sm100", [1])
    lines = text.splitlines()
    last = todos_in(text)[1][-1].line
    place = next(n for n in range(last, len(lines)) if not lines[n].strip().startswith("#"))
    lines[place:] = ["            ...", *lines[place:]]
    left, sentence, command = first(written("\n".join(lines)))
    assert (left.state, left.line) == (State.TODO, last)
    assert sentence == f"fill in the TODO at line {last}, in step 1. For a hint:"
    assert command == "python -m tirx_mini hint 1"


def test_a_kernel_that_hangs_has_findings(written: Callable[[str], Path]) -> None:
    path = written(edited((1, 2), INIT, INIT.replace("1)", "2)"), step=2))
    left, sentence, command = first(path)
    assert (left.step, left.state, left.passed, left.tests) == (2, State.FINDINGS, 0, 4)
    assert left.codes == ("TX107",) and left.share is None and "initialised for 2 arrivals" in left.detail
    assert sentence == "see what is wrong with step 2:"
    assert command == "python -m tirx_mini check gemm_kernels.py:hgemm_v2 --shape 128,128,64"


def test_a_kernel_with_a_wrong_result_is_told_from_one_with_findings(written: Callable[[str], Path]) -> None:
    columns = "k * BLK_K : (k + 1) * BLK_K"
    left, sentence, command = first(written(edited((1, 2), f"B[:, {columns}]", "B[:, 0:BLK_K]", step=2)))
    assert (left.state, left.passed, left.tests) == (State.WRONG, 1, 4)  # one K tile is right
    assert left.tflops is None and left.share is None  # how fast a wrong kernel is says nothing
    assert left.failing == Case((128, 128, 512)) and sentence == "see why the result of step 2 is wrong:"
    assert command.endswith("--shape 128,128,512")


def test_a_slow_kernel_is_right(written: Callable[[str], Path]) -> None:
    left, sentence, command = first(written(edited((1, 2), COPIES, (COPIES + SYNC) * 4 + COPIES, step=2)))
    assert left.state is State.RIGHT and left.passed == left.tests == 4
    assert left.share is not None and 0 < left.share < 1 / 1.3
    assert sentence == "step 2 takes over 30% longer than the reference; see where its time goes:"
    assert command == "python -m tirx_mini trace gemm_kernels.py:hgemm_v2 --shape 128,128,4096 -o step02.html"


def test_a_kernel_that_does_not_build_is_not_run(written: Callable[[str], Path]) -> None:
    path = written(edited((1,), "Tx.copy(Asmem[:, :]", "Tx.copy(Asmen[:, :]", step=1))
    assert plan(path).tasks() == []
    left, sentence, command = first(path)
    assert (left.state, left.codes, left.tests) == (State.NOT_BUILT, ("TX403",), 0) and "Asmen" in left.detail
    assert sentence == "see why step 1 does not build:" and " check " in command


def test_a_kernel_that_is_not_wholly_modelled_builds(written: Callable[[str], Path]) -> None:
    sync = "            Tx.cuda.cta_sync()\n"
    text = edited((1,), sync, f'{sync}            Tx.cuda.func_call("note", source_code="")\n', step=1)
    left, sentence, _ = first(written(text))
    assert left.state is State.BUILDS and sentence == "see why the run of step 1 is incomplete:"


@pytest.mark.parametrize("mistake", ["import nothing_like_this\n", "x = (1,\n", 'int("x")\n'])
def test_a_file_that_cannot_be_loaded_has_its_todos(mistake: str, written: Callable[[str], Path]) -> None:
    found, standings = standings_of(written(filled_in("sm100", [1, 2]) + mistake))
    states = [standing.state for standing in standings]
    assert states == [State.NOT_LOADED] * 2 + [State.NOT_BEGUN] * 8 and found.tasks() == []
    assert found.problem
    assert (
        advice(found, standings).sentence
        == "correct the mistake that keeps the file from being loaded, and run this again."
    )


def test_a_step_that_is_missing_is_named(written: Callable[[str], Path]) -> None:
    left, sentence, command = first(written(filled_in("sm100", [1]).replace("def hgemm_v1(", "def mine(")))
    assert (left.step, left.state, command) == (1, State.ABSENT, "")
    assert sentence == "define hgemm_v1, which is missing, as in the file that you were given."


def test_a_hopper_file_is_run_on_a_hopper_gpu(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(filled_in("sm90", [1, 2]), encoding="utf-8")
    found, standings = standings_of(path)
    assert found.gpu == "h100" and [standing.state for standing in standings[:3]] == [State.FAST] * 2 + [
        State.NOT_BEGUN
    ]
    with pytest.raises(ValueError, match=r"the kernels in .* are for sm_90a, and B200 is a GPU of sm_100a"):
        plan(path, "b200")


def test_when_all_is_done_the_large_sizes_are_next() -> None:
    found = plan(ROOT / "gemm_kernels.py")
    following = advice(found, [Standing(step, State.FAST) for step in STEPS])
    assert following.step is None and following.command.startswith("python -m tirx_mini ladder --kernels ")


def test_the_steps_that_pass_lead_to_their_solutions(tmp_path: Path) -> None:
    def said(*done: int, file: Path = SKELETONS["sm100"]) -> str:
        states = {step: State.FAST if step in done else State.RIGHT for step in STEPS}
        return solutions(plan(file), [Standing(step, state) for step, state in states.items()])

    assert said() == said(1) == said(1, 2, file=SKELETONS["sm90"]) == ""
    assert said(1, 2) == "step 2 passes; compare with docs/steps/solutions.md#step-2"
    assert said(1, 2, 3, 5) == "steps 2, 3, 5 pass; compare with docs/steps/solutions.md#step-5"
    anchors = {heading.anchor for heading in headings((ROOT / "docs/steps/solutions.md").read_text(encoding="utf-8"))}
    assert {f"step-{step}" for step in STEPS if step > 1} <= anchors


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match=r"the kernel file .*none\.py does not exist"):
        plan(tmp_path / "none.py")
    with pytest.raises(KernelFileError, match="is a folder"):
        plan(tmp_path)
    with pytest.raises(ValueError, match="unknown GPU 'b1000'"):
        plan(SKELETONS["sm100"], "b1000")

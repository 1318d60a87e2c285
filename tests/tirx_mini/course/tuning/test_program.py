"""The program to tune: its settings, its candidates and its launches."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.kernels_ref.edits import HOPPER_SOURCES
from tirx_mini.course import (
    Assignment,
    ConstantError,
    KernelFileError,
    Trial,
    TunedProgram,
    all_candidates,
    parse_what_if,
    tuning,
)
from tirx_mini.course.tuning.trials import sentence, tried

STEP_5 = f"{HOPPER_SOURCES[5]}:hgemm_v5"


def test_options_are_combined() -> None:
    found = all_candidates([parse_what_if("A=1,2"), parse_what_if("B=3,4")])
    assert found == [{"A": a, "B": b} for a in "12" for b in "34"]


def test_a_setting_has_constants_of_the_file_and_parameters_of_the_function() -> None:
    program = TunedProgram(STEP_5, "h100")
    setting = program.setting({"PIPE_DEPTH": "3", "dtype": "bfloat16"})
    assert (setting.constants, setting.parameters) == ({"PIPE_DEPTH": 3}, {"dtype": "bfloat16"})
    assert program.now(["PIPE_DEPTH"]) == {"PIPE_DEPTH": "2"} and program.now(["M"]) is None
    with pytest.raises(ConstantError, match="PIPE_DEPTH takes a whole number"):
        program.setting({"PIPE_DEPTH": "deep"})


def test_a_program_travels_to_another_process() -> None:
    program = TunedProgram(STEP_5, "h100", shape=(128, 128, 128))
    assert program.now(["PIPE_DEPTH"])
    again = pickle.loads(pickle.dumps(program))
    assert again == program and again.edits({"PIPE_DEPTH": "3"}) == program.edits({"PIPE_DEPTH": "3"})


def test_tile_programs_of_the_course_are_tuned_by_their_names() -> None:
    program = TunedProgram("vector_add", "h100", size=32)
    assert program.source.name == "add" and program.now(["TILE"]) == {"TILE": "1024"}
    (launch,) = program.launches({"TILE": "256"}, data=True)
    assert all(isinstance(each, np.ndarray) and each.any() for each in launch.args)
    smaller = TunedProgram("gemm", size=4096).smaller()
    assert smaller is not None and smaller.size == 256


def test_the_values_of_the_file_are_marked_in_trials_of_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def travelled(program: TunedProgram, candidates: Sequence[Assignment], *others: object) -> list[Trial]:
        return [Trial(dict(each), time_us=float(each["TILE"])) for each in candidates]

    monkeypatch.setattr(tuning, "trials", travelled)
    found = tuning.tune(TunedProgram("vector_add", "h100", size=32), [{"TILE": "512"}], jobs=2, quick=True)
    assert [(trial.assignment, trial.present) for trial in found.ranked] == [
        ({"TILE": "512"}, False), ({"TILE": "1024"}, True)
    ]  # fmt: skip


def test_a_smaller_problem() -> None:
    assert TunedProgram(STEP_5, shape=(4096, 512, 8192)).smaller() == TunedProgram(STEP_5, shape=(1024, 512, 1024))
    assert TunedProgram(STEP_5, args="float16[1]").smaller() is None and TunedProgram(STEP_5).smaller() is None


def test_an_error_is_one_line() -> None:
    assert sentence(ValueError("a\nb")) == "a" and sentence(ZeroDivisionError("x")).endswith(": x")
    assert sentence(AssertionError()) == "AssertionError"


def test_a_program_without_launches_is_bad_input(tmp_path: Path) -> None:
    text = "import cuda.tile as ct\n\n\n@ct.kernel\ndef k(A):\n    pass\n\n\ndef host():\n    pass\n"
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(KernelFileError, match="launches nothing"):
        tried(TunedProgram(f"{tmp_path / 'mine.py'}:host", "h100"), {})

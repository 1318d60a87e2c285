"""What changes where a constant has another value."""

from __future__ import annotations

import pytest

from tests.kernels_ref.edits import SOURCES
from tirx_mini.__main__ import main
from tirx_mini.course import Change, Figures, change_text, parse_what_if

STEP_7 = f"{SOURCES[7]}:hgemm_v7"
SMEM = "128 KiB of shared memory instead of 64"
DEEPER = Change({"PIPE_DEPTH": 2}, {"PIPE_DEPTH": 4})


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("PIPE_DEPTH=4", [{"PIPE_DEPTH": "4"}]),
        ("PIPE_DEPTH=3, 4", [{"PIPE_DEPTH": "3"}, {"PIPE_DEPTH": "4"}]),
        ("PIPE_DEPTH=4,EPI_N=32", [{"PIPE_DEPTH": "4", "EPI_N": "32"}]),
        ("A=1,2,B=3", [{"A": "1", "B": "3"}, {"A": "2", "B": "3"}]),
        ("TILES[0]=64,128", [{"TILES[0]": "64"}, {"TILES[0]": "128"}]),
    ],
)
def test_a_list_has_values_of_one_constant_or_constants_that_change_together(
    text: str, runs: list[dict[str, str]]
) -> None:
    assert parse_what_if(text) == runs


@pytest.mark.parametrize("text", ["", "PIPE_DEPTH", "4", "=4", "PIPE_DEPTH=", "PIPE_DEPTH=4,", "1x=4"])
def test_what_is_no_assignment_is_explained(text: str) -> None:
    with pytest.raises(ValueError, match="is not NAME=VALUE; write for example PIPE_DEPTH=4"):
        parse_what_if(text)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (
            Figures("ok", "", 20.0, "loads", 1 << 16),
            Figures("wrong", "", 15.0, "L2", 1 << 17),
            "15.0 µs instead of 20.0, 25 % less; bound by L2 instead of loads; " + SMEM + "; wrong",
        ),
        (
            Figures("ok", "", 20.0, "the L2", 1 << 16), Figures("ok", "", 20.01, "the L2", 1 << 16),
            "20.0 µs, as before; bound by the L2, as before; ok",
        ),
        (Figures("deadlock", "it hangs"), Figures("ok", "", 20.0), "20.0 µs; ok"),
        (Figures("ok", "", 20.0), Figures("fault", "too much"), "fault: too much"),
    ],
)  # fmt: skip
def test_a_change_is_said_in_a_line(before: Figures, after: Figures, text: str) -> None:
    assert change_text(DEEPER, before, after) == f"what if PIPE_DEPTH = 4 (now 2): {text}"


def test_the_command_runs_the_kernel_again(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", STEP_7, "--shape", "128,128,512", "--what-if", "PIPE_DEPTH=4,8", "--what-if", "BLK_K=96"]
    assert main(arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "what if PIPE_DEPTH = 4 (now 2): " in out and "less; " in out
    assert "145 KiB of shared memory instead of 81; ok" in out
    assert "what if PIPE_DEPTH = 8 (now 2): 273 KiB of shared memory instead of 81; fault: the kernel needs" in out
    assert "what if BLK_K = 96 (now 64): does not build: hgemm_v7 needs K to be a multiple of 96, but K is 512" in out


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [("PIPE_DEPHT=4", "no constant PIPE_DEPHT; it has BLK_K = 64,"), ("PIPE_DEPTH=x", "takes a whole number")],
)
def test_a_constant_that_the_kernel_cannot_have_is_bad_input(
    assignment: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", STEP_7, "--size", "256", "--what-if", assignment]) == 2
    assert problem in " ".join(capsys.readouterr().out.split())


def test_the_only_kernel_of_a_file_needs_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(SOURCES[7]), "--shape", "128,128,128", "--what-if", "PIPE_DEPTH=1"]) == 0
    assert "what if PIPE_DEPTH = 1 (now 2): " in capsys.readouterr().out


def test_a_trace_says_what_changes_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", STEP_7, "--shape", "128,128,128", "--what-if", "PIPE_DEPTH=1"]) == 0
    assert "what if PIPE_DEPTH = 1 (now 2): " in capsys.readouterr().err

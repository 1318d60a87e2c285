"""``python -m tirx_mini trace``: each form is written, a kernel that hangs shows the hang, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kernels_ref.edits import SOURCES, Edit
from tirx_mini.__main__ import main

STEP_7 = [f"{SOURCES[7]}:hgemm_v7", "--shape", "256,256,256"]


def hang(tmp_path: Path) -> list[str]:
    path = tmp_path / "mine.py"
    path.write_text(Edit(7, "tma2mma.init(1)", "tma2mma.init(2)").source(), encoding="utf-8")
    return [f"{path}:hgemm_v7", "--shape", "256,256,256"]


def written(suffix: str, tmp_path: Path, kernel: list[str], status: int = 0) -> str:
    file = tmp_path / f"timeline{suffix}"
    assert main(["trace", *kernel, "-o", str(file)]) == status
    return file.read_text(encoding="utf-8")


def test_the_terminal_shows_roles_engines_and_waits_in_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", *STEP_7]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("hgemm_v7 on B200, 256 × 256 × 256, ") and "MMA (w4)" in out and "tensor core" in out
    assert "MMA (w4) for tma2mma, which TMA loads complete" in out and "Bound by " in out


@pytest.mark.parametrize(
    ("suffix", "beginning"), [(".html", "<!doctype html>"), (".svg", "<svg"), (".txt", "hgemm_v7")]
)
def test_the_suffix_says_what_is_written(suffix: str, beginning: str, tmp_path: Path) -> None:
    text = written(suffix, tmp_path, STEP_7)
    assert text.lower().startswith(beginning) and "hgemm_v7" in text


@pytest.mark.parametrize("suffix", [".html", ".svg", ".txt", ".json"])
def test_a_kernel_that_hangs_still_has_a_timeline(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(suffix, tmp_path, hang(tmp_path), status=1)
    assert "deadlock" in capsys.readouterr().out


def test_the_text_and_the_events_of_a_hang_say_where_it_is_stuck_and_why(tmp_path: Path) -> None:
    text = written(".txt", tmp_path, hang(tmp_path), status=1)
    assert "nothing can advance after cycle" in text and "TX1" in text and max(map(len, text.splitlines())) <= 80
    events = json.loads(written(".json", tmp_path, hang(tmp_path), status=1))["traceEvents"]
    (stuck,) = (event for event in events if event.get("cat") == "stuck")
    assert stuck["args"]["why"][0].startswith("TX1")
    last = max(event["ts"] + event.get("dur", 0) for event in events if event["ph"] == "X")
    assert stuck["ts"] == pytest.approx(last)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "x.png"], ".png is not a form of a timeline; the file ends in .html, .svg, .json, .txt, or is -"),
        (["-o", "x"], "no suffix is not a form of a timeline"),
        (["--cta", "last"], "'last' is not a CTA; write first, slowest or a number"),
    ],
)
def test_wrong_arguments_are_explained(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["trace", *STEP_7, *arguments])
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cta", "999"], "there is no CTA 999: the run has CTAs 0 to 147"),
        (["--from", "1e9"], "are not in the run, which has"),
    ],
)
def test_what_the_run_does_not_have_is_bad_input(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", *STEP_7, *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_kernel_that_cannot_be_built_has_no_timeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text(Edit(7, "tma2mma.init(1)", "tma2mma.start(1)").source(), encoding="utf-8")
    assert main(["trace", f"{path}:hgemm_v7", "-o", str(tmp_path / "x.html")]) == 1
    assert "hgemm_v7 did not run, so there is no timeline to show" in capsys.readouterr().out
    assert not (tmp_path / "x.html").exists()


STEP_5 = f"{SOURCES[5]}:hgemm_v5"


@pytest.mark.parametrize("suffix", [".svg", ".txt", ".html"])
def test_two_runs_are_shown_side_by_side(suffix: str, tmp_path: Path) -> None:
    text = written(suffix, tmp_path, [*STEP_7, "--against", STEP_5])
    assert "hgemm_v5" in text and "hgemm_v7" in text


def test_the_difference_is_named_in_sentences_and_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", STEP_7[0], "--shape", "256,256,1024", "--against", STEP_5]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("hgemm_v7 against hgemm_v5 on B200, 256 × 256 × 1024\n")
    assert " than hgemm_v5: " in out and "MMA warp: waits for TMA loads (tma_bar → tma2mma)" in out


def test_kernels_of_one_name_are_told_apart_by_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(Edit(7, "PIPE_DEPTH = 2", "PIPE_DEPTH = 3").source(), encoding="utf-8")
    assert main(["trace", f"{mine}:hgemm_v7", *STEP_7[1:], "--against", STEP_7[0]]) == 0
    assert f"hgemm_v7 of mine.py against hgemm_v7 of {SOURCES[7].name}" in capsys.readouterr().out


def test_a_kernel_that_hangs_is_compared_as_far_as_it_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", *hang(tmp_path), "--against", STEP_5]) == 1
    assert "hgemm_v7 hangs after " in capsys.readouterr().out


def test_a_picture_says_what_bounds_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg = written(".svg", tmp_path, STEP_7)
    description = svg.split("<desc", 1)[1].split(">", 1)[1].split("</desc>")[0]
    said = " ".join(capsys.readouterr().out.split())
    assert description.startswith("Bound by ") and f"bound by {description[9:40]}" in said


def test_the_wave_is_a_picture_or_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg = written(".svg", tmp_path, [*STEP_7, "--view", "wave"])
    assert "tiles on 148 SMs" in svg and "SM 145" in svg
    capsys.readouterr()
    assert main(["trace", *STEP_7, "--view", "wave", "--sms", "2"]) == 0
    assert "4 tiles on 2 SMs: 2 SMs have 2 tiles." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--against", STEP_5, "-o", "x.json"], ".json holds one run; write the other one to a file of its own"),
        (["--against", "no.py:hgemm_v5"], "the kernel file no.py does not exist"),
        (["--view", "wave", "-o", "x.html"], "--view wave does not draw .html; -o x.svg and -o - draw one run"),
        (["--view", "wave", "--against", STEP_5], "--view wave does not draw two runs"),
        (["--from", "9", "--to", "5", "-o", "x.svg"], "no picture from cycle 9 to 5: the run has cycles 0 to"),
    ],
)
def test_what_a_form_cannot_show_is_refused(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["trace", *STEP_7, *arguments]) == 2
    output = capsys.readouterr()
    assert sentence in " ".join((output.out + output.err).split()) and not list(tmp_path.iterdir())


def test_kernels_that_solve_different_problems_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """--size leaves step 1 its one tile."""
    assert main(["trace", STEP_7[0], "--size", "256", "--against", f"{SOURCES[1]}:hgemm_v1"]) == 2
    output = capsys.readouterr()
    said = " ".join((output.out + output.err).split())
    assert "hgemm_v7 and hgemm_v1 solve different problems" in said and "give both one --shape" in said


def test_the_other_kernel_that_cannot_be_built_shows_its_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(Edit(5, "K_TILES = K // BLK_K", "K_TILES = K // BLK_Z").source(), encoding="utf-8")
    assert main(["trace", *STEP_7, "--against", f"{broken}:hgemm_v5"]) == 1
    output = capsys.readouterr()
    said = output.out + output.err
    assert "BLK_Z" in said and "hgemm_v5 did not run, so there is no timeline to show" in " ".join(said.split())


def test_a_tile_program_has_its_agents_as_lanes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "gemm", "--size", "256", "--gpu", "b200"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n{lane} " in text for lane in ("TMA (w8)", "MMA (w9)", "write-back (w0-3)", "tensor core"))


def test_a_warpgroup_is_one_lane_though_one_warp_issues_its_stores(tmp_path: Path) -> None:
    file = tmp_path / "gemm.json"
    assert main(["trace", "gemm", "--size", "256", "--gpu", "h100", "-o", str(file)]) == 0
    events = json.loads(file.read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    roles = {name.partition(": ")[2] for name in names if name.startswith("warp ")}
    assert roles == {"MMA, write-back", "TMA", "other"}


def test_a_product_with_an_operand_in_registers_has_a_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "attention", "--size", "128", "--gpu", "h100"]) == 0
    assert "tensor core" in capsys.readouterr().out


def test_a_tile_program_of_a_file_is_run_as_the_file_launches_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "double.py"
    file.write_text(
        "import cuda.tile as ct\nimport numpy as np\n\n"
        "@ct.kernel\ndef double(x, y):\n"
        "    ct.store(y, (ct.bid(0),), 2 * ct.load(x, (ct.bid(0),), shape=(128,)))\n\n"
        "@ct.kernel\ndef unused(x):\n    pass\n\n"
        "x = np.ones(512, np.float32)\nct.launch(None, (4,), double, (x, x.copy()))\n"
    )
    assert main(["trace", f"{file}:double", "--schedules", "2"]) == 0
    assert "double on B200" in capsys.readouterr().out
    assert main(["trace", f"{file}:unused"]) == 2
    assert "does not launch unused" in capsys.readouterr().err.replace("\n", " ")
    assert main(["trace", f"{file}:double", "--shape", "1,2,3"]) == 2
    assert "leave out --shape" in capsys.readouterr().err.replace("\n", " ")

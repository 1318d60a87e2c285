"""The command line of run_modal.py: what becomes of it, and what is wrong with it, before the cloud is asked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cloud import GPUS, LARGE, PRICES, PRICES_FROM, SMALL, STAGES, BadInput, Plan, cost, plan
from tests.cloud.conftest import ROOT
from tirx_mini.course import STAGES as KNOWN_STAGES
from tirx_mini.course import STEPS
from tirx_mini.grading import HandIn, packed
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec


def planned(*arguments: str, kit: Path = ROOT) -> Plan:
    return plan(arguments, kit, "")


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """A kit in which every step is written."""
    for name in ("gemm_kernels.py", "gemm_kernels_sm90.py"):
        (tmp_path / name).write_text("".join(f"def hgemm_v{step}(M, N, K): return M\n" for step in STEPS))
    return with_tests(tmp_path)


def with_tests(folder: Path) -> Path:
    """A folder with the tests of all steps, as far as their names."""
    (folder / "tests").mkdir()
    for step in STEPS:
        (folder / "tests" / f"test_step{step:02}.py").touch()
    return folder


MODAL = ["T4", "L4", "A10", "L40S", "A100", "A100-40GB", "A100-80GB", "RTX-PRO-6000", "H100", "H100!", "H200", "B200"]
MODAL += ["B200+", "B300"]
"""The kinds of GPU that Modal lists (https://modal.com/docs/guide/gpu)."""


def test_gpus_are_those_that_modal_lists_and_the_kit_has_kernels_for() -> None:
    assert {gpu.modal for gpu in GPUS.values()} <= set(MODAL) and "H100" not in {gpu.modal for gpu in GPUS.values()}
    assert all(gpu_spec(gpu.model).architecture.student_file == gpu.student_file for gpu in GPUS.values())
    assert gpu_spec(next(iter(GPUS))) is gpu_spec(DEFAULT_GPU)
    assert planned("--inspect", "1").jobs[0].gpu == ""


@pytest.mark.parametrize(
    ("text", "steps"), [("3", [3]), ("1,3,5", [1, 3, 5]), ("4-6", [4, 5, 6]), ("6,2-3", [2, 3, 6]), (None, list(STEPS))]
)
def test_steps_become_their_tests(text: str | None, steps: list[int], solved: Path) -> None:
    what = planned(*(["--step", text] if text else []), kit=solved)
    (job,) = what.jobs
    assert [word for word in job.arguments if "test_step" in word] == [
        f"{{kit}}/tests/test_step{step:02}.py" for step in steps
    ]
    assert (job.gpu, what.note, what.incomplete) == ("B200", "", False)
    assert set(job.files) == {"gemm_kernels.py", "gemm_kernels_sm90.py"}


def test_the_gpu_chooses_the_student_file(solved: Path) -> None:
    hopper, blackwell = "gemm_kernels_sm90.py", "gemm_kernels.py"
    kinds = {"h100": hopper, "H100!": hopper, "H200": hopper, "B300": blackwell, "b200+": blackwell}
    for gpu, file in kinds.items():
        (job,) = planned("--gpu", gpu, kit=solved).jobs
        assert (job.gpu, job.arguments[job.arguments.index("--kernels") + 1]) == (gpu.upper().rstrip("!"), file)


def test_steps_that_are_not_written_are_left_out_and_the_user_hears_of_it(kit: Path) -> None:
    what = planned(kit=kit)
    assert what.note == "not written yet in gemm_kernels.py, and left out: step 2" and what.incomplete
    assert not any("test_step02" in word for word in what.jobs[0].arguments)


def test_where_the_kit_is_not_installed_every_step_counts_as_written(
    kit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tirx_mini.course", None)
    what = planned("--step", "1,2", kit=kit)
    assert not what.note and sum("test_step0" in word for word in what.jobs[0].arguments) == 2


def test_modal_is_all_that_the_machine_of_the_user_needs() -> None:
    code = "import sys; sys.modules.update(dict.fromkeys(('numpy', 'torch', 'tirx_mini'))); import run_modal"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bench_is_of_the_steps_that_squares_fit(solved: Path) -> None:
    (job,) = planned("--bench", kit=solved).jobs
    assert job.arguments[job.arguments.index("--steps") + 1] == "3,4,5,6,7,8,9,10"
    assert list(job.results) == ["*.csv", "*.svg"]
    (job,) = planned("--bench", "--step", "7", "--size", "4096", kit=solved).jobs
    assert job.arguments[job.arguments.index("--steps") + 1] == "7" and "4096" in job.arguments


def test_a_check_simulates_before_it_asks_for_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text("x = 1")
    first, second = planned("--check", f"{tmp_path / 'my.py'}:kernel", "--gpu", "H200").jobs
    assert (first.gpu, second.gpu) == ("", "H200")
    assert list(first.arguments)[:4] == ["-m", "tirx_mini", "check", "my.py:kernel"] and "h200" in first.arguments
    assert first.files == second.files == {"my.py": b"x = 1"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--step", "11"], "there is no step 11: write a number from 1 to 10"),
        (["--step", "5-3"], "--step 5-3 has no step from 5 to 3: write 3-5"),
        (["--step", "1,9-2,3"], "--step 1,9-2,3 has no step from 9 to 2: write 2-9"),
        (["--step", ""], "--step  is not a list of steps"),
        (["--step", "9" * 5000], " is not a list of steps"),
        (["--step", "٣"], "--step ٣ is not a list of steps"),
        (["--step", "-3"], "--step -3 is not a list of steps"),
        (["--inspect", "11"], "there is no step 11: write a number from 1 to 10"),
        (["--inspect", "-1"], "--inspect -1 is not a step: write a number, as in --inspect 7"),
        (["--inspect", ""], "--inspect  is not a step: write a number"),
        (["--inspect", "seven"], "--inspect seven is not a step: write a number"),
        (["--inspect", "5", "--gpu", "h200"], "TODOs are left, the first in line"),
        *[(["--bench", "--size", size], f"--size {size} is not a size: write a whole number from 1 to 65536")
          for size in ("-5", "0", "1e3", "2048.0", "nan", "", "65537", "9" * 5000)],
        (["--bench", "--size", "1000"], "--size 1000 is no multiple of 64, as each step needs: write another"),
        (["--step", "3", "--size", "512"], "--size goes with --inspect, --check or --bench: tests and the grade have"),
        (["--inspect", "7", "--stage", "foo"], "there is no stage 'foo': write tir, passes, cuda, ptx or sass"),
        (["--inspect", "7", "--stage", ""], "there is no stage '': write tir"),
        (["--step", "3", "--stage", "ptx"], "--stage and --comments go with --inspect: leave them out"),
        (["--bench", "--no-comments"], "--stage and --comments go with --inspect: leave them out"),
        *[(["--step", "3", f"--wait={wait}"], f"--wait {wait} is no time to wait: write minutes, more than 0 and")
          for wait in ("nan", "inf", "-inf", "-5", "0", "1e9", "", "soon")],
        *[(["--step", "3", "--gpu", gpu], f"argument --gpu: invalid choice: '{gpu}'")
          for gpu in ("", "H300", "H100:8", "any", "B200!")],
        (["--step", "3", "--out", ""], "--out needs a folder: write its name, or leave it out"),
        (["--step", "3", "--out", "pyproject.toml"], "--out pyproject.toml is a file: name a folder"),
        (["--bench", "--step", "2-4"], "--bench measures steps from 3 on, which take any size: leave out step 2"),
        (["--check", ""], "--check needs a kernel: write FILE:KERNEL, as in --check my.py:kernel"),
        (["--check", "tests"], "tests is not a file: name a file as it is seen from"),
        (["--check", "README.md"], "README.md is not a Python file: write FILE.py:KERNEL"),
        (["--grade", "none.tar"], "none.tar does not exist: name a file as it is seen from"),
        (["--grade", "gemm_kernels_sm90.py"],
         "gemm_kernels_sm90.py has gemm_kernels_sm90.py, which is not for a B200: write --gpu H100 or --gpu H200"),
        (["--step", "3-12"], "there is no step 12: write a number from 1 to 10"),
        (["--inspect", "0"], "there is no step 0: write a number from 1 to 10"),
        (["--step", "three"], "--step three is not a list of steps: write for example --step 3 or --step 1,3,5"),
        (["--step", "1", "--inspect", "1"], "--step stands alone or with --bench: leave it out"),
        (["--check", "none.py:kernel"], "none.py does not exist: name a file as it is seen from"),
        (["--step", "5"], "TODOs are left, the first in line"),
        (["--step", "2", "--gpu", "H100"], "`python -m tirx_mini hint 2 --kernels gemm_kernels_sm90.py`"),
        (["--gpu", "A100"], "invalid choice: 'A100'"),
        (["--steps", "3"], "unrecognized arguments: --steps 3: see `python run_modal.py --help`"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(BadInput) as error:
        planned(*arguments)
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_a_kernel_of_one_tile_takes_no_size(solved: Path) -> None:
    with pytest.raises(BadInput, match="step 1 is one tile and takes no size: leave out --size"):
        planned("--inspect", "1", "--size", "512", kit=solved)
    (job,) = planned("--inspect", "2", "--size", "512", kit=solved).jobs
    assert list(job.arguments[2:]) == ["inspect", "2", "512", "--stage", "cuda", "--comments"]
    (job,) = planned("--inspect", "3", "--no-comments", "--stage", "sass", kit=solved).jobs
    assert list(job.arguments[2:]) == ["inspect", "3", "--stage", "sass", "--no-comments"]
    assert tuple(KNOWN_STAGES) == STAGES


def test_a_step_that_is_not_written_is_inspected_as_the_reference() -> None:
    (job,) = planned("--inspect", "3").jobs
    assert list(job.arguments[2:]) == ["inspect", "3", "--stage", "cuda", "--comments", "--reference"]


def test_files_that_cannot_travel_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.py").touch()
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate((64 << 20) + 1)
    for name, said in (("empty", "is empty: name the file"), ("large", "has more than 64 MiB: name the file")):
        for arguments in (["--check", f"{tmp_path / name}.py:kernel"], ["--grade", f"{tmp_path / name}.py"]):
            with pytest.raises(BadInput, match=said):
                planned(*arguments)


def test_a_hand_in_goes_to_a_gpu_that_it_is_for(tmp_path: Path) -> None:
    name = "-handin.tar"
    (tmp_path / name).write_bytes(packed(HandIn("x", "gemm_kernels_sm90.py", "x = 1\n")))
    with pytest.raises(BadInput, match=r"-handin.tar has gemm_kernels_sm90.py, which is not for a B200"):
        planned(f"--grade={tmp_path / name}")
    (job,) = planned(f"--grade={tmp_path / name}", "--gpu", "H200").jobs
    assert job.arguments[1] == "./-handin.tar" and list(job.files) == [name] and job.silence_s > 120
    (tmp_path / name).write_bytes(b"no tar")  # which the grader says better
    assert planned(f"--grade={tmp_path / name}").jobs[0].gpu == "B200"


def test_a_folder_without_kernels_says_where_they_belong(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gemm_kernels\.py is missing in .*: put your kernels there"):
        planned("--inspect", "1", kit=with_tests(tmp_path))


def test_costs_are_seconds_times_prices() -> None:
    cores, gib = LARGE
    rate = PRICES["B200"] + cores * PRICES["CPU core"] + gib * PRICES["GiB of memory"]
    assert f"${100 * rate:.3f}" in cost("B200", 100) and cost("B200", 100).startswith("100 s of a B200: about $0.18")
    assert cost("B200+", 100).partition(": ")[2] == cost("B200", 100).partition(": ")[2]
    assert "https://modal.com/pricing" in cost("B300", 5)  # no price was published
    assert cost("", 1000).startswith("1000 s of a machine without a GPU: about $0.0")
    assert cost("", 2).startswith("2 s of a machine without a GPU: less than $0.001")


def test_the_page_on_the_cloud_has_these_prices() -> None:
    page = (ROOT / "docs" / "cloud.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| ([\w ]+) \| ([\d.]+) \|$", page))
    assert {name: float(price) for name, price in rows.items()} == dict(PRICES) and f"as of {PRICES_FROM}:" in page
    found = re.findall(r"(?m)^\| ([\w ]+) \| ([\d.]+) \| \$([\d.]+) \| \$([\d.]+) \|$", page)
    assert [row[0] for row in found] == ["B200", "H200", "H100", "no GPU"]
    for name, second, minute, minutes in found:
        cores, gib = LARGE if name in PRICES else SMALL
        rate = PRICES.get(name, 0.0) + cores * PRICES["CPU core"] + gib * PRICES["GiB of memory"]
        assert (second, minute, minutes) == (f"{rate:.6f}", f"{60 * rate:.3f}", f"{600 * rate:.3f}")
    assert f"`{cost('B200', 34)}`" in page

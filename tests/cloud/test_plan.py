"""The command line of run_modal.py: what becomes of it, and what is wrong with it, before the cloud is asked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cloud import GPUS, LARGE, PRICES, PRICES_FROM, SMALL, BadInput, Plan, cost, plan
from tests.cloud.conftest import ROOT
from tirx_mini.course import STEPS
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


def test_gpus_are_those_of_the_kit_with_their_student_files() -> None:
    assert {name: gpu_spec(name).architecture.student_file for name in GPUS} == {
        name: gpu.student_file for name, gpu in GPUS.items()
    }
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
    for gpu, file in (("h100", "gemm_kernels_sm90.py"), ("B300", "gemm_kernels.py")):
        (job,) = planned("--gpu", gpu, kit=solved).jobs
        assert (job.gpu, job.arguments[job.arguments.index("--kernels") + 1]) == (gpu.upper(), file)


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
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        planned(*arguments)
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_a_folder_without_kernels_says_where_they_belong(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gemm_kernels\.py is missing in .*: put your kernels there"):
        planned("--inspect", "1", kit=with_tests(tmp_path))


def test_costs_are_seconds_times_prices() -> None:
    cores, gib = LARGE
    rate = PRICES["B200"] + cores * PRICES["CPU core"] + gib * PRICES["GiB of memory"]
    assert f"${100 * rate:.3f}" in cost("B200", 100) and cost("B200", 100).startswith("100 s of a B200: about $0.18")
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

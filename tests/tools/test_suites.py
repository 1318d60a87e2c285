"""The short suite: which tests it leaves out, how the list of them is written, and what has drifted from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import suites
from tools.suites import KEPT, SLOW, SlowList, drift, kept_cases, main, median, read, slowest

ROOT = Path(__file__).parents[2]
TIMES = {
    "a.py::quick": 0.1,
    "a.py::some[1]": 0.2,
    "a.py::some[2]": 9.0,
    "a.py::all[1]": 7.0,
    "a.py::all[2 :: x]": 8.0,
    "b.py::one": 5.0,
    "b.py::two": 6.0,
}


def test_the_slowest_cases_are_listed_until_the_others_fit() -> None:
    listed = slowest(TIMES, budget=6.0)
    assert listed.seconds == {"a.py::all": 15.0, "a.py::some[2]": 9.0, "b.py::two": 6.0}
    assert (listed.count, round(listed.total, 3), listed.limit) == (3, 5.3, 5.0)
    assert slowest(TIMES, budget=100.0).seconds == {}


def test_kept_cases_and_the_cheapest_case_of_each_test_are_short() -> None:
    times = {"a.py::many[1]": 0.1, "a.py::many[2]": 0.2, "b.py::one[1]": 0.4, "b.py::one[2]": 0.6, "c.py::long": 1.5}
    assert slowest(times, budget=0.6).seconds == {"a.py::many[2]": 0.2, "b.py::one[2]": 0.6, "c.py": 1.5}
    kept = slowest(times, kept={"c.py::long"}, budget=2.1)
    assert kept.seconds == {"a.py::many[2]": 0.2, "b.py::one[2]": 0.6}
    assert (kept.count, round(kept.total, 3), kept.limit) == (3, 2.0, 1.5)


def test_the_file_of_kept_cases_names_tests_that_exist() -> None:
    for case in kept_cases(KEPT.read_text(encoding="utf-8")):
        path, _, name = suites.test_of(case).partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
        assert read(SLOW.read_text(encoding="utf-8")).entry(case) is None, case


def test_a_file_or_a_test_is_one_line_where_all_of_its_cases_are_slow() -> None:
    listed = slowest(TIMES, budget=0.5)
    assert listed.seconds == {"a.py::all": 15.0, "a.py::some[2]": 9.0, "b.py": 11.0}
    assert listed.entry("a.py::all[2 :: x]") == "a.py::all" and listed.entry("b.py::new") == "b.py"
    assert listed.entry("a.py::some[1]") is None and listed.entry("a.py::also[2]") is None
    assert read(listed.text()).seconds == listed.seconds and (read(listed.text()).count, listed.count) == (2, 2)


def test_the_median_of_the_runs_that_have_a_case_counts() -> None:
    assert median([{"a": 1.0, "b": 5.0}, {"a": 9.0}, {"a": 2.0}]) == {"a": 2.0, "b": 5.0}


def test_drift_is_threefold_and_noticeable() -> None:
    listed = SlowList({"a.py::x": 6.0, "a.py::y": 6.0, "a.py::z": 0.9}, 3, 1.0, 0.5)
    times = {
        "a.py::x[1]": 10.0,
        "a.py::x[2]": 10.0,
        "a.py::y": 5.0,
        "a.py::z": 0.1,
        "b.py::new": 2.5,
        "b.py::short": 1.4,
    }
    assert drift(listed, times) == ["20.0 s, 6.0 s: a.py::x", "2.5 s, not listed: b.py::new"]
    assert drift(listed, {**times, "a.py::x[1]": 0.5, "a.py::x[2]": 0.5, "b.py::new": 0.1}) == ["1.0 s, 6.0 s: a.py::x"]


def test_the_command_writes_the_list_and_says_what_drifted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suites, "SLOW", tmp_path / "slow.txt")
    (tmp_path / "1.json").write_text(json.dumps({**TIMES, "c.py::slow": 400.0}))
    assert main(["write", str(tmp_path / "1.json")]) == 0
    assert (tmp_path / "slow.txt").read_text().splitlines()[1:] == [
        "# The other 7 cases take 35 s, each at most 9.00 s.", "400.0 c.py"
    ]  # fmt: skip
    assert main(["drift", str(tmp_path / "1.json")]) == 0 and capsys.readouterr().out.endswith("No drift.\n")
    (tmp_path / "1.json").write_text(json.dumps({"c.py::slow": 100.0}))
    assert main(["drift", str(tmp_path / "1.json")]) == 0
    assert "100.0 s, 400.0 s: c.py\n" in capsys.readouterr().out
    (tmp_path / "slow.txt").write_text("5.0 c.py::slow\n")
    with pytest.raises(ValueError, match="make test-times writes it"):
        main(["drift", str(tmp_path / "1.json")])


def test_a_listed_test_that_did_not_run_is_named() -> None:
    listed = SlowList({"a.py::x": 6.0, "a.py::renamed": 6.0}, 3, 1.0, 0.5)
    assert drift(listed, {"a.py::x": 6.0}) == ["not there: a.py::renamed"]


def test_the_short_suite_has_room() -> None:
    assert read(SLOW.read_text(encoding="utf-8")).total <= 330


TESTS = """
import subprocess, sys
import pytest

@pytest.fixture(scope="module")
def shared():
    return sum(range(6_000_000))

@pytest.mark.parametrize("n", [1, 2])
def test_users(shared, n):
    pass

def test_child():
    subprocess.run([sys.executable, "-c", "sum(range(6_000_000))"], check=True)
"""


def test_pytest_leaves_out_what_is_listed_and_measures_the_rest(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("tests.suites",)\n')
    (tmp_path / "test_some.py").write_text(TESTS)
    listed = SlowList({"test_some.py::test_users[2]": 1.0}, 2, 0.1, 0.1)
    (tmp_path / "slow.txt").write_text(listed.text())

    def run(*options: str) -> tuple[str, dict[str, float]]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [*command, "--slow=slow.txt", "--cpu-times=times.json", *options],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, json.loads((tmp_path / "times.json").read_text())

    output, times = run("--short", "--numprocesses=2")
    assert "2 passed" in output and sorted(times) == ["test_some.py::test_child", "test_some.py::test_users[1]"]
    output, times = run("test_some.py")
    assert "3 passed" in output and "deselected" not in output
    assert times["test_some.py::test_child"] > 0.05
    one, two = times["test_some.py::test_users[1]"], times["test_some.py::test_users[2]"]
    assert 0.02 < one < 3 * two and two < 3 * one

"""The short suite, `pytest --short`, and the CPU time of each case, `pytest --cpu-times FILE`.

The time of a case is the CPU time of this process and of its children. A fixture that several cases share is charged
to them in equal parts, and not to the case that happens to be the first.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

SLOW = Path(__file__).with_name("slow.txt")
CPU = "cpu"
"""The property of a case that says what it took."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("suites")
    group.addoption("--short", action="store_true", help="leave out the tests that are listed as slow")
    group.addoption("--slow", metavar="FILE", type=Path, default=SLOW, help="lists them (default: tests/slow.txt)")
    group.addoption("--cpu-times", metavar="FILE", type=Path, help="write the CPU seconds of each case to FILE")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--cpu-times")
    if path is not None:
        config.pluginmanager.register(CpuTimes(path.absolute(), writes=not hasattr(config, "workerinput")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--short"):
        return
    from tools.suites import read  # here, because a student's folder has this file but no tools

    listed = read(config.getoption("--slow").read_text(encoding="utf-8"))
    left_out = [item for item in items if listed.entry(item.nodeid) is not None]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if listed.entry(item.nodeid) is None]


def cpu_seconds() -> float:
    """The CPU seconds of this process, of its children that have ended, and of those that run, such as a browser."""
    times = os.times()
    running = sum(_seconds_of(pid) for pid in _descendants(os.getpid()))
    return time.process_time() + times.children_user + times.children_system + running


def _descendants(pid: int) -> Iterator[int]:
    """The running children of a process, theirs, and so on; none where the system does not list them."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in listed.read_text().split():
                yield int(child)
                yield from _descendants(int(child))


def _seconds_of(pid: int) -> float:
    """The CPU seconds of a running process and of its children that have ended (proc(5): utime to cstime)."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class CpuTimes:
    """Measures each case and each fixture that cases share; without processes of pytest-xdist, and in each of them."""

    def __init__(self, path: Path, writes: bool) -> None:
        self.path = path
        self.writes = writes
        self.open: list[float] = []
        """For each shared fixture that is being set up: the time of those within it."""
        self.fixtures: dict[str, float] = {}
        """Set up by the current case, with their CPU seconds."""
        self.start = 0.0
        self.seconds: dict[str, float] = {}
        self.shared: dict[str, float] = {}
        self.users: dict[str, list[str]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self.fixtures, self.start = {}, cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        start = cpu_seconds()
        self.open.append(0.0)
        try:
            return (yield)
        finally:
            seconds, within = cpu_seconds() - start, self.open.pop()
            name = fixture_name(fixturedef)
            self.fixtures[name] = self.fixtures.get(name, 0.0) + seconds - within
            if self.open:
                self.open[-1] += seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        report = yield
        if call.when == "teardown":
            own = cpu_seconds() - self.start - sum(self.fixtures.values())
            own = max(0.0, own)  # processes that nobody waits for, as those of a browser, take their seconds with them
            report.user_properties.append((CPU, [own, self.fixtures, shared_fixtures(item)]))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == CPU and report.when == "teardown":
                own, fixtures, uses = value
                self.seconds[report.nodeid] = own
                for fixture, seconds in fixtures.items():
                    self.shared[fixture] = self.shared.get(fixture, 0.0) + seconds
                for fixture in uses:
                    self.users.setdefault(fixture, []).append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        if not self.writes:
            return
        for fixture, cases in self.users.items():
            for case in cases:
                self.seconds[case] += self.shared.get(fixture, 0.0) / len(cases)
        times = {case: round(seconds, 3) for case, seconds in sorted(self.seconds.items())}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(times, indent=0) + "\n", encoding="utf-8")


def fixture_name(fixturedef: Any) -> str:
    return f"{fixturedef.baseid}::{fixturedef.argname}"


def shared_fixtures(item: pytest.Item) -> list[str]:
    """The fixtures of a case that live longer than it."""
    found: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return [fixture_name(definitions[-1]) for definitions in found.values() if definitions[-1].scope != "function"]

"""The judges' processes: what a kernel takes too much of is its own, and what happens to a judge is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tirx_mini.grading import Cache, Exceeded, Judges, Lost, kit_version, load_rules
from tirx_mini.grading.heard import Heard
from tirx_mini.grading.judging import Inquiry, Judged, Opened
from tirx_mini.hardware import gpu_spec

LIMITS = replace(load_rules().judge, seconds=0.2, memory_mb=4096)


def fine(value: int) -> Generator[None, None, int]:
    yield
    return value + 1


def spins(_: int) -> Generator[None, None, None]:
    yield
    while True:
        pass


def fills_memory(_: int) -> Generator[None, None, int]:
    yield
    return int(np.ones(1 << 30).sum())


def sleeps(_: int) -> Generator[None, None, None]:
    yield
    time.sleep(60)


def stumbles(_: int) -> Generator[None, None, None]:
    yield
    raise KeyError("a bug of the judge\nwith more lines")


def lacks_a_module(_: int) -> Generator[None, None, None]:
    yield
    raise ModuleNotFoundError("No module named 'threadpoolctl'")


def dies(_: int) -> Generator[None, None, None]:
    yield
    os._exit(3)


def is_killed(_: int) -> Generator[None, None, None]:
    yield
    os.kill(os.getpid(), signal.SIGKILL)


def prints(count: int) -> Generator[None, None, int]:
    yield
    for _ in range(count):
        sys.stdout.write("from the kernel ")
    return count


@pytest.fixture(scope="module")
def judges() -> Any:
    with Judges(1, LIMITS) as shared:
        yield shared


Task = Callable[[int], Generator[None, None, Any]]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (spins, "it takes more than 0.2 s of CPU time to be judged"),
        (fills_memory, "it needs more than 4096 MiB of memory to be judged"),
    ],
)
def test_what_a_kernel_takes_too_much_of_is_its_own(judges: Judges, task: Task, said: str) -> None:
    with pytest.raises(Exceeded) as caught:
        judges.ask(task, 1)
    assert str(caught.value) == said
    assert judges.ask(fine, 1) == 2


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (stumbles, r"the judge failed: KeyError: 'a bug of the judge\nwith more lines'"),
        (lacks_a_module, "the judge failed: ModuleNotFoundError: No module named 'threadpoolctl'"),
        (dies, "the judge's process ended with status 3"),
        (is_killed, "the judge's process ended by SIGKILL"),
    ],
)
def test_what_happens_to_a_judge_says_nothing_of_the_kernel(judges: Judges, task: Task, said: str) -> None:
    with pytest.raises(Lost) as caught:
        judges.ask(task, 1)
    assert str(caught.value) == said
    assert judges.ask(fine, 1) == 2


def test_a_judge_that_waits_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_mini.grading.judges.GRACE_S", 0.5)
    with Judges(1, replace(LIMITS, seconds=0.1)) as judges:
        with pytest.raises(Lost, match=r"^the judge came to no end within 1 s on this machine$"):
            judges.ask(sleeps, 1)
        assert judges.ask(fine, 1) == 2


def test_a_machine_with_less_memory_than_a_judge_may_use_is_to_blame_for_its_shortage() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))\n"
        "from tirx_mini.grading.judges import limit; print(limit(1 << 24, 5), limit(1 << 10, 5))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"


def test_what_kernels_print_goes_to_the_listener_and_is_bounded(
    judges: Judges, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    assert judges.heard_by(heard.append).ask(prints, 1) == 1
    assert heard == ["from the kernel "]
    assert judges.heard_by(heard.append).ask(prints, 100_000) == 100_000
    assert len(heard[1]) < 5000
    assert judges.ask(prints, 1) == 1 and len(heard) == 2
    assert capfd.readouterr() == ("", "")


QUESTION = Inquiry("text", "source", "label", "path", 4, (256, 256, 128), "float16", "b200")
KERNEL = Opened("digest of the kernel")


class Counting(Judges):
    """Judges that count what they are asked, and find nothing wrong."""

    asked: ClassVar[list[Any]] = []

    def _call(self, task: Any, asked: Any) -> Heard:
        self.asked.append(asked)
        return Heard(Judged(True, us=1.0, clean=True))


def asked(cache: Cache, question: Inquiry = QUESTION, opened: Opened = KERNEL, **changes: Any) -> list[Any]:
    """Return the questions to judges with a cache. changes: `tolerance`, or fields of their limits."""
    Counting.asked.clear()
    tolerance = changes.pop("tolerance", (1e-3, 1e-2))
    Counting(1, replace(LIMITS, **changes), cache).judged(question, opened, tolerance)
    return list(Counting.asked)


@pytest.mark.parametrize(
    "changes",
    [
        {"opened": Opened("digest of another one")},
        {"question": replace(QUESTION, shape=(256, 128, 256))},
        {"question": replace(QUESTION, dtype="bfloat16")},
        {"question": replace(QUESTION, gpu="b300")},
        {"question": replace(QUESTION, sms=2)},
        {"tolerance": (1e-3, 1e-3)},
        {"seconds": 4},
        {"memory_mb": 2048},
    ],
)
def test_a_result_is_kept_for_all_that_it_depends_on(changes: dict[str, Any]) -> None:
    cache = Cache()
    assert asked(cache) and not asked(cache)
    assert asked(cache, **changes) and not asked(cache, **changes) and not asked(cache)


def test_a_result_is_not_that_of_other_sources_or_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache()
    assert asked(cache)
    with monkeypatch.context() as patch:
        patch.setattr("tirx_mini.grading.judges.kit_version", lambda: "another one")
        assert asked(cache)
    with monkeypatch.context() as patch:
        patch.setattr("tirx_mini.grading.judging.gpu_spec", lambda name: replace(gpu_spec(name), hbm_tbps=9.0))
        assert asked(cache)
    assert not asked(cache)


def test_who_hands_a_kernel_in_is_not_asked_for() -> None:
    cache = Cache()
    assert asked(cache)
    assert not asked(cache, replace(QUESTION, text="t", source="s", label="l", path="p", step=5))


def test_equal_kernels_get_equal_data_that_nobody_can_work_out() -> None:
    """The seed follows from the kernel and from a secret of the cache."""
    seeds = [asked(cache)[0][1] for cache in (Cache(), Cache())]
    assert seeds[0] != seeds[1]
    cache = Cache()
    assert len({asked(cache, opened=Opened(key))[0][1] for key in "abc"}) == 3


def test_the_version_follows_from_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = kit_version()  # which is kept from now on
    assert kit_version.__wrapped__() == own
    (tmp_path / "step.py").write_text("x = 1")
    monkeypatch.setattr("tirx_mini.grading.version.resource", lambda name: tmp_path)
    one = kit_version.__wrapped__()
    (tmp_path / "step.py").write_text("x = 2")
    assert len({one, kit_version.__wrapped__(), own}) == 3

"""Results by key: one answer for all who ask, kept on disk where there is a folder."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tirx_mini.grading import Cache


def test_two_who_ask_at_the_same_time_get_one_answer() -> None:
    cache, made, inside, go = Cache(), [], threading.Event(), threading.Event()

    def make() -> tuple[int, bool]:
        made.append(1)
        inside.set()
        assert go.wait(10)
        return len(made), True

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.value, "k", make)
        assert inside.wait(10)
        second = pool.submit(cache.value, "k", make)
        go.set()
        assert (first.result(), second.result(), len(made)) == (1, 1, 1)


def test_what_is_not_kept_is_made_again() -> None:
    cache, made = Cache(), []
    for number in (1, 2):
        assert cache.value("k", lambda: (made.append(1) or len(made), False)) == number


def test_a_failure_leaves_nothing_behind() -> None:
    cache = Cache()
    with pytest.raises(ZeroDivisionError):
        cache.value("k", lambda: (1 // 0, True))
    assert cache.value("k", lambda: (3, True)) == 3


def test_a_folder_is_read_by_the_next_run(tmp_path: Path) -> None:
    Cache(tmp_path).value("k", lambda: ({"us": 1.5}, True))
    assert Cache(tmp_path).value("k", lambda: pytest.fail("made again")) == {"us": 1.5}


@pytest.mark.parametrize("damage", [b"", b'{"us": 1', b"\xff\xfe"])
def test_a_broken_file_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    Cache(tmp_path).value("k", lambda: (1, True))
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    assert Cache(tmp_path).value("k", lambda: (2, True)) == 2
    assert Cache(tmp_path).value("k", lambda: pytest.fail("not mended")) == 2
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_the_secret_of_a_folder_lasts_as_long_as_its_results(tmp_path: Path) -> None:
    secret = Cache(tmp_path).secret
    assert len(secret) >= 32 and Cache(tmp_path).secret == secret
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
    assert len({secret, Cache().secret, Cache().secret, Cache(tmp_path / "other").secret}) == 4


def test_who_asks_at_the_same_time_gets_the_same_secret(tmp_path: Path) -> None:
    caches = [Cache(tmp_path) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda cache: cache.secret, caches))) == 1

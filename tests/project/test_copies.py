"""Copies of the project: without the bytecode of other Pythons, and as new for each test that shares one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.copies import Restorable, copied


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "inner" / "__pycache__").mkdir(parents=True)
    (folder / "empty").mkdir()
    for name in ("a.py", "inner/b.py", "inner/c.sh", f"inner/__pycache__/b.{sys.implementation.cache_tag}.pyc"):
        (folder / name).write_text("1", encoding="utf-8")
    for name in ("b.cpython-39.pyc", f"b.{sys.implementation.cache_tag}.pyc.140"):
        (folder / "inner" / "__pycache__" / name).touch()
    return folder


def contents(folder: Path) -> dict[str, tuple[int, int, str] | None]:
    """The mode, the time and the text of each file, and the folders."""
    return {
        path.relative_to(folder).as_posix(): None
        if path.is_dir()
        else (path.stat().st_mode, path.stat().st_mtime_ns, path.read_text(encoding="utf-8"))
        for path in folder.rglob("*")
    }


def test_the_bytecode_of_this_python_is_copied(source: Path, tmp_path: Path) -> None:
    there = contents(copied(source, tmp_path / "copy", "a.*"))
    bytecode = f"inner/__pycache__/b.{sys.implementation.cache_tag}.pyc"
    assert there.keys() == {"empty", "inner", "inner/__pycache__", "inner/b.py", "inner/c.sh", bytecode}


@pytest.mark.skipif(os.name == "nt", reason="links and modes are those of POSIX")
def test_a_copy_is_restored(source: Path, tmp_path: Path) -> None:
    copy = Restorable.of(source, tmp_path / "copy")
    new = contents(copy.folder)
    copy.restore()
    assert contents(copy.folder) == new

    (copy.folder / "a.py").write_text("2", encoding="utf-8")
    (copy.folder / "inner" / "c.sh").chmod(0o755)
    (copy.folder / "more" / "__pycache__").mkdir(parents=True)
    (copy.folder / "more" / "file").touch()
    (copy.folder / "link").symlink_to(source)
    (copy.folder / "inner" / "b.py").unlink()
    (copy.folder / "inner" / "b.py").mkdir()
    (copy.folder / "empty").rmdir()
    (copy.folder / "empty").touch()
    copy.restore()
    assert contents(copy.folder) == new

    shutil.rmtree(copy.folder / "inner")
    copy.restore()
    del new[f"inner/__pycache__/b.{sys.implementation.cache_tag}.pyc"], new["inner/__pycache__"]
    assert contents(copy.folder) == new and (source / "a.py").read_text(encoding="utf-8") == "1"


def test_bytecode_that_a_test_adds_stays(source: Path, tmp_path: Path) -> None:
    copy = Restorable.of(source, tmp_path / "copy")
    added = copy.folder / "inner" / "__pycache__" / f"c.{sys.implementation.cache_tag}.pyc"
    added.touch()
    copy.restore()
    assert added.exists()

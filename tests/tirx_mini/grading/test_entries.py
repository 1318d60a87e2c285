"""The hand-ins of a folder, as teachers get them: files and folders under all kinds of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.grading import Entry, HandInError, entries_of


def hand_in(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).touch()


def names(folder: Path) -> list[str]:
    return [entry.name for entry in entries_of(folder)[0]]


def test_files_and_folders_are_hand_ins_and_others_are_named(tmp_path: Path) -> None:
    for name in ("ann.py", "roster.csv", ".hidden.py"):
        hand_in(tmp_path, name)
    hand_in(tmp_path / "bob", "gemm_kernels.py")
    hand_in(tmp_path / "__MACOSX", "._ann.py")
    entries, others = entries_of(tmp_path)
    assert entries == [Entry("ann", tmp_path / "ann.py"), Entry("bob", tmp_path / "bob")]
    assert others == ["__MACOSX", "roster.csv"]


def test_what_somebody_handed_in_has_a_row_whatever_it_is(tmp_path: Path) -> None:
    handed_in = ("ann.zip", "bob.7z", "cyd.rar", "dee.tar.xz", "EVE.TAR", "fay.Py", "gus.tar.gz")
    for name in handed_in:
        hand_in(tmp_path, name)
    assert names(tmp_path) == ["EVE", "ann", "bob", "cyd", "dee", "fay", "gus"]


def test_names_are_unique_and_fit_for_files(tmp_path: Path) -> None:
    for name in ("ann.py", "ann.tar", "Ann.tgz", "a b.py", "a_b.py", "zoë.py", "zoe\u0308.py", "ann.py.tar"):
        hand_in(tmp_path, name)
    hand_in(tmp_path / ("x" * 200), "handin.tar")
    found = names(tmp_path)
    assert len({name.lower() for name in found}) == 9
    assert {"ann.tar", "Ann.tgz", "a_b"} <= set(found)
    assert all(name.isascii() and "/" not in name and " " not in name and len(name) < 100 for name in found)


def test_nobody_chooses_the_name_that_another_one_gets(tmp_path: Path) -> None:
    hand_in(tmp_path, "zoë.py")
    (given,) = names(tmp_path)
    hand_in(tmp_path, f"{given}.py")
    assert given in names(tmp_path) and len(set(names(tmp_path))) == 2
    for name in names(tmp_path):
        hand_in(tmp_path, f"{name}.tar")
    assert len(set(names(tmp_path))) == 4


def test_a_folder_without_hand_ins_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HandInError, match=r"has no hand-ins: files that end in \.py"):
        entries_of(tmp_path)
    with pytest.raises(HandInError, match="is not a folder; name the folder"):
        entries_of(tmp_path / "none")

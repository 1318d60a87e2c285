"""The file system of a process in namespaces has Python and the language, and neither references nor the grader."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest

import tirx_mini
from tirx_mini.course import default_kernels
from tirx_mini.sandbox.view import View, the_view

PACKAGE = Path(tirx_mini.__file__).resolve().parent


def readable(view: View, path: Path) -> bool:
    """Return whether namespaces show the path, as `namespaces` mounts them."""
    around = [str(each) for each in (path, *path.parents)]
    shown = any(each in view.trees for each in around) and not any(each in view.hidden for each in around)
    return shown or str(path) == view.utils


def test_python_and_the_language_are_readable() -> None:
    view = the_view()
    for path in (Path(numpy.__file__).resolve(), PACKAGE / "lang" / "barriers.py", Path(ast_file()).resolve()):
        assert readable(view, path), path


def ast_file() -> str:
    import ast

    return ast.__file__


def test_references_hints_and_the_grader_are_not() -> None:
    view = the_view()
    root = default_kernels().resolve().parent
    secret = [default_kernels().resolve() / "sm100", root / "docs" / "hints", root / "tests", PACKAGE / "grading"]
    for path in (*secret, Path.home(), Path("/etc/passwd"), Path("/proc/1"), Path("/tmp")):
        assert not readable(view, path), path


def test_the_references_of_an_installed_package_are_not(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "tirx_mini"
    for name in ("_data/kernels_ref", "lang", "_data/docs"):
        (package / name).mkdir(parents=True)
    (package / "_data" / "utils.py").touch()
    view = View((str(tmp_path),), (str(package / "_data"),), str(package / "_data" / "utils.py"), ())
    assert readable(view, package / "lang")
    assert readable(view, package / "_data" / "utils.py")
    assert not readable(view, package / "_data" / "kernels_ref")


def test_an_environment_behind_a_link_is_imported_from_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Namespaces mount real paths only."""
    packages = Path(numpy.__file__).resolve().parents[1]
    link = tmp_path / "link"
    link.symlink_to(packages)
    monkeypatch.setattr(sys, "path", [str(link)])
    the_view.cache_clear()
    try:
        assert str(packages) in the_view().imports and str(link) not in the_view().imports
    finally:
        the_view.cache_clear()

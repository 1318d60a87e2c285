"""The modules and packages beside a file that its text imports, and nothing outside of its folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tirx_mini.play.modules import MOST_BYTES, Modules

Write = Callable[..., Modules]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes texts by place into the folder of the file, and returns its modules."""

    def write(**texts: str) -> Modules:
        for place, text in texts.items():
            path = tmp_path / "kernels" / f"{place.replace('___', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Modules(tmp_path / "kernels")

    return write


@pytest.mark.parametrize(("text", "found"), [
    ("import tiles", ["tiles"]),
    ("import helpers", ["helpers/__init__", "helpers/sizes"]),
    ("import helpers.rings as r", ["helpers/__init__", "helpers/rings", "helpers/sizes"]),
    ("from helpers.rings import ring", ["helpers/__init__", "helpers/rings", "helpers/sizes"]),
    ("from helpers import rings", ["helpers/__init__", "helpers/rings", "helpers/sizes"]),
    ("from plain.deep import one, two", ["plain/deep/one", "tiles"]),
    ("from plain import *", []),
    ("from . import tiles", []),
    ("import numpy, os, utils, tirx_mini", []),
    ("import tiles.inner, helpers.nothing", ["tiles", "helpers/__init__", "helpers/sizes"]),
    ("def f(:", []),
])  # fmt: skip
def test_what_an_import_executes_is_found(write: Write, text: str, found: list[str]) -> None:
    modules = write(
        tiles="", utils="", helpers="hidden", helpers_____init__="from .sizes import N", helpers___sizes="N = 4",
        helpers___rings="from . import sizes\nfrom .. import tiles", plain___deep___one="import tiles",
        tiles___inner="",
    )  # fmt: skip
    assert modules.found(text) == found
    assert list(modules.opened(text, found[:1])) == found[:1]
    assert modules.opened(text, ["../secret"]) == {}


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_out_of_the_folder_is_refused(write: Write, tmp_path: Path) -> None:
    modules = write(tiles="N = 4", inside___tiles="")
    folder = tmp_path / "kernels"
    (tmp_path / "secret.py").write_text("SECRET = 1")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "tiles.py").write_text("SECRET = 2")
    (folder / "secret.py").symlink_to(tmp_path / "secret.py")
    (folder / "elsewhere").symlink_to(tmp_path / "elsewhere")
    (folder / "again.py").symlink_to(folder / "tiles.py")
    (folder / "circle.py").symlink_to(folder / "circle.py")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").symlink_to(tmp_path / "secret.py")
    os.mkfifo(folder / "pipe.py")
    text = "import secret, elsewhere.tiles, circle, package, pipe, again"
    assert modules.found(text) == ["again"]
    assert modules.opened(text, ["secret", "elsewhere/tiles", "again"]) == {"again": "N = 4"}


def test_all_modules_together_have_a_limit(write: Write) -> None:
    half = "#" * (MOST_BYTES // 2 + 1)
    modules = write(a___one=half, a___two=half, a___three="N = 1")
    assert modules.found("from a import one, two, three") == ["a/one", "a/three"]

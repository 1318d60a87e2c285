"""Kernels by file and name, and the shapes that are chosen for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import SOURCES
from tirx_mini.arguments import ArgumentError
from tirx_mini.course import KernelFileError, KernelRef, load_kernel


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [("a.py:f", "a.py", "f"), ("a.py", "a.py", ""), ("c:/x/a.py", "c:/x/a.py", ""), ("c:/x/a.py:f", "c:/x/a.py", "f")],
)
def test_a_reference_is_a_file_and_a_name(text: str, path: str, name: str) -> None:
    assert KernelRef.parse(text) == KernelRef(Path(path), name)


def test_a_factory_that_makes_no_kernel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_text("def f(M, N):\n    return 1\n\ndef g():\n    return 1\n")
    with pytest.raises(ArgumentError, match="takes 2 arguments"):
        load_kernel(KernelRef(path, "f"))
    with pytest.raises(KernelFileError, match="returned int"):
        load_kernel(KernelRef(path, "g"))


def test_a_step_without_a_size_gets_its_smallest_shape() -> None:
    small, large = (load_kernel(KernelRef(SOURCES[3], "hgemm_v3"), size=size) for size in (None, 512))
    assert small.params[0].shape == (256, 256) and large.params[0].shape == (512, 512)

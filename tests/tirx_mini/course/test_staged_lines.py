"""Stages for pages: as many lines of the file as lines of text, and a sentence where a stage cannot be made."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from tests.kernels_ref.edits import SOURCES
from tirx_mini.course import KernelRef, load_kernel, stage_items, staged_lines
from tirx_mini.runtime import ToolchainError

KERNEL = load_kernel(KernelRef(SOURCES[4], "hgemm_v4"), shape=(256, 256, 128))
FILE = str(SOURCES[4])
SOURCE = SOURCES[4].read_text(encoding="utf-8").splitlines()


def lines_with(item: Mapping[str, Any], words: str) -> set[str]:
    """The lines of the source to which those lines of a stage belong that contain some words."""
    pairs = zip(item["text"].split("\n"), item["lines"], strict=True)
    return {SOURCE[number - 1].strip() for line, number in pairs if words in line and number}


@pytest.mark.parametrize(("stage", "words"), [("tir", "gemm_async"), ("cuda", "tcgen05_mma")])
def test_a_product_is_that_of_its_line(stage: str, words: str) -> None:
    (item,) = stage_items(KERNEL, stage, "sm_100a", FILE)["items"]
    assert any("gemm_async" in line for line in lines_with(item, words))


def test_passes_are_those_that_change_the_text() -> None:
    items = stage_items(KERNEL, "passes", "sm_100a", FILE)["items"]
    assert items[0]["name"] == "as written" and "LowerScopes" in [item["name"] for item in items]
    texts = [item["text"] for item in items]
    assert all(before != after for before, after in itertools.pairwise(texts))


@pytest.mark.compiler
@pytest.mark.parametrize(("stage", "words"), [("ptx", "tcgen05.mma"), ("sass", "UTC")])
def test_compiled_stages_name_lines_of_the_file(stage: str, words: str) -> None:
    (item,) = stage_items(KERNEL, stage, "sm_100a", FILE)["items"]
    assert any("gemm_async" in line for line in lines_with(item, words))
    assert "//## File" not in item["text"] and str(SOURCES[4].parent) not in item["text"]


def test_lines_of_another_file_are_none() -> None:
    (item,) = stage_items(KERNEL, "tir", "sm_100a", "other.py")["items"]
    assert set(item["lines"]) == {0}


def test_without_a_compiler_its_sentence_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object, **__: object) -> None:
        raise ToolchainError("NVRTC is not installed: run `pip install nvidia-cuda-nvrtc`")

    monkeypatch.setattr(staged_lines, "build", build)
    for stage in ("ptx", "sass"):
        assert stage_items(KERNEL, stage, "sm_100a", FILE)["missing"].startswith("NVRTC is not installed")

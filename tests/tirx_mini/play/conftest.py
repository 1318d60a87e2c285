"""Texts of kernels, and the two kinds of processes, which take a second to start and are shared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tirx_mini.play.serving import Page, page_of
from tirx_mini.play.building import Builders
from tirx_mini.play.simulating import Simulators
from tirx_mini.resources import resource
from tirx_mini.sandbox import find_sandbox

FILE = "gemm_kernels.py"


@pytest.fixture(scope="session")
def step4() -> str:
    return resource("kernels_ref/sm100/step04_tma.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def builders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builders]:
    builders = Builders(find_sandbox(), tmp_path_factory.mktemp("builders"), FILE)
    yield builders
    builders.close()


@pytest.fixture(scope="session")
def simulators() -> Iterator[Simulators]:
    simulators = Simulators()
    yield simulators
    simulators.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, step4: str) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("page")
    file = folder / FILE
    file.write_text(step4, encoding="utf-8")
    with page_of(file, tmp_path_factory.mktemp("processes")) as page:
        yield page

"""The metadata agree: what pyproject.toml asks for is what constraints.txt pins, and together it is a compiler."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tirx_mini.course import TASKS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE = [Requirement(line) for line in PROJECT["dependencies"]]
EXTRAS = {extra: [Requirement(line) for line in lines] for extra, lines in PROJECT["optional-dependencies"].items()}
LANGUAGE = "Programming Language :: Python :: "
PYTHONS = [line.removeprefix(LANGUAGE) for line in PROJECT["classifiers"] if line.startswith(f"{LANGUAGE}3.")]
PLATFORMS = {
    "linux-x86_64": {"sys_platform": "linux", "platform_machine": "x86_64", "platform_system": "Linux"},
    "linux-aarch64": {"sys_platform": "linux", "platform_machine": "aarch64", "platform_system": "Linux"},
    "macos-arm64": {"sys_platform": "darwin", "platform_machine": "arm64", "platform_system": "Darwin"},
    "windows-amd64": {"sys_platform": "win32", "platform_machine": "AMD64", "platform_system": "Windows"},
    "windows-arm64": {"sys_platform": "win32", "platform_machine": "ARM64", "platform_system": "Windows"},
}


def pins() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def applies(requirement: Requirement, environment: dict[str, str], extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({**environment, "extra": extra})


def pin_of(name: str, environment: dict[str, str]) -> str:
    """The one version that the constraints give `name` there."""
    versions = [
        specifier.version
        for pin in pins()
        if canonicalize_name(pin.name) == canonicalize_name(name) and applies(pin, environment)
        for specifier in pin.specifier
    ]
    assert len(versions) == 1, f"constraints.txt gives {name} {versions or 'no version'} in {environment}"
    return versions[0]


def test_every_pin_is_one_exact_version() -> None:
    for pin in pins():
        operators = [specifier.operator for specifier in pin.specifier]
        assert operators == ["=="] and not pin.url and not pin.extras, f"constraints.txt: {pin}"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_pins_are_what_the_project_asks_for(platform: str, python: str) -> None:
    environment = {**PLATFORMS[platform], "python_version": python}
    for requirement in [*BASE, *(item for items in EXTRAS.values() for item in items)]:
        if applies(requirement, environment):
            assert requirement.specifier.contains(pin_of(requirement.name, environment)), str(requirement)


def needs(requirement: Requirement, seen: set[tuple[str, str]]) -> Iterator[str]:
    """The names of all that an installed package needs here, itself first; what is not installed ends the search."""
    for extra in {"", *requirement.extras}:
        key = (canonicalize_name(requirement.name), extra)
        if key in seen:
            continue
        seen.add(key)
        yield requirement.name
        try:
            below = [Requirement(line) for line in requires(requirement.name) or ()]
        except PackageNotFoundError:
            continue
        for item in below:
            if applies(item, {}, extra):
                yield from needs(item, seen)


def test_everything_an_install_brings_is_pinned() -> None:
    wanted = [item for item in [*BASE, *EXTRAS["dev"]] if applies(item, {})]
    seen: set[tuple[str, str]] = set()
    names = {canonicalize_name(name) for item in wanted for name in needs(item, seen)}
    assert {"numpy", "torch", "mdurl", "pluggy"} <= names  # the search went below the first level
    assert names - {canonicalize_name(pin.name) for pin in pins()} == set()


def test_pytorch_and_pytest_are_extras_and_developers_have_every_extra() -> None:
    asked = {name: {item.name for item in items} for name, items in {"": BASE, **EXTRAS}.items()}
    assert {"torch", "triton", "pytest"}.isdisjoint(asked[""])
    assert asked["torch"] == {"torch"} and asked["course"] == {"pytest"} and asked["gpu"] == {"torch", "triton"}
    assert asked["triton"] == asked["gpu"]
    only_users = set.union(*asked.values()) - asked[""] - asked["dev"]
    assert only_users == {"triton"}  # 200 MB, of Linux alone: its tests are skipped without it


def test_the_metadata_say_who_made_it_where_it_is_and_what_runs_it() -> None:
    assert PROJECT["authors"] and all(author["name"] for author in PROJECT["authors"])
    assert {"Homepage", "Documentation", "Changelog"} <= PROJECT["urls"].keys()
    assert all(url.startswith("https://") for url in PROJECT["urls"].values())
    assert PROJECT["scripts"] == {"tirx": "tirx_mini.__main__:main"}


@pytest.mark.parametrize(
    ("platform", "expected"), [(name, "macos" not in name and "windows-arm" not in name) for name in PLATFORMS]
)
def test_the_cuda_compiler_is_asked_for_where_it_exists(platform: str, expected: bool) -> None:
    cuda = [item for item in BASE if item.name.startswith(("cuda-", "nvidia-"))]
    assert {item.name for item in cuda} >= {
        "cuda-core",
        "nvidia-cuda-nvrtc",
        "nvidia-cuda-runtime",
        "nvidia-cuda-nvdisasm",
    }
    assert {applies(item, PLATFORMS[platform]) for item in cuda} == {expected}


def test_the_classifiers_name_the_pythons_from_the_oldest_that_installs() -> None:
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert [version.split(".")[1] for version in PYTHONS] == [str(10 + n) for n in range(len(PYTHONS))]


COMPILE = """
import subprocess, sys, tempfile
from pathlib import Path

from cuda.bindings import nvrtc
from cuda.core import Program, ProgramOptions
from cuda.pathfinder import find_nvidia_binary_utility, find_nvidia_header_directory

arch = sys.argv[1]
code = r'''
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void widen(float* out, const half* a, const __nv_bfloat16* b) {
    out[threadIdx.x] = __half2float(a[threadIdx.x]) + __bfloat162float(b[threadIdx.x]);
}
'''
program = Program(code, "c++", ProgramOptions(arch=arch, include_path=find_nvidia_header_directory("cudart")))
cubin = program.compile("cubin").code
_, size = nvrtc.nvrtcGetPTXSize(program.handle)
ptx = bytes(size)
nvrtc.nvrtcGetPTX(program.handle, ptx)
assert f".target {arch}" in ptx.decode(), ptx.decode()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "widen.cubin")
    path.write_bytes(cubin)
    tool = find_nvidia_binary_utility("nvdisasm")
    assert tool is not None and Path(tool).is_relative_to(sys.prefix), f"nvdisasm is {tool}"
    print(subprocess.run([tool, path], check=True, capture_output=True, text=True).stdout)
"""


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_the_wheels_alone_compile_and_disassemble(arch: str) -> None:
    """In a process that can find no toolkit: nothing on PATH, no CUDA_HOME."""
    hidden = ("PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "LD_LIBRARY_PATH")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    result = subprocess.run(
        [sys.executable, "-c", COMPILE, arch], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "HADD2.F32" in result.stdout or "FADD" in result.stdout


def test_a_package_has_the_kernel_of_task_c_and_no_reference_of_a_task() -> None:
    setup = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    (patterns,) = (
        ast.literal_eval(node.value)
        for node in setup.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PATTERNS"
    )
    carried = {path.relative_to(ROOT).parts[0] for pattern in patterns for path in ROOT.glob(pattern)}
    assert "kernels_ref" in carried and "tasks_ref" not in carried
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert tools["packages"]["find"]["include"] == ["tirx_mini*"]
    folder = "tirx_mini.course.tasks"
    room = ROOT / folder.replace(".", "/")
    packed = {path.name for each in tools["package-data"][folder] for path in room.glob(each)}
    assert packed == {TASKS["c"].handout}
    handed_out = {path.read_text(encoding="utf-8") for path in (ROOT / "tasks_ref").glob("*.py")}
    assert len(handed_out) == len(TASKS) and TASKS["c"].handed_out not in handed_out

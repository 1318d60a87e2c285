"""The package takes with it what it needs: in a checkout, and installed alone from a wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.copies import copied
from tests.kernels_ref.edits import SOURCES, Edit
from tirx_mini import __version__
from tirx_mini.course import STEPS
from tirx_mini.resources import DATA, resource, resource_root

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

INSTALLED = """
import tirx_mini
from tirx_mini.course import default_kernels, measured_times
from tirx_mini.diagnose import Report, Timeline
from tirx_mini.report.timeline import page_html
from tirx_mini.script.source import in_package

print(tirx_mini.__file__)
(reference,) = (default_kernels() / "sm100").glob("step01*.py")
print(in_package(tirx_mini.__file__), in_package(str(reference)), measured_times("NVIDIA B200").source)
print(page_html(Report("ok", trace=Timeline(), gpu="B200")).count("<script"))
"""
"""What an installed package finds: itself, a reference, which is not one of its modules, a measured table, and the
parts of the page of a timeline."""
ROOT = Path(__file__).parents[2]
PROJECT = ("LICENSE", "README.md", "pyproject.toml", "setup.py", "utils.py", "docs", "kernels_ref", "tirx_mini")
CARRIED = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("kernels_ref/**/*.py", "docs/findings.md", "docs/hints/**/*.md", "docs/*.csv", "utils.py")
    for path in ROOT.glob(pattern)
)


def run(command: Sequence[str | Path], folder: Path, status: int = 0, stream: str = "stdout") -> str:
    """The output of a command that sees neither the checkout nor the user's settings."""
    hidden = ("PYTHON", "PIP_", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)} | {"PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
    return getattr(done, stream)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, so that a build leaves nothing in the checkout."""
    folder = tmp_path_factory.mktemp("project")
    for name in PROJECT:
        if (ROOT / name).is_dir():
            copied(ROOT / name, folder / name)
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the dependencies of the package, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    (packages,) = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).splitlines()
    if os.name == "nt":  # links need a right of their own there: every package of this interpreter is visible
        dependencies = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
        (Path(packages) / "dependencies.pth").write_text("\n".join(dependencies), encoding="utf-8")
        return python
    for place in set(dependency_files()):
        (Path(packages) / place.name).symlink_to(place)
    assert "pytest" in run([python, "-c", "import numpy, rich; import pytest"], folder, status=1, stream="stderr")
    return python


def dependency_files() -> Iterator[Path]:
    """Yield the files and folders of the package's dependencies, and of theirs, in this environment."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting, seen = [Requirement(line) for line in project["dependencies"]], set[str]()
    while waiting:
        item = waiting.pop()
        if canonicalize_name(item.name) in seen or not (item.marker is None or item.marker.evaluate({"extra": ""})):
            continue
        seen.add(canonicalize_name(item.name))
        try:
            found = distribution(item.name)
        except PackageNotFoundError:  # the compiler, which some platforms do not have
            continue
        tops = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
        yield from (Path(str(found.locate_file(top))) for top in tops)  # folders such as `nvidia` are shared
        waiting += [Requirement(line) for line in found.requires or ()]


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the sources."""
    return built_wheel(project, tmp_path_factory.mktemp("wheel"))


def built_wheel(source: Path, folder: Path) -> Path:
    """The wheel that pip builds of a folder or a source distribution, without a network."""
    run([*pip(), "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, source], folder)
    (found,) = folder.glob("*.whl")
    return found


def pip() -> list[str]:
    """The command of this interpreter's pip."""
    if find_spec("pip") is None:
        pytest.fail("this test builds a wheel with pip, which this environment lacks: run `python -m ensurepip`")
    return [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def test_a_checkout_has_its_files_where_readers_look_for_them() -> None:
    assert resource_root() == ROOT
    assert resource("docs/findings.md").is_file() and resource("kernels_ref/sm90").is_dir()
    assert not (ROOT / "tirx_mini" / DATA).exists()


def test_a_wheel_carries_every_file_once(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    data = f"tirx_mini/{DATA}/"
    assert sorted(name.removeprefix(data) for name in names if name.startswith(data)) == CARRIED
    assert len(names) == len(set(names))
    assert {"tirx_mini/py.typed", "tirx_mini/script/tirx.pyi"} <= set(names)  # what editors read
    assert {name.split("/")[0] for name in names} == {"tirx_mini", f"tirx_mini-{__version__}.dist-info"}


def test_a_source_distribution_builds_the_same_wheel(project: Path, wheel: Path, tmp_path: Path) -> None:
    build = "import sys, setuptools.build_meta as backend; backend.build_sdist(sys.argv[1])"
    run([sys.executable, "-c", build, tmp_path], project)
    (archive,) = tmp_path.glob("*.tar.gz")
    (again := tmp_path / "wheel").mkdir()
    assert contents(built_wheel(archive, again)) == contents(wheel)


def contents(wheel: Path) -> dict[str, int]:
    """The checksums of the files in a wheel."""
    return {item.filename: item.CRC for item in zipfile.ZipFile(wheel).infolist()}


def test_a_wheel_installed_alone_runs_the_commands(wheel: Path, environment: Path, tmp_path: Path) -> None:
    run([*pip(), "--python", environment, "install", "--no-deps", "--no-index", "--no-compile", wheel], tmp_path)
    command = [environment, "-m", "tirx_mini"]
    place, found, scripts = run([environment, "-c", INSTALLED], tmp_path).splitlines()
    assert Path(place).is_relative_to(environment.parents[1]) and found == "True False docs/b200.csv"
    assert scripts == "2"
    ladder = run([*command, "ladder", "--steps", "1-2", "--jobs", "1"], tmp_path)
    assert ladder.count(" ok ") == sum(len(STEPS[step].shapes) for step in (1, 2))
    assert run([*command, "explain", "TX107"], tmp_path).startswith("TX107 ")
    kernel = tmp_path / "mine.py"
    kernel.write_text(Edit(7, "tma2mma.init(1)", "tma2mma.init(2)").source(), encoding="utf-8")
    page = run([*command, "check", "mine.py:hgemm_v7", "--shape", "128,128,64"], tmp_path, status=1)
    assert "error[TX107]: tma2mma[0] was initialised for 2 arrivals" in page and "mine.py:" in page
    right = ["trace", "mine.py:hgemm_v7", "--shape", "128,128,64", "-o", "step07.html"]
    shutil.copy(SOURCES[7], kernel)
    assert "step07.html" in run([*command, *right], tmp_path) and (tmp_path / "step07.html").stat().st_size > 10_000
    script = environment.parent / ("tirx.exe" if os.name == "nt" else "tirx")
    assert run([script, "explain", "TX107"], tmp_path) == run([*command, "explain", "TX107"], tmp_path)
    assert "COMMAND" in run([script], tmp_path, status=2, stream="stderr")
    if os.name != "nt":
        said = run([script, "tileir", "moe"], tmp_path, status=2, stream="stderr")
        assert said.endswith('run `pip install "tirx_mini[torch]"`\n') and said.count("\n") == 1

"""The autograders of Gradescope and Autolab, set up and executed as those systems do, in their folders.

Each platform's own script installs what grading needs, and nothing else is there when a hand-in is graded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import filled_in
from tirx_mini.course import STEPS
from tools.autograders import main, requirements

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None, reason="the platforms' folders are made with bubblewrap"
)
ROOT = Path(__file__).parents[2]
ANOTHER = 65534
"""A user who owns nothing."""


def small_rules() -> str:
    """Rules of a teacher: each step at one small size."""
    lines = ["[sizes]"]
    for number, step in STEPS.items():
        shape = list(step.shape(256 if number < 9 else 512))
        lines.append(f"{number} = {{ data = [{shape}], timed = {shape} }}")
    return "\n".join(lines)


@dataclass(frozen=True)
class Image:
    """The root of a platform's machine. places: its own folders, by where they are there. variables: environment."""

    places: dict[str, Path]
    variables: dict[str, str]

    def run(self, command: Sequence[str], *, user: int = 0, network: bool = False, at: str = "/") -> Done:
        """A command in it. The rest of the root is this machine's, without what a project or a person put there."""
        words = ["bwrap", "--die-with-parent", *(() if network else ("--unshare-net",))]
        shared = [Path("/") / name for name in ("usr", "bin", "sbin", "lib", "lib64", "etc", "opt", "run")]
        for place in (*shared, Path(sys.base_prefix)):
            if not any(parent in shared for parent in place.parents):
                words += [*made_for_all(place), "--ro-bind-try", str(place), str(place)]
        words += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
        for there, here in self.places.items():
            words += [*made_for_all(Path(there)), "--bind", str(here), there]
        words += ["--chdir", at]
        if user != 0:
            if os.geteuid() != 0:
                pytest.skip("only root becomes another user")
            words += ["--cap-add", "ALL", "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "proxy" in name.lower()}
        environment = {**kept, "LANG": "C.UTF-8", **self.variables}
        done = subprocess.run([*words, *command], env=environment, capture_output=True, text=True, check=False)
        return Done(done.returncode, done.stdout, done.stderr)


def made_for_all(place: Path) -> list[str]:
    """The arguments that make the folders around a place; bubblewrap itself would make them for root alone."""
    return [word for parent in [*reversed(place.parents)][1:] for word in ("--dir", str(parent))]


@dataclass(frozen=True)
class Done:
    """status: of the exit."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both autograders, with rules of a teacher."""
    folder = tmp_path_factory.mktemp("autograders")
    (folder / "grading.toml").write_text(small_rules(), encoding="utf-8")
    assert main(["--out", str(folder), "--rules", str(folder / "grading.toml")]) == 0
    return folder


def python_first(*before: str) -> dict[str, str]:
    """Use the Python that runs the tests in place of the Python of the image."""
    return {"PATH": os.pathsep.join((*before, f"{sys.base_prefix}/bin", "/usr/bin", "/bin"))}


@pytest.fixture(scope="module")
def gradescope(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The image that setup.sh makes."""
    root = tmp_path_factory.mktemp("gradescope")
    root.chmod(0o755)
    with zipfile.ZipFile(made / "gradescope.zip") as archive:
        for entry in archive.infolist():
            Path(archive.extract(entry, root / "source")).chmod(entry.external_attr >> 16)
    image = Image({"/autograder": root}, python_first())
    done = image.run(["/autograder/source/setup.sh"], network=True)
    assert done.status == 0, done.out + done.err
    assert "step01_single_tile.py, on a modelled B200: 5 of 100 points" in done.out
    return image


@pytest.fixture(scope="module")
def autolab(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The image that the Dockerfile's pip makes, into an environment that has a pip as the base image has."""
    root = tmp_path_factory.mktemp("autolab")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / "image"], check=True)
    pip = root / "image" / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec {sys.executable} -m pip --python /image/bin/python "$@"\n', encoding="utf-8")
    pip.chmod(0o755)
    places = {"/tmp": made / "autolab", "/image": root / "image", sys.prefix: Path(sys.prefix)}
    (install,) = re.findall(r"^RUN (pip install .*)$", (made / "autolab" / "Dockerfile").read_text("utf-8"), re.M)
    done = Image(places, python_first("/image/bin")).run(["sh", "-c", install], network=True)
    assert done.status == 0, done.out + done.err
    (root / "image").chmod(0o755)
    return Image({"/image": root / "image"}, python_first("/image/bin"))


HAND_INS = {
    "references": filled_in("sm100", STEPS),
    "first steps": filled_in("sm100", range(1, 4)),
    "skeleton": filled_in("sm100", []),
    "syntax error": filled_in("sm100", []) + "\ndef hgemm_v1(:\n",
}
SCORES = {"references": 100.0, "first steps": 20.0, "skeleton": 0.0, "syntax error": 0.0}


def packed(folder: Path, source: str) -> Path:
    """The handin.tar of a source."""
    (folder / "gemm_kernels.py").write_text(source, encoding="utf-8")
    with tarfile.open(folder / "handin.tar", "w") as archive:
        archive.add(folder / "gemm_kernels.py", "gemm_kernels.py")
    (folder / "gemm_kernels.py").unlink()
    return folder / "handin.tar"


def submitted(image: Image, folder: Path, source: str, user: int) -> tuple[Done, dict[str, object]]:
    """Return the results that Gradescope reads after a submission."""
    for name in ("submission", "results"):
        (folder / name).mkdir()
        (folder / name).chmod(0o777)
    packed(folder / "submission", source)
    places = {**image.places, **{f"/autograder/{name}": folder / name for name in ("submission", "results")}}
    done = Image(places, image.variables).run(["/autograder/source/run_autograder"], user=user)
    results = folder / "results" / "results.json"
    return done, json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}


@pytest.mark.parametrize(
    ("kind", "user"),
    [("references", 0), ("skeleton", ANOTHER), ("syntax error", 0)],
)
def test_gradescope_grades_a_submission(kind: str, user: int, gradescope: Image, tmp_path: Path) -> None:
    done, results = submitted(gradescope, tmp_path, HAND_INS[kind], user)
    assert done.status == 0, done.out + done.err
    assert results["score"] == SCORES[kind], results
    if kind == "syntax error":
        assert "gemm_kernels.py:" in str(results) and "def hgemm_v1(:" in str(results)


@pytest.mark.parametrize(("kind", "user"), [("first steps", ANOTHER), ("skeleton", 0), ("syntax error", ANOTHER)])
def test_autolab_grades_a_hand_in(kind: str, user: int, made: Path, autolab: Image, tmp_path: Path) -> None:
    """Autolab copies both files and the hand-in to a folder, and executes make; the last line has the scores."""
    shutil.copyfile(made / "autolab" / "autograde.tar", tmp_path / "autograde.tar")
    shutil.copyfile(made / "autolab" / "autograde-Makefile", tmp_path / "Makefile")
    packed(tmp_path, HAND_INS[kind])
    tmp_path.chmod(0o777)
    here = "/home/autolab/autolab"
    done = Image({**autolab.places, here: tmp_path}, autolab.variables).run(["make"], user=user, at=here)
    assert done.status == 0, done.out + done.err
    scores = json.loads(done.out.splitlines()[-1])["scores"]
    assert sum(scores.values()) == SCORES[kind] and len(scores) == 10
    if kind == "syntax error":
        assert "gemm_kernels.py:" in done.out and "def hgemm_v1(:" in done.out


def test_a_module_that_is_missing_is_no_zero(gradescope: Image, tmp_path: Path) -> None:
    """The last test of this image, from which it takes a package."""
    (package,) = gradescope.places["/autograder"].glob("venv/lib/python3*/site-packages/threadpoolctl.py")
    package.rename(package.with_suffix(".away"))
    try:
        done, results = submitted(gradescope, tmp_path, filled_in("sm100", [1]), 0)
    finally:
        package.with_suffix(".away").rename(package)
    assert done.status == 1 and "score" not in results
    assert "step 1: the judge failed: ModuleNotFoundError: No module named 'threadpoolctl'" in str(results["output"])


def test_the_packages_follow_from_the_metadata_and_bring_no_pytorch() -> None:
    names = [re.split(r"[>=<; ]", line)[0] for line in requirements().splitlines()]
    assert {"numpy", "ml_dtypes", "rich", "psutil", "threadpoolctl", "tomli"} <= set(names)
    assert not any(name.startswith(("torch", "cuda", "nvidia")) for name in names)


def test_rules_that_mean_nothing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.toml").write_text("nonsense = 1", encoding="utf-8")
    assert main(["--out", str(tmp_path), "--rules", str(tmp_path / "bad.toml")]) == 2
    assert "there is no 'nonsense'" in capsys.readouterr().err and not list(tmp_path.glob("*.zip"))

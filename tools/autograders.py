"""The autograders of Gradescope and Autolab: what a teacher uploads, made from the kit.

    make autograders                          # into build/autograders
    make autograders RULES=grading.toml       # with a teacher's own rules

    gradescope.zip               Gradescope: Configure Autograder, Zip file upload
    autolab/autograde.tar        Autolab: the two files of the autograder; Dockerfile is of the image that it runs in
    autolab/autograde-Makefile

Both grade in the simulator, with the part of the kit that this needs: no PyTorch, no CUDA.
"""

from __future__ import annotations

import argparse
import importlib
import io
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tirx_mini.ending import command
from tirx_mini.grading import RulesError, load_rules

tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

ROOT = Path(__file__).parents[1]
KIT = (
    "grade.py", "utils.py", "constraints.txt", "tirx_mini/**/*.py", "tirx_mini/**/*.toml", "tirx_mini/**/*.py.txt",
    "tirx_mini/report/timeline/assets/*", "kernels_ref/**/*.py", "docs/findings.md", "docs/*.csv", "docs/hints/**/*.md",
)  # fmt: skip
"""What of the kit grades in the simulator."""
NOT_NEEDED = ("torch", "cuda-", "nvidia-")
"""The prefixes of dependencies that the simulator does not import."""
GRADESCOPE, AUTOLAB = ROOT / "grading" / "gradescope", ROOT / "grading" / "autolab"


def kit_files() -> dict[str, bytes]:
    """The kit by the paths of its files, with its requirements."""
    paths = sorted({path for pattern in KIT for path in ROOT.glob(pattern) if path.is_file()})
    found = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths if "_data" not in path.parts}
    return {**found, "requirements.txt": requirements().encode()}


def requirements() -> str:
    """The package's dependencies without those that the simulator does not import, a line each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "".join(f"{each}\n" for each in project["dependencies"] if not each.startswith(NOT_NEEDED))


def gradescope(target: Path, rules: Path | None) -> None:
    """The ZIP file: setup.sh and run_autograder at its top, and the kit."""
    files = {f"kit/{name}": data for name, data in kit_files().items()}
    files |= {path.name: path.read_bytes() for path in GRADESCOPE.iterdir()}
    if rules is not None:
        files["grading.toml"] = rules.read_bytes()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if "/" not in name and not name.endswith(".toml") else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)


def autolab(folder: Path, rules: Path | None) -> None:
    """The two files of the autograder, and those of its image."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = {f"autograde/kit/{name}": data for name, data in kit_files().items()}
    if rules is not None:
        files["autograde/grading.toml"] = rules.read_bytes()
    with tarfile.open(folder / "autograde.tar", "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    for path in AUTOLAB.iterdir():
        shutil.copyfile(path, folder / path.name)
    (folder / "requirements.txt").write_text(requirements(), encoding="utf-8")
    shutil.copyfile(ROOT / "constraints.txt", folder / "constraints.txt")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "autograders", metavar="FOLDER")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a teacher's grading.toml")
    options = parser.parse_args(argv)
    try:
        load_rules(options.rules)
    except RulesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    gradescope(options.out / "gradescope.zip", options.rules)
    autolab(options.out / "autolab", options.rules)
    print(f"wrote {options.out / 'gradescope.zip'} and {options.out / 'autolab'}")
    return 0


if __name__ == "__main__":
    sys.exit(command(main))

#!/usr/bin/env bash
# Gradescope executes this once, as root, when it builds the image of the autograder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# install PACKAGE: quietly, where the image has apt-get.
install() { apt-get update -qq && apt-get install -y -qq "$1"; }

# The sandbox of the hand-ins is bubblewrap where the image has it; else Landlock and seccomp, which need nothing.
command -v bwrap > /dev/null || install bubblewrap > /dev/null || echo "no bubblewrap; going on without it"
python3 -c 'import venv, ensurepip' 2> /dev/null || install python3-venv > /dev/null

# Grading needs no PyTorch, no CUDA and no GPU.
python3 -m venv /autograder/venv
/autograder/venv/bin/python -m pip install --quiet --disable-pip-version-check \
  --constraint kit/constraints.txt --requirement kit/requirements.txt

# What cannot be graded here fails now, and not when the first student hands in.
/autograder/venv/bin/python kit/grade.py kit/kernels_ref/sm100/step01_single_tile.py --steps 1

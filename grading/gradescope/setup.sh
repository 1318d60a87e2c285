#!/usr/bin/env bash
# Gradescope executes this once, as root, when it builds the image of the autograder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# The sandbox of the hand-ins is bubblewrap where the image has it; else Landlock and seccomp, which need nothing.
if ! command -v bwrap > /dev/null && command -v apt-get > /dev/null; then
  (apt-get update -qq && apt-get install -y -qq bubblewrap) > /dev/null || echo "no bubblewrap; going on without it"
fi
python3 -c 'import venv, ensurepip' 2> /dev/null || apt-get install -y -qq python3-venv > /dev/null

# Grading needs no PyTorch, no CUDA and no GPU.
python3 -m venv /autograder/venv
/autograder/venv/bin/python -m pip install --quiet --disable-pip-version-check \
  --constraint kit/constraints.txt --requirement kit/requirements.txt

"""Programs of the tests of the language."""

from __future__ import annotations

from pathlib import Path

import pytest

from .programs import Programs


@pytest.fixture
def programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Programs:
    return Programs(tmp_path, capsys)

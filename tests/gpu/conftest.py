"""These tests need a Hopper GPU; without one they are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from tirx_mini.hardware import HOPPER
    from utils import has_gpu

    without = not has_gpu(HOPPER.name)
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if without:
                item.add_marker(pytest.mark.skip(reason="needs a Hopper GPU"))

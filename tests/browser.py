"""A headless Chromium, and axe-core, for tests of pages. The fixtures are those of every test, through conftest.py.

The tests need the system's Chromium or Chrome, and `npm ci` in `web/timeline`; those of the slides also in `slides`.
Without them they are skipped, except where BROWSER_TESTS=required says that they must run, as `.ci/run` does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parents[1] / "web" / "timeline"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCREEN = {"width": 1280, "height": 720}
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe-core about colours that it applies by default."""


def missing(what: str) -> None:
    """Skip, or fail where the tests are required."""
    if os.environ.get("BROWSER_TESTS") == "required":
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """What `npm ci` installed."""
    if not (WEB / "node_modules" / "axe-core").is_dir():
        missing("npm ci in web/timeline")
    return WEB / "node_modules"


@pytest.fixture(scope="session")
def axe(node_modules: Path) -> str:
    """The script of axe-core."""
    return (node_modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's browser, without a sandbox, which root has none of."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        missing("Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def violations(page: Any, axe: str, colours: bool = False) -> list[str]:
    """The findings of axe-core on a page, by its rules of every level and its best practices.

    colours: by its rules about colours alone, for another scheme of a page that all of them were applied to.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe)
    # It describes each element that a rule was applied to, thousands of them, unless it reports violations alone.
    options = {"resultTypes": ["violations"], **({"runOnly": COLOURS} if colours else {})}
    found = page.evaluate("(options) => axe.run(options)", options)["violations"]
    return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]

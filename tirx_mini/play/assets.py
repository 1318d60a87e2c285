"""The static files: a table that is read once, so that no request names a file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from tirx_mini.records import dataclass

INDEX = "index.html"
NONCE = "{{nonce}}"
"""The placeholder in `INDEX` for the nonce of a response."""
_TYPES = {
    ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".json": "application/json", ".md": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}  # fmt: skip
_MISSING = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>tirx play</title>
<p>The page is not built: run <code>npm ci &amp;&amp; npm run build</code> in <code>web/play</code>.</p></html>
"""


@dataclass(frozen=True)
class Asset:
    content: bytes
    media_type: str


def assets(folder: Path | None = None) -> Mapping[str, Asset]:
    """Return the static files by the path of a request: the page is "/", the others are "/assets/NAME".

    folder: by default the package's. Links and folders in it are left out.
    """
    folder = folder or Path(str(files(__package__ or "") / "assets"))
    found = {"/": Asset(_MISSING, _TYPES[".html"])}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink() or not path.is_file():
            continue
        asset = Asset(path.read_bytes(), _TYPES.get(path.suffix, "application/octet-stream"))
        found["/" if path.name == INDEX else f"/assets/{path.name}"] = asset
    return found

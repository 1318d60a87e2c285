"""One run as a page of its own: the served page with its script, its style and the recorded events inside.

The page needs no server and may connect to nobody. It has names in the place of paths, no token, and of a drill no
more than the run has told.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from .assets import NONCE, Asset
from .findings import Data
from .problems import PlayError

_SCRIPT = re.compile(r'<script\b[^>]*\bsrc="/assets/([\w.-]+)"[^>]*></script>\n?')
_STYLE = re.compile(r'<link\b[^>]*\bhref="/assets/([\w.-]+)"[^>]*>\n?')
_POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_LEFT_OUT = frozenset({"progress", "drill"})
_NOT_RECORDED = {"text", "digest", "modules"}


def exported(session: Mapping[str, Any], text: str, events: Iterable[Data], static: Mapping[str, Asset]) -> str:
    """Return the page of a run. session: as the page receives it. Raises `PlayError` if the page is not built."""
    index = static["/"].content.decode("utf-8")
    scripts, styles = _SCRIPT.findall(index), _STYLE.findall(index)
    if not scripts or not {f"/assets/{name}" for name in (*scripts, *styles)} <= set(static):
        raise PlayError("the page is not built, so there is none to export: run `make web` in a checkout")
    recorded = {
        "session": {
            **{name: value for name, value in session.items() if name not in _NOT_RECORDED}, "text": text, "digest": "",
            "modules": [], "writable": False, "automatic": False, "missing": [], "course": False,
        },
        "text": text,
        "events": [event for event in events if event["event"] not in _LEFT_OUT],
    }  # fmt: skip
    nonce = secrets.token_urlsafe(16)
    style = "\n".join(_asset(static, name) for name in styles).replace("</style", "<\\/style")
    script = "\n".join(_asset(static, name) for name in scripts).replace("</script", "<\\/script")
    head = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(nonce)}">\n'
    head += f'<style nonce="{nonce}">{style}</style>\n'
    tail = f'<script id="recorded" type="application/json">{_in_html(recorded)}</script>\n'
    tail += f'<script nonce="{nonce}">{script.replace("<!--", "<" + chr(92) + "!--")}</script>\n'
    page = _STYLE.sub("", _SCRIPT.sub("", index)).replace(NONCE, nonce)
    page = _inserted(page, '<meta charset="utf-8">\n', head)
    return _inserted(page, "</body>", tail, before=True)


def _asset(static: Mapping[str, Asset], name: str) -> str:
    return static[f"/assets/{name}"].content.decode("utf-8")


def _inserted(page: str, mark: str, more: str, before: bool = False) -> str:
    first, found, rest = page.rpartition(mark) if before else page.partition(mark)
    if not found:
        raise PlayError(f"the page has no {mark.strip()}, so it cannot be exported")
    return f"{first}{more}{found}{rest}" if before else f"{first}{found}{more}{rest}"


def _in_html(value: object) -> str:
    """Return JSON without a character that ends or opens anything in HTML."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

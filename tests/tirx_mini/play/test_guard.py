"""Whatever does not come from the user's page is refused: each attack is a test, over a socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tirx_mini.play.serving import Page
from tirx_mini.play.assets import assets

EVIL = "evil.example"
ROUTES = [("GET", "/session"), ("POST", "/kernels"), ("POST", "/run"), ("POST", "/save"), ("GET", "/nothing")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("token", [None, "Bearer", "Bearer 0", "Basic {}", "Bearer {}0", "bearer\t{}", "{}"])
def test_every_route_asks_for_the_token(page: Page, method: str, path: str, token: str | None) -> None:
    value = None if token is None else token.format(page.server.token)
    status, headers, body = page.request(method, path, {}, {"Authorization": value})
    assert status == 401 and "token" in json.loads(body)["error"]
    assert "www-authenticate" not in headers and "set-cookie" not in headers


def test_the_token_has_32_random_bytes_and_no_page_shows_it(page: Page) -> None:
    assert len(bytes.fromhex(page.server.token)) == 32
    for path in page.studio.static:
        assert page.server.token.encode() not in page.request("GET", path)[2]


@pytest.mark.parametrize("path", ["/", "/session"])
@pytest.mark.parametrize("host", [
    EVIL, f"{EVIL}:8000", "127.0.0.1.evil.example", "localhost.evil.example", "", "0.0.0.0", "127.0.0.2", "localhost.",
    "[::2]", "localhost@evil.example",
])  # fmt: skip
def test_a_name_that_leads_here_is_refused(page: Page, path: str, host: str) -> None:
    """DNS rebinding: a page of evil.example whose name now has the address of this machine."""
    assert page.request("GET", path, headers={"Host": host})[0] in (400, 403)


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LocalHost:80", "[::1]:9", "[::1]"])
def test_each_name_of_this_machine_is_answered(page: Page, host: str) -> None:
    assert page.request("GET", "/", headers={"Host": host})[0] == 200


def test_two_hosts_are_refused(page: Page) -> None:
    answer = page.raw(f"GET / HTTP/1.1\r\nHost: {page.host}\r\nHost: {EVIL}\r\nConnection: close\r\n\r\n".encode())
    assert b" 400 " in answer.splitlines()[0] or b" 403 " in answer.splitlines()[0]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{}", "http://{}.evil"]
)
@pytest.mark.parametrize("path", ["/run", "/save", "/kernels"])
def test_a_page_of_another_origin_is_refused(page: Page, origin: str, path: str) -> None:
    """Also one of another port of this machine, and even with the token."""
    status, headers, _ = page.request("POST", path, {}, {"Origin": origin.format(page.host)})
    assert status == 403
    assert not any(name.startswith("access-control") for name in headers)


def test_the_own_page_is_of_the_same_origin(page: Page) -> None:
    assert page.post("/kernels", {"text": ""}, headers={"Origin": f"http://{page.host}"})[0] == 200


def test_a_preflight_is_refused(page: Page) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST", "Authorization": None}
    status, answered, _ = page.request("OPTIONS", "/run", headers=headers)
    assert status == 403 and not any(name.startswith("access-control") for name in answered)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_the_browser_calls_another_site_is_refused(page: Page, site: str) -> None:
    assert page.request("GET", "/session", headers={"Sec-Fetch-Site": site})[0] == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_a_form_cannot_be_sent(page: Page, kind: str | None) -> None:
    assert page.request("POST", "/run", {}, {"Content-Type": kind})[0] == 415


def test_a_body_is_at_most_a_mebibyte_whatever_its_length_says(page: Page) -> None:
    text = json.dumps({"text": "#" * (1 << 20)}).encode()
    assert page.request("POST", "/kernels", text)[0] == 413
    head = (
        f"POST /kernels HTTP/1.1\r\nHost: {page.host}\r\nAuthorization: Bearer {page.server.token}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    chunk = f"{1 << 19:x}\r\n".encode() + b"#" * (1 << 19) + b"\r\n"
    assert b" 413 " in page.raw(head.encode() + 2 * chunk + b"1\r\n#\r\n0\r\n\r\n").splitlines()[0]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b"[" * 100_000, b'{"text": 7}', b'{"text": "\\ud800"}', b"\xff"]
)
def test_a_body_that_is_no_object_is_a_bad_request(page: Page, body: bytes) -> None:
    status, answer = page.post("/kernels", body)
    assert status == 400 and answer["error"]


@pytest.mark.parametrize("path", [
    "/../pyproject.toml", "/assets/../guard.py", "/assets/..%2fguard.py", "/assets/%2e%2e/guard.py",
    "/%2e%2e/%2e%2e/etc/passwd", "/assets/guard.py", "/assets/", "/assets//etc/passwd", "//etc/passwd",
    "/assets/play.js%00.txt", "/assets/%00", "/%2f", "/assets/link.js", "/etc/passwd", "/index.html",
    "/assets/index.html", "/\\..\\guard.py", "/%252e%252e/guard.py",
])  # fmt: skip
def test_no_path_leads_out_of_the_table(page: Page, path: str) -> None:
    assert page.request("GET", path)[0] == 404
    assert page.request("GET", path, headers={"Authorization": None})[0] == 401


def test_a_nul_in_a_path_is_no_path(page: Page) -> None:
    answer = page.raw(f"GET /assets/\0 HTTP/1.1\r\nHost: {page.host}\r\nConnection: close\r\n\r\n".encode())
    assert answer.splitlines()[0].split()[1] in (b"400", b"401")


def test_links_in_the_folder_of_assets_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "link.js").symlink_to(tmp_path / "secret")
    (folder / "play.js").write_text("1")
    (folder / "index.html").write_text("<script nonce='{{nonce}}'>")
    (folder / "folder.js").mkdir()
    assert set(assets(folder)) == {"/", "/assets/play.js"}


@pytest.mark.parametrize(("method", "path", "token"), [
    ("GET", "/", True), ("GET", "/session", True), ("GET", "/session", False), ("GET", "/nothing", True),
    ("POST", "/run", False),
])  # fmt: skip
def test_every_answer_has_the_headers_that_close_a_page_off(page: Page, method: str, path: str, token: bool) -> None:
    _, headers, _ = page.request(method, path, {}, {} if token else {"Authorization": None})
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy and "http" not in policy
    assert not {"set-cookie", "server", "access-control-allow-origin"} & set(headers)


def test_each_page_has_a_nonce_of_its_own(page: Page) -> None:
    nonces = set()
    for _ in range(2):
        _, headers, body = page.request("GET", "/")
        nonce = headers["content-security-policy"].partition("script-src 'nonce-")[2].partition("'")[0]
        assert len(nonce) >= 20 and b"{{nonce}}" not in body
        nonces.add(nonce)
    assert len(nonces) == 2


def test_a_static_file_is_only_read(page: Page) -> None:
    assert page.request("POST", "/", {})[0] == 405
    assert page.request("GET", "/run")[0] == 405
    assert page.request("PUT", "/save", {})[0] == 405


@pytest.mark.parametrize("field", ["kernel", "gpu", "want"])
def test_markup_in_a_field_comes_back_as_json_alone(page: Page, field: str) -> None:
    body: dict[str, Any] = {"text": "", "kernel": "f", "asked": True, field: "<img src=x onerror=alert(1)>"}
    status, headers, content = page.request("POST", "/run", body)
    assert status == 400 and headers["content-type"] == "application/json"
    assert isinstance(json.loads(content)["error"], str)


def test_a_websocket_is_refused(page: Page) -> None:
    answer = page.raw((
        f"GET /run HTTP/1.1\r\nHost: {page.host}\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode())  # fmt: skip
    assert answer.splitlines()[0].split()[1] in (b"400", b"401", b"403")

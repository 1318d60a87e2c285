"""In a browser, a page of another port of this machine neither reads the server's answers nor causes anything."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.tirx_mini.play.serving import Page

ATTACKS = {
    "a request with the token": "fetch(url + 'save', {method: 'POST', body, headers})",
    "a simple request": "fetch(url + 'save', {method: 'POST', mode: 'no-cors', body})",
    "a request of JSON": "fetch(url + 'save', {method: 'POST', mode: 'no-cors', body: new Blob([body], {type: json})})",
    "an answer": "fetch(url + 'session', {headers: {Authorization: headers.Authorization}})",
    "the page itself": "fetch(url)",
    "its script": """new Promise((done, fail) => {
        const script = document.createElement('script');
        Object.assign(script, {src: url + 'assets/play.js', onload: () => done({type: 'basic'}), onerror: fail});
        document.head.append(script);
    })""",
    "its frame": """new Promise((done) => {
        const frame = document.createElement('iframe');
        Object.assign(frame, {src: url, onload: () => done({type: frame.contentDocument ? 'basic' : 'opaque'})});
        document.body.append(frame);
    })""",
}
"""Expressions for the attacker's page: a promise of an answer, which is readable if its type is not opaque."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """A page of another port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_page_of_another_port_gets_nothing(page: Page, elsewhere: str, browser: Any, attack: str) -> None:
    before = page.studio.source.path.read_bytes()
    context = browser.new_context()
    attacker = context.new_page()
    attacker.goto(elsewhere)
    script = f"""async ([url, token, digest]) => {{
        const json = 'application/json', headers = {{Authorization: 'Bearer ' + token, 'Content-Type': json}};
        const body = JSON.stringify({{text: 'attacked', digest}});
        try {{
            const answer = await {ATTACKS[attack]};
            return answer.type;
        }} catch (error) {{
            return 'refused';
        }}
    }}"""
    digest = page.get("/session")[1]["digest"]
    found = attacker.evaluate(script, [f"http://{page.host}/", page.server.token, digest])
    assert found in ("refused", "opaque")
    assert page.studio.source.path.read_bytes() == before
    context.close()


def test_the_users_page_has_no_token_in_its_address_and_asks_only_its_server(page: Page, browser: Any) -> None:
    if "/assets/play.js" not in page.studio.static:
        pytest.skip("the page is not built")
    context = browser.new_context()
    user = context.new_page()
    wrong: list[str] = []
    hosts: set[str] = set()
    user.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    user.on("pageerror", lambda error: wrong.append(str(error)))
    user.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    user.goto(f"http://{page.host}/#token={page.server.token}")
    user.get_by_text("hgemm_v4: ok").first.wait_for()
    assert user.url == f"http://{page.host}/" and hosts == {page.host} and wrong == []
    context.close()

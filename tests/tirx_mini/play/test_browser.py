"""In a browser, a page of another port of this machine neither reads the server's answers nor causes anything."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.tirx_mini.play.serving import Page
from tirx_mini.course import STEPS
from tirx_mini.play.asked import MOST_SIZE

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


CROPPED = """(title) => {
    const kernel = document.getElementById('kernel');
    kernel.options[kernel.selectedIndex].text = title;
    const cropped = (each) => {
        if (each.tagName !== 'SELECT') return each.scrollWidth > each.clientWidth;
        const whole = each.cloneNode(false); // as wide as the chosen option asks for
        whole.append(each.selectedOptions[0].cloneNode(true));
        whole.style.cssText = 'max-width: none; width: max-content; position: absolute';
        each.after(whole);
        const wide = whole.offsetWidth;
        whole.remove();
        return wide > each.offsetWidth;
    };
    const all = [...document.querySelectorAll('header select, header input, header button')];
    return [...all.filter(cropped).map((each) => each.id), document.documentElement.scrollWidth - innerWidth];
}"""
"""The ids of the head's controls whose texts are cropped, and by how many pixels the page is too wide."""


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_head_crops_no_kernel_size_or_number_of_sms(page: Page, browser: Any, width: int, height: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    user = context.new_page()
    user.goto(f"http://{page.host}/#token={page.server.token}")
    user.wait_for_selector("html[data-ready]")
    for axis in "mnk":
        user.fill(f"#size-{axis}", str(MOST_SIZE))
    user.fill("#sms", "148")
    title = max((f"hgemm_v{number}: {step.title} (open)" for number, step in STEPS.items()), key=len)
    assert user.evaluate(CROPPED, title) == [0]
    context.close()

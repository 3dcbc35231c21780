"""The app behind nginx, as docs/how-to/server.md says: its headers hold strangers off and keep nothing from working."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import go_to, new_window, settle
from tests.support.nginx import nginx
from tests.support.serving import free_port

pytestmark = pytest.mark.browser
PAGES = (
    "Train",
    "Pretrain",
    "Compare",
    "Try",
    "Split",
    "Translations",
    "Encoders",
    "Evidence",
    "Glossary",
    "Data",
)


@pytest.fixture
def proxied(app_url: str, tmp_path: Path) -> Iterator[str]:
    """The address of an nginx in front of the app."""
    port = free_port()
    with nginx(app_url, port, tmp_path):
        yield f"http://127.0.0.1:{port}"


@pytest.mark.slow
def test_every_page_works_behind_the_proxy_and_no_other_site_may_frame_it(
    browser: Browser, proxied: str, tmp_path: Path
) -> None:
    context = new_window(browser)
    page = context.new_page()
    refused: list[str] = []
    sockets: list[str] = []
    page.on(
        "console", lambda line: refused.append(line.text) if "Content Security Policy" in line.text else None
    )
    page.on("pageerror", lambda error: refused.append(str(error)))
    page.on("websocket", lambda opened: sockets.append(opened.url))
    answer = page.goto(f"{proxied}/data")
    assert answer is not None
    headers = answer.headers
    assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
    settle(page)
    upload = tmp_path / "hotel.csv"  # first, so that no page computes on the whole demo set
    upload.write_text("text,intent,language\nwhere is the pool,pool,en\na towel please,towel,en\n", "utf-8")
    page.locator('input[type="file"]').set_input_files(upload)
    page.get_by_role("heading", name="hotel.csv", level=2).wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    for name in PAGES:
        go_to(page, name)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        if name == "Compare":  # a script of ours comes with its maps
            page.locator(".js-plotly-plot").first.wait_for()
            settle(page)
    assert refused == []
    assert {address.split("/")[2] for address in sockets} == {proxied.split("/")[2]}
    framed = context.new_page()
    with framed.expect_event("requestfailed") as failed:
        framed.set_content(f'<iframe src="{proxied}"></iframe>')
    assert failed.value.url == f"{proxied}/" and failed.value.failure == "net::ERR_BLOCKED_BY_RESPONSE"

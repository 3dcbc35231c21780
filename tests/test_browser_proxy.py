"""The app behind nginx, as docs/how-to/server.md says: its headers hold strangers off and keep nothing from working."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from conftest import PATIENCE_MS, go_to, settle
from playwright.sync_api import Browser

from tests.pages import DOCS, blocks

pytestmark = pytest.mark.browser
NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
PAGES = ("Train", "Pretrain", "Workbench", "Split", "Translations", "Encoders", "Evidence", "Data")


@pytest.fixture
def proxied(app_url: str, tmp_path: Path) -> Iterator[str]:
    """The address of an nginx with the page's lines in front of the app."""
    if NGINX is None:
        pytest.skip("no nginx on the PATH: apt-get install nginx-light")
    (block,) = [block for block in blocks(DOCS / "how-to/server.md") if block.language == "nginx"]
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    folders = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    location = block.text.replace("http://127.0.0.1:8501", app_url)
    file = tmp_path / "nginx.conf"
    file.write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\nevents {{}}\n"
        f"http {{ access_log off;\n{folders}server {{ listen 127.0.0.1:{port}; {location} }} }}"
    )
    with subprocess.Popen([NGINX, "-p", tmp_path, "-c", file]) as server:
        try:
            until = time.monotonic() + PATIENCE_MS / 1000
            while time.monotonic() < until and server.poll() is None:
                with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/_stcore/health"):
                    break
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def test_every_page_works_behind_the_proxy_and_no_other_site_may_frame_it(
    browser: Browser, proxied: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
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
        assert page.get_by_test_id("stException").count() == 0
    assert refused == []
    assert {address.split("/")[2] for address in sockets} == {proxied.split("/")[2]}
    framed = context.new_page()
    framed.set_content(f'<iframe src="{proxied}"></iframe>')
    framed.wait_for_load_state("networkidle")
    assert "chrome-error://" in framed.frames[1].url
    context.close()

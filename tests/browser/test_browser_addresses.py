"""Addresses and the server's own messages: in a real browser, on the real app."""

import re
from pathlib import Path

import pytest
import streamlit
from playwright.sync_api import Page, expect

from tests.support.browser import Small, see_address, visit

pytestmark = pytest.mark.browser


def test_the_workbench_has_an_address_like_other_pages(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, "workbench", data=small.data)
    expect(page).to_have_title("Workbench - Emu")
    see_address(page, data=small.data)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_stopped_server_names_the_command_of_the_app(page: Page, app_url: str, small: Small) -> None:
    message = (
        "Is Streamlit still running? If you accidentally stopped Streamlit, just restart it in your terminal:"
    )
    command = "streamlit run yourscript.py"
    scripts = (Path(streamlit.__file__).parent / "static" / "static" / "js").glob("index.*.js")
    assert any(message in script and command in script for script in (s.read_text("utf-8") for s in scripts))
    visit(page, app_url, "data", data=small.data)
    page.evaluate(
        """texts => {
            const dialog = document.body.appendChild(document.createElement('div'))
            dialog.setAttribute('role', 'dialog')
            for (const text of texts) dialog.appendChild(document.createElement('p')).textContent = text
        }""",
        [message, command],
    )
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The app has stopped.")
    expect(dialog.get_by_text("emu app", exact=True)).to_be_visible()
    expect(dialog).not_to_contain_text(re.compile("streamlit", re.IGNORECASE))

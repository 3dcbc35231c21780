"""Addresses and the server's own messages: in a real browser, on the real app."""

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
import streamlit
from playwright.sync_api import Page, expect

from tests.support.browser import LateAnswers, Small, go_to, pick_option, see_address, settle, visit
from tests.support.stored_set import stored_set

pytestmark = pytest.mark.browser
LAST_ON_PAGE = "What the words mean"


@pytest.mark.slow
def test_the_first_page_has_an_address_like_others(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, "workbench", data=small.data)
    expect(page).to_have_title("Compare - Emu")
    see_address(page, data=small.data)
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def untrained(runs_folder: Path, small: Small, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of data that no run was trained on."""
    file = tmp_path_factory.mktemp("data") / "untrained.csv"
    small.labelled.frame.iloc[1:].to_csv(file, index=False)
    return stored_set(runs_folder, file)


@pytest.mark.slow
def test_the_address_keeps_a_view_whose_page_gains_a_line_above_it(
    page: Page, app_url: str, small: Small, untrained: str
) -> None:
    visit(page, app_url, "data", data=untrained)
    go_to(page, "Compare")
    field = page.get_by_label("Try a sentence")
    expect(field).to_be_visible()
    pick_option(page.get_by_role("combobox", name=re.compile("^B")), small.run)
    expect(page.get_by_role("button", name=f"Open the data that {small.run} was trained on")).to_be_visible()
    expect(page.get_by_text(re.compile("^Trust in the maps.* B:"))).to_have_count(1)
    settle(page)
    view = {"try-sentence": "Wo ist der Pool?", "explore-morph": "true", "explore-density": "true"}
    field.fill(view["try-sentence"])
    field.press("Enter")
    see_address(page, **{"try-sentence": view["try-sentence"]})
    page.get_by_role("button", name="More").click()
    page.locator(".st-key-map-more-settings").get_by_text("Density", exact=True).click()
    settle(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Play before → after").click()
    see_address(page, **view)
    page.reload()
    settle(page)
    expect(field).to_have_value(view["try-sentence"])
    expect(page.get_by_role("button", name="Show both maps")).to_be_visible()
    see_address(page, **view)


def choose(page: Page, label: str, option: str) -> None:
    pick_option(page.get_by_role("combobox", name=re.compile(f"^{label}")), option)


@pytest.mark.slow
def test_a_choice_stays_though_an_older_page_comes_after_it(
    page: Page, app_url: str, small: Small, untrained: str
) -> None:
    late = LateAnswers(page)
    visit(page, app_url, "workbench", data=untrained, b="none")
    expect(page.get_by_label("Try a sentence")).to_be_visible()
    late.hold()
    choose(page, "Measured on", "all sentences")
    older = late.wait_for(LAST_ON_PAGE)
    choose(page, "B", small.run)
    late.wait_for(LAST_ON_PAGE, 2)
    late.give(older)
    choose(page, "Measured on", "test sentences")
    late.wait_for(urlencode({"b": f"run:{small.run}", "a": "use", "on": "test"}))


def test_back_opens_the_tab_that_was_open(page: Page, app_url: str, small: Small) -> None:
    visit(page, app_url, "data", data=small.data)
    before, after = "Label more sentences", "What is in it"
    for name in (before, after):
        page.get_by_role("tab", name=name).click()
        see_address(page, part=name)
        settle(page)
    page.go_back()
    expect(page.get_by_role("tab", name=before)).to_have_attribute("aria-selected", "true")
    see_address(page, part=before)


def test_one_press_of_back_is_one_page_whatever_defaults_the_pages_wrote(
    page: Page, app_url: str, small: Small
) -> None:
    visit(page, app_url, data=small.data)
    expect(page.get_by_role("tab", name="Neighbours")).to_be_visible()  # the last to write into the address
    for name in ("Data", "Train", "Try"):
        go_to(page, name)
        see_address(page, data=small.data)
    for name in ("Train", "Data", "Compare"):
        page.go_back()
        expect(page.get_by_role("heading", name=name, level=1, exact=True)).to_be_attached()
        settle(page)

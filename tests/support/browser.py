"""A window of a real browser on the real app: visit a page, and wait for what it shows."""

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

if TYPE_CHECKING:
    from emu_core.data.sets import LabelledSet

RESEARCH = ("Pretrain", "Split", "Translations", "Evidence", "Encoders")  # pages behind one button
GLOSSARY = "What the words mean"  # what the link to the page Glossary says
PATIENCE_MS = 180_000  # how long a condition may take to come true on a busy machine
OPENINGS = 20  # how often a list is opened that the page closes by moving


class Small(NamedTuple):
    """A finished run among the app's runs."""

    run: str
    data: str  # the name of its data among the app's
    labelled: "LabelledSet"


def new_window(browser: Browser, color_scheme: Literal["light", "dark"] = "light") -> BrowserContext:
    """Open a window of somebody who wants no animations, whose every frame is drawn by the CPU.

    It is closed with the browser: to close a window whose page is still loading, as after signing out, never ended
    in some runs of Chromium 156.
    """
    context = browser.new_context(
        viewport={"width": 1400, "height": 1000},
        color_scheme=color_scheme,
        reduced_motion="reduce",
        accept_downloads=True,
    )
    context.set_default_timeout(PATIENCE_MS)
    return context


def visit(page: Page, app_url: str, name: str = "", **choices: str) -> None:
    """Open a page of the app by its address with these choices, and wait until it is drawn."""
    page.goto(f"{app_url}/{name}?{urlencode(choices)}")
    settle(page)


def settle(page: Page) -> None:
    """Wait until the app has drawn the page and runs no script."""
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.locator('[data-testid="stMain"] h1').first.wait_for()


def see(place: Page | Locator, text: str | re.Pattern[str], **options: Any) -> None:
    """Wait until a text is seen; the options are those of `get_by_text`.

    It may be there twice for a moment: what a run of the page replaces stays until the run ends.
    """
    expect(place.get_by_text(text, **options).first).to_be_visible()


def pick_option(box: Locator, option: str | re.Pattern[str]) -> None:
    """Open the list of a box and click one of its options, whose whole name a string is.

    A list closes when the page scrolls. It is told of a scroll a frame later, so that the click that scrolls to a box
    may open a list and close it.
    """
    page = box.page
    wanted = page.get_by_role("option", name=option, exact=True)
    for _ in range(OPENINGS):
        box.scroll_into_view_if_needed()
        _draw_frames(page)
        if box.get_attribute("aria-expanded") != "true":
            box.click()
            _draw_frames(page)
        if wanted.is_visible():
            break
    wanted.click()


def _draw_frames(page: Page) -> None:
    """Wait until the browser has drawn two frames, and so has told of what was scrolled before."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def see_address(page: Page, **choices: str) -> None:
    """Wait until the page's address has all these choices, whatever else it has."""
    each = (f"(?=.*[?&]{re.escape(urlencode({name: value}))}(&|$))" for name, value in choices.items())
    expect(page).to_have_url(re.compile("".join(each)))


_LATE = """
(() => {
    const held = window.held = {on: false, answers: []}
    const late = handle => function (event) {
        const answer = {text: new TextDecoder().decode(event.data), give: () => handle.call(this, event)}
        if (held.on) held.answers.push(answer)
        else answer.give()
    }
    const {get, set} = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage')
    Object.defineProperty(WebSocket.prototype, 'onmessage', {get, set(handle) { set.call(this, late(handle)) }})
    const add = WebSocket.prototype.addEventListener
    WebSocket.prototype.addEventListener = function (type, handle, ...rest) {
        add.call(this, type, type === 'message' ? late(handle) : handle, ...rest)
    }
})()
"""


class LateAnswers:
    """A slow connection: from `hold` on, the page receives of the app's answers only what it is given.

    It can't be given many runs of the script at once: after two, Streamlit's page forgets what it has cached.
    """

    def __init__(self, page: Page) -> None:
        """Prepare a page, before it is visited."""
        self._page = page
        page.add_init_script(_LATE)

    def hold(self) -> None:
        """Keep every answer from now on."""
        self._page.evaluate("held.on = true")

    def wait_for(self, text: str, times: int = 1) -> int:
        """Wait until this many of the held answers have a text; return how many answers are held."""
        having = (
            "([text, times]) => held.answers.filter(answer => answer.text.includes(text)).length >= times"
        )
        self._page.wait_for_function(having, arg=[text, times])
        count: int = self._page.evaluate("held.answers.length")
        return count

    def give(self, count: int) -> None:
        """Give the page the first answers that are held."""
        self._page.evaluate("count => held.answers.splice(0, count).forEach(answer => answer.give())", count)


def go_to(page: Page, name: str) -> None:
    """Press the link to another page of the app and wait until it is drawn."""
    link = page.get_by_role("link", name=GLOSSARY if name == "Glossary" else name, exact=True)
    if name in RESEARCH:
        page.get_by_role("button", name=re.compile("^Research")).click()
    link.click()
    page.get_by_role("heading", name=name, level=1, exact=True).wait_for()
    settle(page)


def ask_in_the_other_languages(page: Page, small: Small) -> None:
    """Type a held-out sentence of the set on the workbench, and ask its translations, too."""
    field, frame = page.get_by_label("Try a sentence"), small.labelled.frame
    field.fill(frame["text"][frame["split"] == "test"].iloc[0])
    field.press("Enter")
    page.get_by_text("Ask it in the other languages").click()
    expect(page.get_by_role("table", name="The right intent is").get_by_role("row")).to_have_count(4)


def pick_all(page: Page, wanted: str) -> None:
    """Search the workbench's sentences, pick all that are found, and wait for their figures."""
    for field, text in (
        ("Try a sentence", ""),
        ("Search", wanted),
    ):  # a typed sentence has the picked ones' place
        box = page.get_by_role("textbox", name=field)
        box.fill(text)
        box.press("Enter")
        settle(page)
    page.get_by_role("button", name=re.compile("Pick all")).click()
    page.mouse.move(0, 0)  # the button's help, which Streamlit draws beside the page, closes
    see(page, re.compile("^Nearest neighbours right, of (these|the )"))

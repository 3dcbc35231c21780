"""The film and the pictures of the app in README: `python -m tools.film URL`, of an app with the demo run.

`make app` serves one. The map before training turns into the one after it. Then a sentence is typed and lands on both
maps, with lines to its neighbours; and one of the set is typed, and asked in the other languages.
"""

import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from emu_core.cli.doctor import find_browser

DOCS = Path(__file__).parents[1] / "docs"
SENTENCES = ("Mein Koffer ist noch nicht da.", "Kann ich meinen Pudel bis 18 Uhr waschen lassen?")
WIDE, HIGH = 1440, 900  # of the window
SCALE = 2 / 3  # of the film
_TYPED_MS, _HELD_MS, _LETTERS = 90, 3_500, 3  # a frame has this many more letters
_TURNED_MS, _STEPS = 90, 30  # of the map that turns
_LANDED = """sentence => {
    const graph = document.querySelector('.st-key-explore-map:not([data-retained]) .js-plotly-plot')
    const stars = graph._fullData.filter(trace => trace.name === 'emu mark' && trace.marker?.symbol === 'star')
    return stars.length === 2 && new URLSearchParams(location.search).get('try-sentence') === sentence
}"""


def main(url: str) -> None:
    """Draw `docs/workbench.png`, `docs/play.webp`, `docs/neighbours.png` and `docs/ask.webp`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, reduced_motion="reduce")
        page.set_default_timeout(180_000)
        page.goto(url)
        _wait(page)
        (DOCS / "workbench.png").write_bytes(_small(page.screenshot()))
        _write(_play(page), "play.webp")
        page.locator(".st-key-example-0 button").filter(visible=True).click()
        expect(page.get_by_text("Picked: 1 sentence")).to_be_visible()
        _wait(page)
        _scroll(page)
        (DOCS / "neighbours.png").write_bytes(_small(page.screenshot()))
        page.get_by_role("button", name="Clear", exact=True).click()
        expect(page.get_by_text("Picked:")).to_have_count(0)
        frames = [frame for sentence in SENTENCES for frame in _type(page, sentence)]
        frames += _ask_in_the_other_languages(page)
        browser.close()
    _write(frames, "ask.webp")


def _write(frames: list[tuple[bytes, int]], name: str) -> None:
    """Write a film of pictures, each with its time in milliseconds."""
    pictures = [_picture(png) for png, _ in frames]
    pictures[0].save(
        DOCS / name,
        save_all=True,
        append_images=pictures[1:],
        duration=[held_ms for _, held_ms in frames],
        loop=0,
        quality=60,
        method=6,
    )


def _play(page: Page) -> list[tuple[bytes, int]]:
    """Return the frames of the map before training that turns into the one after it, drawn by its slider."""
    page.get_by_role("button", name="Play before → after").click()
    graph = page.locator(".st-key-explore-morphing")
    rail = graph.locator(".slider-rail-rect")
    rail.wait_for()
    _wait(page)
    graph.scroll_into_view_if_needed()
    box = rail.bounding_box()
    if box is None:
        raise RuntimeError("the slider is not drawn")
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 1, height)
    page.mouse.down()
    frames = []
    for place in range(_STEPS + 1):
        page.mouse.move(box["x"] + 1 + (box["width"] - 2) * place / _STEPS, height)
        page.wait_for_timeout(400)  # plotly draws a step some time later
        frames.append((graph.screenshot(), _TURNED_MS if 0 < place < _STEPS else _HELD_MS // 2))
    page.mouse.up()
    page.get_by_role("button", name="Show both maps").click()
    _wait(page)
    return frames


def _type(page: Page, sentence: str) -> list[tuple[bytes, int]]:
    """Return the frames of a sentence that is typed and lands, each with its time in milliseconds."""
    _scroll(page)
    field = page.get_by_label("Try a sentence")
    field.fill("")
    frames = []
    for start in range(0, len(sentence), _LETTERS):
        field.press_sequentially(sentence[start : start + _LETTERS])
        frames.append((page.screenshot(), _TYPED_MS))
    field.press("Enter")
    page.wait_for_function(_LANDED, arg=sentence)
    page.get_by_text("has the predicted intent").first.wait_for()  # one where A and B name the same
    _wait(page)
    return [*frames, (page.screenshot(), _HELD_MS)]


def _ask_in_the_other_languages(page: Page) -> list[tuple[bytes, int]]:
    """Return the frame of the same sentence in all languages of the set."""
    page.get_by_text("Ask it in the other languages").click()
    page.get_by_role("table", name="The right intent is").wait_for()
    _wait(page)
    return [(page.screenshot(), 2 * _HELD_MS)]


def _wait(page: Page) -> None:
    """Wait until everything is drawn: the maps are final, and no script runs."""
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    expect(page.get_by_test_id("stProgress")).to_have_count(0, timeout=180_000)
    page.wait_for_timeout(1_500)  # plotly draws its figure some time later


def _scroll(page: Page) -> None:
    page.locator(".st-key-space").evaluate("space => space.scrollIntoView()")


def _picture(png: bytes) -> Image.Image:
    picture = Image.open(BytesIO(png)).convert("RGB")
    return picture.resize((int(picture.width * SCALE), int(picture.height * SCALE)))


def _small(png: bytes) -> bytes:
    """Return a picture in 256 colours."""
    out = BytesIO()
    Image.open(BytesIO(png)).convert("RGB").quantize(256).save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main(sys.argv[1])

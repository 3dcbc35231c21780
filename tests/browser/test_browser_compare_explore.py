"""Triples compared and points picked with the mouse: in a real browser, on the real app."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, Download, Page, expect

from emu_app.workbench.drawer import groups_of_tabs
from emu_core.charts.style import LIGHT
from tests.support.browser import (
    Small,
    ask_in_the_other_languages,
    go_to,
    new_window,
    pick_all,
    pick_option,
    see,
    see_address,
    settle,
    visit,
)

pytestmark = pytest.mark.browser

# The chart that is seen: Streamlit keeps one that another replaces for a while, hidden.
CHART = ".st-key-explore-map:not([data-retained])"
GRAPH = f"document.querySelector('{CHART} .js-plotly-plot')"
# Where the first trace's points of a panel stand on the screen, and which rows they are.
POINTS = f"""axis => {{
    const graph = {GRAPH}, layout = graph._fullLayout
    const x = layout[axis.replace('x', 'xaxis')], y = layout[axis.replace('x', 'yaxis')]
    const box = graph.getBoundingClientRect()
    const traces = graph._fullData.filter(trace => trace.xaxis === axis && trace.customdata)
    return traces.flatMap(t => Array.from(t.customdata, (row, i) => ({{
        row: Number(row), x: box.left + x._offset + x.l2p(t.x[i]), y: box.top + y._offset + y.l2p(t.y[i]),
        chosen: (t.selectedpoints ?? []).includes(i),
    }})))
}}"""


@pytest.fixture(scope="module")
def refined(window: BrowserContext, app_url: str, small: Small) -> None:
    """The run's maps are laid out for good: otherwise another figure would replace the first while a test looks."""
    page = window.new_page()
    visit(page, app_url, data=small.data)
    until_refined(page)
    page.close()


@pytest.fixture
def opened(page: Page, app_url: str, small: Small, refined: None) -> Page:
    """The workbench with the run and its own data, drawn."""
    visit(page, app_url, data=small.data)
    expect(page.get_by_role("combobox", name=re.compile("^B"))).to_have_value(small.run)
    until_refined(page)
    until_drawn(page, f"g.emuTold && document.querySelectorAll('{CHART} .js-plotly-plot').length === 1")
    return page


def open_tab(page: Page, name: str) -> None:
    either = re.compile(f"^({groups_of_tabs()[name]}|{name})$")  # a tab that is alone is its group's
    page.get_by_role("tab", name=either).first.click()
    page.get_by_role("tab", name=name, exact=True).last.click()
    see_address(page, tab=name)
    settle(page)


def press(page: Page, option: str) -> None:
    page.get_by_role("radio", name=option, exact=True).click()


def set_more(page: Page, option: str) -> None:
    """Press one of the settings that are under *More*."""
    more = page.get_by_role("button", name="More")
    more.click()
    page.locator(".st-key-map-more-settings").get_by_text(option, exact=True).click()
    settle(page)
    page.keyboard.press("Escape")


def until_drawn(page: Page, condition: str, argument: object = None) -> None:
    """Wait until a condition on the map's figure holds: a new figure comes some time after the page's text."""
    page.wait_for_function(
        f"argument => {{ const g = {GRAPH}; return g?._fullLayout && ({condition}) }}", arg=argument
    )


def until_refined(page: Page) -> None:
    """Wait until the maps are the final ones, and drawn."""
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    expect(page.get_by_text(re.compile("^Trust in the maps.* B:"))).to_have_count(1)
    settle(page)


def until_standing_out(page: Page, rows: Collection[int]) -> None:
    """Wait until the points of these rows, and no others, stand out on both maps."""
    for axis in ("x", "x2"):
        chosen = f"({POINTS})('{axis}').filter(point => point.chosen).map(point => point.row)"
        until_drawn(page, f"String({chosen}.sort((a, b) => a - b)) === String(argument)", sorted(rows))


def points(page: Page, axis: str) -> list[dict[str, Any]]:
    until_drawn(page, f"({POINTS})('{axis}').length")
    found: list[dict[str, Any]] = page.evaluate(POINTS, axis)
    return found


def download(page: Page, button: str) -> Download:
    settle(page)  # a file that is made on demand belongs to one run of the page
    with page.expect_download() as started:
        buttons = page.get_by_test_id("stDownloadButton").get_by_role("button", name=button)
        buttons.filter(visible=True).first.click()
    return started.value


def content(download: Download) -> bytes:
    return Path(download.path()).read_bytes()


@pytest.mark.slow
def test_a_triple_is_typed_and_compared(opened: Page) -> None:
    go_to(opened, "Try")
    picture = opened.locator(".st-key-triple-picture .js-plotly-plot")
    expect(picture.get_by_text("closest")).to_have_count(2)
    expect(picture.get_by_text("1.00 closest")).to_have_count(0)
    field = opened.get_by_label("One sentence a line")
    same = "When does the pool open?\nWhen does the pool open?\nFrom when on can we swim?"
    field.fill(same)
    field.press("ControlOrMeta+Enter")
    see(opened, "Both encoders are wrong.")
    expect(picture.get_by_text("1.00 closest")).to_have_count(2)

    go_to(opened, "Train")
    go_to(opened, "Try")  # what was typed is kept
    expect(field).to_have_value(same)
    opened.reload()
    settle(opened)
    expect(field).to_have_value(same)


@pytest.mark.slow
def test_the_address_holds_the_view(opened: Page, small: Small) -> None:
    open_tab(opened, "Changed neighbours")
    pick_option(opened.get_by_role("combobox", name="Measured on"), "train sentences")
    see(opened, "seen in training")
    settle(opened)
    see_address(opened, a="use", b=f"run:{small.run}", on="train", tab="Changed neighbours")
    opened.go_back()
    expect(opened.get_by_role("combobox", name="Measured on")).to_have_value("test sentences")
    settle(opened)
    opened.go_forward()
    expect(opened.get_by_role("combobox", name="Measured on")).to_have_value("train sentences")


@pytest.mark.slow
def test_tables_go_out_as_csv(opened: Page, small: Small) -> None:
    open_tab(opened, "Changed neighbours")
    opened.get_by_role("button", name=re.compile("^changed")).click()
    opened.get_by_role("button", name=re.compile("^unchanged")).click()
    see(opened, "108 sentences; a sentence's own translations")
    rows = list(csv.DictReader(io.StringIO(content(download(opened, "Download as CSV")).decode("utf-8-sig"))))
    test = small.labelled.select(splits=["test"]).frame
    assert sorted(row["sentence"] for row in rows) == sorted(test["text"])
    assert {row["change"] for row in rows} <= {"fixed", "broken", "changed", "unchanged"}


def test_a_lasso_fills_the_table(opened: Page, small: Small) -> None:
    set_more(opened, "Lasso")
    until_drawn(opened, "g._fullLayout.dragmode === 'lasso'")
    until_drawn(opened, f"({POINTS})('x').length === argument", len(small.labelled))
    before = points(opened, "x")
    across = sorted(point["x"] for point in before)
    left, some = across[0], across[len(across) // 4 : -len(across) // 4]
    # The line goes through the widest gap around the middle, so that nobody stands on it.
    middle = max((after - now, (now + after) / 2) for now, after in pairwise(some))[1]
    high, low = min(point["y"] for point in before) - 8, max(point["y"] for point in before) + 8
    inside = {point["row"] for point in before if point["x"] < middle}
    opened.mouse.move(left - 8, high)
    opened.mouse.down()
    for x, y in ((middle, high), (middle, low), (left - 8, low), (left - 8, high)):
        opened.mouse.move(x, y, steps=12)
    opened.mouse.up()
    see(opened, f"Picked: {len(inside)} sentences")
    until_standing_out(opened, inside)
    rows = list(csv.DictReader(io.StringIO(content(download(opened, "Download as CSV")).decode("utf-8-sig"))))
    assert sorted(row["text"] for row in rows) == sorted(small.labelled.frame["text"].iloc[list(inside)])

    opened.get_by_role("button", name="Clear").click()
    expect(opened.get_by_text("Picked:")).to_have_count(0)
    until_standing_out(opened, ())


@pytest.mark.slow
def test_all_that_a_search_finds_are_picked_and_measured_beside_all(opened: Page, small: Small) -> None:
    frame = small.labelled.frame
    rows = np.flatnonzero(frame["text"].str.contains("pool", case=False)).tolist()
    measured = [row for row in rows if frame["split"].iloc[row] == "test"]
    assert 0 < len(measured) < len(rows)
    pick_all(opened, "pool")
    see(opened, f"Picked: {len(rows)} sentences")
    until_standing_out(opened, rows)
    figures = opened.get_by_text(
        re.compile(f"^Nearest neighbours right, of the {len(measured)} of them that are measured")
    )
    expect(figures).to_have_text(re.compile(r": A \d+ %, B \d+ %; of all 108 sentences: A \d+ %, B \d+ %\."))
    found = list(
        csv.DictReader(io.StringIO(content(download(opened, "Download as CSV")).decode("utf-8-sig")))
    )
    by_text = {row["text"]: row for row in found}
    right = [
        sum(
            by_text[frame["text"].iloc[row]][f"{name} finds"] == frame["intent"].iloc[row] for row in measured
        )
        for name in ("A", "B")
    ]
    shares = [f"{100 * count / len(measured):.0f}" for count in right]
    expect(figures).to_contain_text("A {} %, B {} %; of all".format(*shares))
    tables = opened.locator(".st-key-space").get_by_test_id(
        "stDataFrame"
    )  # what is confused, and the sentences
    expect(tables).to_have_count(1 + int(right != [len(measured)] * 2))
    opened.get_by_role("button", name="Clear", exact=True).click()
    expect(figures).to_have_count(0)
    expect(tables).to_have_count(0)
    until_standing_out(opened, ())


@pytest.mark.slow
def test_a_click_brings_neighbours_by_both_encoders(opened: Page, small: Small) -> None:
    opened.locator(CHART).evaluate("chart => chart.scrollIntoView({block: 'center'})")
    everyone = points(opened, "x2")

    def alone(point: dict[str, Any]) -> float:
        return min(
            abs(point["x"] - other["x"]) + abs(point["y"] - other["y"])
            for other in everyone
            if other is not point
        )

    target = max(everyone, key=alone)
    text = small.labelled.frame["text"].iloc[target["row"]]
    opened.mouse.move(target["x"], target["y"])
    expect(opened.locator(f"{CHART} .hoverlayer")).to_contain_text(text[:40])
    opened.mouse.click(target["x"], target["y"])
    see(opened, text, exact=True)
    # Rings around it and its neighbours on both maps, right ones and wrong ones.
    marks = "g._fullData.filter(t => t.name === 'emu mark' && t.mode === 'markers' && t.xaxis === argument)"
    for axis in ("x", "x2"):
        until_drawn(opened, f"{marks}.reduce((sum, t) => sum + t.x.length, 0) === 11", axis)
    for title in ("A: USE multilingual", f"B: {small.run}"):
        see(opened, re.compile(rf"^{title}: \d+ of 10 have the same intent"))


# What part of each map is seen.
RANGES = "['xaxis', 'yaxis', 'xaxis2', 'yaxis2'].map(axis => g._fullLayout[axis].range)"


def ranges(page: Page) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(f"(g => {RANGES})({GRAPH})")
    return found


def until_seen(page: Page, part: list[list[float]]) -> None:
    """Wait until this part of each map is seen."""
    until_drawn(page, f"String({RANGES}) === String(argument)", part)


def middle_point(page: Page) -> dict[str, Any]:
    """The point nearest to the middle of the right map as it is seen: there it stays when the map is zoomed."""
    box = page.locator(f"{CHART} .nsewdrag").last.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return min(points(page, "x2"), key=lambda point: (point["x"] - x) ** 2 + (point["y"] - y) ** 2)


@pytest.mark.slow
def test_picking_points_keeps_the_zoom(opened: Page) -> None:
    whole = ranges(opened)
    opened.locator(CHART).scroll_into_view_if_needed()
    target = middle_point(opened)
    opened.mouse.move(target["x"], target["y"])
    opened.mouse.wheel(0, 300)  # the page's, as long as the map has no focus
    opened.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 0")
    until_seen(opened, whole)
    opened.get_by_role("application", name=re.compile("Map of sentences")).focus()
    target = middle_point(opened)
    opened.mouse.move(target["x"], target["y"])
    # Plotly tells of a new layout when a wheel has come to its end.
    opened.evaluate(f"{GRAPH}.once('plotly_relayout', () => {{ window.still = true }})")
    opened.mouse.wheel(0, -600)
    until_drawn(opened, "window.still")
    width = 0.95 * (whole[2][1] - whole[2][0])
    until_drawn(opened, "g._fullLayout.xaxis2.range[1] - g._fullLayout.xaxis2.range[0] < argument", width)
    zoomed = ranges(opened)
    for _ in range(2):  # the same point can be picked again
        target = middle_point(opened)
        opened.mouse.move(target["x"], target["y"])
        expect(
            opened.locator(f"{CHART} .hoverlayer .hovertext")
        ).to_be_visible()  # plotly knows the point under the mouse
        opened.mouse.click(target["x"], target["y"])
        see(opened, "Picked: 1 sentence")
        until_standing_out(opened, [target["row"]])
        until_seen(opened, zoomed)
        opened.get_by_role("button", name="Clear").click()
        expect(opened.get_by_text("Picked:")).to_have_count(0)
        until_standing_out(opened, ())
        until_seen(opened, zoomed)
    set_more(opened, "Lasso")
    until_drawn(opened, "g._fullLayout.dragmode === 'lasso'")
    until_seen(opened, zoomed)


def said(page: Page, small: Small) -> int:
    """Wait until a screen reader is told of one sentence on the map, and return its row."""
    starts = [text[:80] for text in small.labelled.frame["text"]]
    found = page.wait_for_function(
        """([chart, starts]) => {
            const said = document.querySelector(`${chart} [aria-live]`)?.textContent
            const rows = said ? starts.flatMap((start, row) => (said.startsWith(start) ? [row] : [])) : []
            return rows.length === 1 && { row: rows[0] }
        }""",
        arg=[CHART, starts],
    )
    row: int = found.json_value()["row"]
    return row


@pytest.mark.slow
def test_colours_and_filters_change_on_the_maps_that_are_there(opened: Page, small: Small) -> None:
    opened.evaluate(f"{GRAPH}.first = true")  # of a chart mounted anew it is not
    opened.get_by_role("application", name=re.compile("Map of sentences")).focus()
    opened.keyboard.press("ArrowRight")
    picked = [said(opened, small)]
    opened.keyboard.press("Enter")
    until_standing_out(opened, picked)
    before = ranges(opened)
    for colour in ("language", "intent"):
        press(opened, colour)
        groups = small.labelled.languages if colour == "language" else small.labelled.intents
        until_drawn(
            opened,
            "g.first && String([...new Set(g._fullData.filter(t => t.customdata).map(t => t.legendgroup))].sort())"
            " === String(argument)",
            sorted(groups),
        )
        until_standing_out(opened, picked)
        until_seen(opened, before)
    search = opened.get_by_role("textbox", name="Search")
    search.fill("pool")
    search.press("Enter")
    until_drawn(opened, "g.first && g._fullData.some(trace => trace.name === 'filtered out')")
    search.fill("")
    search.press("Enter")
    until_drawn(opened, "g.first && !g._fullData.some(trace => trace.name === 'filtered out')")
    until_standing_out(opened, picked)
    press(opened, "language")
    # One above the other, as on a phone, and beside each other again.
    opened.set_viewport_size({"width": 390, "height": 844})
    until_drawn(opened, "g._fullLayout.yaxis2.domain[1] < g._fullLayout.yaxis.domain[0]")
    until_drawn(opened, "g._fullLayout.xaxis._length > 300 && g._fullLayout.xaxis2._length > 300")
    until_drawn(opened, "g._fullLayout.yaxis2._offset > g._fullLayout.yaxis._offset + 200")
    opened.wait_for_function("document.documentElement.scrollWidth <= 390")
    opened.set_viewport_size({"width": 1400, "height": 1000})
    until_drawn(opened, "g._fullLayout.xaxis2.domain[0] > g._fullLayout.xaxis.domain[1]")


@pytest.mark.slow
def test_groups_are_lit_in_the_browser_alone(opened: Page, small: Small) -> None:
    """By the legend, by the mouse and by the keyboard; the app is not asked."""
    lit = """g.querySelector('.emu-lit') ? [...(ctx => {
        const {data} = ctx.getImageData(0, 0, ctx.canvas.width, ctx.canvas.height), found = new Set()
        for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255)
            found.add('#' + [0, 1, 2].map(k => data[at + k].toString(16).padStart(2, '0')).join('').toUpperCase())
        return found
    })(g.querySelector('.emu-lit').getContext('2d'))] : []"""
    dimmed = "g.querySelector('.gl-container').style.filter.includes('grayscale')"
    legend = opened.get_by_role("group", name=re.compile("^Legend"))
    counts = small.labelled.frame["intent"].value_counts()
    names = sorted(counts.index, key=lambda intent: (-counts[intent], intent))
    expect(legend.get_by_role("button", pressed=False)).to_have_text(
        [f"{name} {counts[name]}" for name in names]
    )
    opened.evaluate(
        "() => { const send = WebSocket.prototype.send; window.sent = 0;"
        " WebSocket.prototype.send = function (data) { window.sent += 1; return send.call(this, data) } }"
    )
    first, second = (legend.get_by_role("button", name=f"{name} {counts[name]}") for name in names[:2])
    first.hover()
    until_drawn(opened, f"{dimmed} && ({lit}).includes(argument)", LIGHT.palette[0])
    opened.mouse.move(0, 0)
    until_drawn(opened, f"!{dimmed} && !g.querySelector('.emu-lit')")
    first.click()
    second.click()
    opened.mouse.move(0, 0)
    expect(legend.get_by_role("button", pressed=True)).to_have_count(2)
    until_drawn(opened, f"{dimmed} && argument.every(colour => ({lit}).includes(colour))", LIGHT.palette[:2])
    until_drawn(opened, f"!({lit}).includes(argument)", LIGHT.palette[2])
    legend.get_by_role("button", name="Show all").click()
    until_drawn(opened, f"!{dimmed}")
    target = middle_point(opened)
    opened.mouse.move(target["x"], target["y"])
    until_drawn(opened, f"{dimmed} && ({lit}).length")
    opened.mouse.move(0, 0)
    until_drawn(opened, f"!{dimmed}")
    assert opened.evaluate("window.sent") == 0


@pytest.mark.slow
def test_maps_go_out_as_png_svg_and_html(opened: Page, small: Small, tmp_path: Path) -> None:
    opened.get_by_role("button", name="More").click()
    assert content(download(opened, "PNG")).startswith(b"\x89PNG\r\n\x1a\n")
    svg = download(opened, "SVG")
    assert svg.suggested_filename == "emu-tsne.svg"
    assert ET.fromstring(content(svg)).tag.endswith("svg")  # noqa: S314 - our own file
    page_file = tmp_path / "map.html"
    page_file.write_bytes(content(download(opened, "HTML")))
    alone = opened.context.new_page()
    alone.route(re.compile("^https?://"), lambda route: route.abort())  # it needs no network
    alone.goto(page_file.as_uri())
    titles = alone.locator(".js-plotly-plot .annotation-text")
    expect(titles.first).to_have_text("A: USE multilingual before training, t-SNE")
    expect(titles.nth(1)).to_have_text(f"B: {small.run} after training, t-SNE")


@pytest.mark.slow
def test_maps_are_refined_in_view(opened: Page, app_url: str) -> None:
    stop = opened.get_by_test_id("stButton").get_by_role("button", name="Stop")
    port = app_url.rpartition(":")[2]
    [server] = [child for child in psutil.Process().children() if port in child.cmdline()]
    helpers = server.children()
    for helper in helpers:  # so that the maps are not there before somebody looks
        helper.suspend()
    try:
        press(opened, "UMAP")
        expect(stop).to_be_visible()
    finally:
        for helper in helpers:
            helper.resume()
    until_drawn(opened, "g._fullLayout.annotations[0].text.endsWith('UMAP')")
    until_refined(opened)
    expect(stop).to_have_count(0)


@pytest.mark.slow
def test_points_are_reached_and_picked_with_the_keyboard(opened: Page, small: Small) -> None:
    maps = opened.get_by_role("application", name=re.compile("Map of sentences"))
    maps.focus()
    passed = []
    for _ in range(4):
        opened.keyboard.press("ArrowRight")
        passed.append(said(opened, small))
    assert len(set(passed)) > 1
    opened.keyboard.press("Enter")
    see(opened, "Picked: 1 sentence")
    until_standing_out(opened, passed[-1:])
    # Its intent stays coloured on both maps; a cleared pick colours all of them again.
    same = int((small.labelled.frame["intent"] == small.labelled.frame["intent"].iloc[passed[-1]]).sum())
    in_focus = "g._fullData.filter(t => t.name === 'emu focus' && t.xaxis === argument[0])"
    coloured = f"{in_focus}.reduce((sum, t) => sum + t.x.length, 0) === argument[1]"
    for axis in ("x", "x2"):
        until_drawn(opened, coloured, [axis, same])
    opened.get_by_role("button", name="Clear", exact=True).click()
    until_drawn(opened, coloured, ["x", 0])


@pytest.mark.slow
def test_a_link_restores_colour_filters_search_and_what_is_picked_or_typed(
    opened: Page, small: Small, browser: Browser
) -> None:
    set_more(opened, "PCA")
    press(opened, "language")
    see_address(opened, **{"explore-pca": "true", "explore-colour": "language"})
    pick_option(opened.get_by_role("combobox", name="Languages", exact=True), "Japanese")
    opened.keyboard.press("Escape")
    see(opened, "The filters leave 108 of 324 sentences.")
    search = opened.get_by_role("textbox", name="Search")
    search.fill("the")
    search.press("Enter")
    see(opened, re.compile("The filters leave [0-9]{1,2} of 324|No sentence passes"))
    search.fill("")
    search.press("Enter")
    see(opened, "The filters leave 108 of 324 sentences.")
    until_drawn(opened, f"({POINTS})('x').length === 108")  # on a map without points no key finds one
    opened.get_by_role("application", name=re.compile("Map of sentences")).focus()
    opened.keyboard.press("ArrowRight")
    row = said(opened, small)
    opened.keyboard.press("Enter")
    see(opened, "Picked: 1 sentence")
    expect(opened).to_have_url(re.compile(rf"picked=\w+\.{row}(&|$)"))
    shared = new_window(browser).new_page()
    shared.goto(opened.url)
    settle(shared)
    expect(shared.get_by_role("radio", name="language", exact=True)).to_be_checked()
    until_drawn(shared, "g._fullLayout.annotations[0].text.endsWith('PCA')")
    see(shared, "The filters leave 108 of 324 sentences.")
    see(shared, "Picked: 1 sentence")
    see(shared, small.labelled.frame["text"].iloc[row], exact=True)
    shared.context.close()

    go_to(opened, "Train")
    go_to(opened, "Compare")  # what is picked is kept by links between pages, too
    see(opened, "Picked: 1 sentence")
    opened.get_by_role("button", name="Clear", exact=True).click()
    typed = opened.get_by_label("Try a sentence")
    typed.fill("Kann ich meinen Hund mitbringen?")
    typed.press("Enter")
    see_address(opened, **{"try-sentence": "Kann ich meinen Hund mitbringen?"})
    until_drawn(
        opened, "g._fullData.filter(t => t.name === 'emu mark' && t.marker?.symbol === 'star').length === 2"
    )


@pytest.mark.slow
def test_a_sentence_is_asked_in_the_other_languages_on_both_maps(opened: Page, small: Small) -> None:
    ask_in_the_other_languages(opened, small)
    see_address(opened, **{"ask-languages": "true"})
    marks = "g._fullData.filter(t => t.name === 'emu mark' && t.customdata && t.xaxis === argument)"
    notes = "g._fullLayout.annotations.filter(note => note.name === 'emu mark' && note.xref === argument)"
    written = f"{notes}.flatMap(note => note.text.match(/\\b(de|en|ja)\\b/g)).sort()"

    def until_marked(page: Page) -> None:
        for axis in ("x", "x2"):
            until_drawn(page, f"{marks}.reduce((sum, t) => sum + t.x.length, 0) === 3", axis)
            until_drawn(page, f"String({written}) === 'de,en,ja'", axis)

    until_marked(opened)
    press(opened, "language")  # another figure, on which they stay
    until_drawn(opened, "g._fullData.some(t => t.legendgroup === 'ja')")
    until_marked(opened)
    opened.reload()  # as by a link
    see(opened, re.compile(r"^B is right in \d of 3 languages"))
    until_marked(opened)
    opened.get_by_text("Ask it in the other languages").click()
    until_drawn(opened, "!g._fullLayout.annotations.some(note => note.name === 'emu mark')")
    until_drawn(
        opened, "g._fullData.filter(t => t.name === 'emu mark' && t.marker?.symbol === 'star').length === 2"
    )


@pytest.mark.slow
def test_one_map_turns_into_the_other_and_goes_out_as_a_page(opened: Page, tmp_path: Path) -> None:
    opened.get_by_role("button", name="Play before → after").click()
    see_address(opened, **{"explore-morph": "true"})
    opened.reload()  # as by a link
    graph = "document.querySelector('.st-key-explore-morphing .js-plotly-plot')"
    last = f"{graph}?._fullLayout?.sliders?.[0].steps.length - 1"
    opened.wait_for_function(f"() => {last} > 0 && {graph}._transitionData._frames.length === {last} + 1")

    def until_at(condition: str) -> None:
        opened.wait_for_function(
            f"() => {{ const at = {graph}._fullLayout.sliders[0].active; return {condition} }}"
        )

    opened.get_by_text("Play", exact=False).first.click()
    until_at("at > 0")
    until_at(f"at === {last}")
    trail = f"{graph}._fullData.find(t => t.mode === 'lines')"
    moved = f"Array.from({trail}.x).some((x, i, all) => i % 3 === 1 && x !== all[i - 1])"
    opened.wait_for_function(f"() => {trail}.x.length > 2 && {moved}")
    # Its frame is in view on all sides.
    opened.wait_for_function(
        f"""() => {{
            const all = {graph}.getBoundingClientRect()
            return [...{graph}.querySelectorAll('.xlines-above, .ylines-above')].every(line => {{
                const {{left, right, top, bottom}} = line.getBoundingClientRect()
                return left > all.left && right < all.right && top > all.top && bottom < all.bottom
            }})
        }}"""
    )
    opened.get_by_role("button", name="More").click()
    with opened.expect_download() as info:
        opened.get_by_role("button", name="Download it as HTML").click()
    opened.keyboard.press("Escape")
    page = tmp_path / "page.html"
    info.value.save_as(page)
    offline = opened.context.new_page()
    offline.goto(page.as_uri())
    offline.get_by_text("Play", exact=False).first.wait_for()
    offline.close()
    opened.get_by_role("button", name="Show both maps").click()
    opened.wait_for_function(f"() => {GRAPH}?._fullData?.some(trace => trace.customdata?.length)")

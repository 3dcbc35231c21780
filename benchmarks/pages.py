"""Measure how long one user waits in a browser for pages, the workbench's maps, a colour, a filter, a typed sentence.

    python -m benchmarks.pages RUNS [--data FILE] [--all] [--times 3]

RUNS is a folder with a finished run, such as `make app` leaves, or with several. With --data a labelled file is
uploaded first and shown in the workbench, with --all all of its sentences, by PCA, and not only 5,000. The server is
warm: every page has been opened once. Prints one JSON object: medians in seconds, each with its ratio to the page of
the encoders, which computes nothing; of the pages that show a run, the slowest one. A page is painted when its heading
appears, and whole when its script has ended.
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from benchmarks.load import served
from emu_app.panels.maps import FIRST_POINTS
from emu_core.cli.doctor import find_browser

PAGES = ("data", "train", "try", "pretrain", "translations", "split", "bench", "encoders")
WHEN = ("painted", "whole")
LIGHTEST = "encoders whole"
PATIENCE_MS = 600_000
GRAPH = "document.querySelector('.st-key-explore-map:not([data-retained]) .js-plotly-plot')"
POINTS = f"{GRAPH}?._fullData?.some(trace => trace.customdata?.length)"
REFINED = (
    "!document.querySelector('[data-testid=stProgress]') && /Trust in the maps/.test(document.body.innerText)"
)
# The number of points on both maps.
DRAWN = f"({GRAPH}?._fullData ?? []).reduce((sum, trace) => sum + (trace.customdata?.length ?? 0), 0)"
COLOURS = f"JSON.stringify({GRAPH}._fullData.map(trace => trace.name))"
# The typed sentence stands on each map.
STARS = (
    f"JSON.stringify(({GRAPH}?._fullData ?? []).filter(t => t.name === 'emu mark' && t.marker?.symbol === 'star')"
    ".map(t => [t.x[0], t.y[0]]))"
)
MAPS = f"new Set({GRAPH}._fullData.filter(t => t.customdata?.length).map(t => t.xaxis)).size"
ANSWERED = f"before => {STARS} !== before && JSON.parse({STARS}).length === {MAPS}"
TYPED = (
    "Kann ich meinen Hund mitbringen?",
    "Where is the pool?",
    "¿A qué hora es el desayuno?",
    "駅はどこですか",
)
# A chart of other places takes the place of the last one: for a moment there is none.
CHANGED = f"before => {GRAPH}?._fullData && {COLOURS} !== before"


def open_page(page: Page, address: str) -> tuple[float, float]:
    """Open an address, wait until its script has ended, and return the seconds until its heading and until the end."""
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator('[data-testid="stMain"] h1').wait_for(state="attached")
    painted = time.perf_counter() - start
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    return painted, time.perf_counter() - start


def measure(page: Page, address: str, workbench: str, times: int) -> dict[str, float]:
    """Return medians in seconds; `workbench` is the address of the workbench with its choices."""
    found: dict[str, list[float]] = {}
    for _ in range(times):
        for name in PAGES:
            for when, taken in zip(WHEN, open_page(page, f"{address}/{name}"), strict=True):
                found.setdefault(f"{name} {when}", []).append(taken)
        start = time.perf_counter()
        page.goto(workbench)
        for name, condition in (("first maps", POINTS), ("final maps", REFINED)):
            page.wait_for_function(f"() => {condition}")
            found.setdefault(name, []).append(time.perf_counter() - start)
        for colour in ("language", "intent"):
            before = page.evaluate(COLOURS)
            start = time.perf_counter()
            page.get_by_role("radio", name=colour, exact=True).click()
            page.wait_for_function(CHANGED, arg=before)
            found.setdefault("another colour", []).append(time.perf_counter() - start)
        search = page.get_by_role("textbox", name="Search")
        for words in ("a", ""):
            before = page.evaluate(COLOURS)
            search.fill(words)
            start = time.perf_counter()
            search.press("Enter")
            page.wait_for_function(CHANGED, arg=before)
            found.setdefault("another filter", []).append(time.perf_counter() - start)
        field = page.get_by_label("Try a sentence")
        for number, sentence in enumerate(TYPED):  # the first one fits the classifiers
            before = page.evaluate(STARS)
            field.fill(sentence)
            start = time.perf_counter()
            field.press("Enter")
            page.wait_for_function(ANSWERED, arg=before)
            if number:
                found.setdefault("a typed sentence", []).append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in found.items()}


def measure_runs(page: Page, address: str, runs: list[str], times: int) -> dict[str, float]:
    """Return, for each run, the medians in seconds of the page that is slowest while it shows this run."""
    slowest: dict[str, float] = {}
    for run in runs:
        named = {"b": f"run:{run}", "watched": run, "pretrain-watched": run, "bench-watched": run, "run": run}
        taken: dict[tuple[str, str], list[float]] = {}
        for turn in range(times + 1):  # the first is not counted
            for name in ("", *PAGES):
                both = open_page(page, f"{address}/{name}?{urlencode(named)}")
                for when, seconds in zip(WHEN, both, strict=True):
                    if turn:
                        taken.setdefault((when, name or "workbench"), []).append(seconds)
        for when in WHEN:
            medians = {of[1]: statistics.median(each) for of, each in taken.items() if of[0] == when}
            name = max(medians, key=medians.__getitem__)
            slowest[f"{run}: slowest {when}, {name}"] = medians[name]
    return slowest


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long one user waits in a browser.")
    parser.add_argument("runs", type=Path, help="a folder with a finished run")
    parser.add_argument(
        "--data", type=Path, help="a labelled file for the workbench; without it the demo set"
    )
    parser.add_argument("--all", action="store_true", help="draw all sentences of the workbench's data")
    parser.add_argument("--times", type=int, default=3, help="repetitions of each measurement")
    arguments = parser.parse_args()
    with served(arguments.runs) as (host, _), sync_playwright() as playwright:
        address = f"http://{host}"
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        for name in PAGES:
            open_page(page, f"{address}/{name}")
        if arguments.data:
            open_page(page, f"{address}/data")
            page.locator('input[type="file"]').set_input_files(arguments.data)
            page.get_by_role("heading", name=arguments.data.name, level=2).wait_for()
        start = time.perf_counter()
        page.get_by_role("link", name="Compare").click()
        if arguments.all:
            page.get_by_text("sentences, which takes longer").click()
            page.wait_for_function(f"() => {DRAWN} > {2 * FIRST_POINTS}")
            page.get_by_role("button", name="More").click()
            page.get_by_text("PCA", exact=True).click()  # which takes no minutes
            page.wait_for_function(f"() => {GRAPH}?._fullLayout?.annotations?.[0].text.endsWith('PCA')")
        page.wait_for_function(f"() => {REFINED}")
        once = {"encoded and laid out, once": time.perf_counter() - start}
        found = measure(page, address, page.url, arguments.times) | once
        runs = sorted(config.parent.name for config in arguments.runs.glob("*/config.json"))
        found |= measure_runs(page, address, runs, arguments.times)
        browser.close()
    report = {
        name: {"seconds": round(taken, 2), "ratio": round(taken / found[LIGHTEST], 1)}
        for name, taken in found.items()
    }
    print(json.dumps({"load_average": os.getloadavg()[0], **report}, indent=1))


if __name__ == "__main__":
    main()

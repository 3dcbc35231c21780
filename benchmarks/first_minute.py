"""Measure how long a newcomer waits: `emu app` in an empty folder, from the first request to headline, bars and maps.

    python -m benchmarks.first_minute [--times 5]

Prints the median of each. The targets, on two cores with nothing else to do: headline and bars within 2 s, both maps
within 4 s, without a click. The server first listens, as it does for somebody who opens the address that it prints.
Needs Chromium.
"""

import argparse
import json
import os
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from benchmarks.load import served
from emu_core.cli.doctor import find_browser

PATIENCE_MS = 300_000
MAPS = "document.querySelector('.st-key-explore-map .js-plotly-plot')?._fullLayout?.annotations?.length >= 2"


def waited(page: Page, address: str) -> dict[str, float]:
    """Return the seconds from the request to each part of the first screen."""
    found, start = {}, time.perf_counter()
    page.goto(address)
    page.locator(".st-key-headline h2").wait_for()
    found["headline"] = time.perf_counter() - start
    page.get_by_role("table").first.wait_for()
    found["bars"] = time.perf_counter() - start
    page.wait_for_function(f"() => {MAPS}")
    found["both maps"] = time.perf_counter() - start
    return found


def of_a_new_server() -> dict[str, float]:
    """Return the seconds until a server in a new folder listens, and from then on to each part of the first screen."""
    start = time.perf_counter()
    with (
        TemporaryDirectory() as folder,
        served(Path(folder) / "runs") as (host, _),
        sync_playwright() as playwright,
    ):
        started = time.perf_counter() - start
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        seconds = {"server listens": started} | waited(page, f"http://{host}")
        browser.close()
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long a newcomer waits for the first screen.")
    parser.add_argument("--times", type=int, default=5, help="new servers, one after another")
    load, times = os.getloadavg()[0], parser.parse_args().times
    report = [of_a_new_server() for _ in range(times)]
    medians = {name: round(median(one[name] for one in report), 2) for name in report[0]}
    print(json.dumps({"load_average": load, "times": times, **medians}, indent=1))


if __name__ == "__main__":
    main()

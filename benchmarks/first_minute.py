"""Measure how long a newcomer waits: `emu app` in an empty folder, from the first request to headline, bars and maps.

    python -m benchmarks.first_minute [--times 5]

Beside it, in turn, a page of Streamlit with a heading, a table and a chart of three points: nothing that Streamlit
shows comes sooner on this machine. Prints the medians. The targets, on two cores with nothing else to do: headline and
bars within 2 s, both maps within 4 s, without a click. The server first listens, as it does for somebody who opens the
address that it prints. Needs Chromium.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from benchmarks.load import free_host, served, until_it_listens
from emu_core.cli.doctor import find_browser

PATIENCE_MS = 300_000
CHART = "document.querySelector('.st-key-{} .js-plotly-plot')?._fullLayout?.annotations?.length >= 2"
OURS = (".st-key-headline h2", CHART.format("explore-map"))
BARE = ("h1", CHART.format("chart"))
BARE_PAGE = """
import plotly.graph_objects as go
import streamlit as st

st.title("A heading")
st.html("<table><tr><td>1</td></tr></table>")
chart = go.Figure(go.Scattergl(x=[1, 2, 3], y=[1, 2, 3], mode="markers"))
st.plotly_chart(chart.add_annotation(text="a", x=1, y=1).add_annotation(text="b", x=2, y=2), key="chart")
"""


def waited(host: str, headline: str, chart: str) -> dict[str, float]:
    """Return the seconds from the request to the headline, to the first table, and to the chart."""
    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        start = time.perf_counter()
        page.goto(f"http://{host}")
        page.locator(headline).wait_for()
        found["headline"] = time.perf_counter() - start
        page.get_by_role("table").first.wait_for()
        found["bars"] = time.perf_counter() - start
        page.wait_for_function(f"() => {chart}")
        found["both maps"] = time.perf_counter() - start
        browser.close()
    return found


def of_a_new_server() -> dict[str, float]:
    """Return the seconds until a server in a new folder listens, and from then on to each part of the first screen."""
    start = time.perf_counter()
    with TemporaryDirectory() as folder, served(Path(folder) / "runs") as (host, _):
        return {"server listens": time.perf_counter() - start} | waited(host, *OURS)


@contextmanager
def bare() -> Iterator[str]:
    """Serve the page of nothing but a heading, a table and a chart within the block; yield host and port."""
    host = free_host()
    with TemporaryDirectory() as folder:
        page = Path(folder) / "bare.py"
        page.write_text(BARE_PAGE)
        command = [sys.executable, "-m", "streamlit", "run", str(page), "--server.headless", "true"]
        command += ["--server.port", host.partition(":")[2]]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            until_it_listens(server, host)
            yield host
        finally:
            server.terminate()
            server.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long a newcomer waits for the first screen.")
    parser.add_argument("--times", type=int, default=5, help="new servers of each kind, in turn")
    load, times = os.getloadavg()[0], parser.parse_args().times
    ours, of_bare = [], []
    for _ in range(times):
        ours.append(of_a_new_server())
        with bare() as host:
            of_bare.append(waited(host, *BARE))
    report = {"load_average": load, "times": times, "emu app": _medians(ours), "bare page": _medians(of_bare)}
    print(json.dumps(report, indent=1))


def _medians(seconds: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(median(one[name] for one in seconds), 2) for name in seconds[0]}


if __name__ == "__main__":
    main()

"""Measure how long three libraries take to draw two maps in a browser, and to recolour all of their points.

    npm pack embedding-atlas; tar xzf embedding-atlas-*.tgz; npm install @deck.gl/core @deck.gl/layers
    python -m benchmarks.drawing FOLDER [--times 3]

FOLDER is where these commands ran. Plotly is that of the installed package. Each draws two panels of the same N points,
first in 24 colours, then in 6, and back; embedding-atlas in two views. Prints one JSON object per line: medians in
seconds, until the pixels of all canvases have been read, and whether the recoloured pictures differ from the first. If
they don't, the library has drawn nothing: without WebGPU, embedding-atlas shows a message instead. Every figure
includes two animation frames.
"""

import argparse
import functools
import json
import os
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import plotly
from playwright.sync_api import sync_playwright

from emu_core.charts.style import PALETTE
from emu_core.cli.doctor import find_browser

COUNTS = (5_000, 20_000, 100_000)
DECK = "/node_modules/@deck.gl"
SCRIPTS = {
    "plotly": ("/plotly.min.js",),
    "deck.gl": (f"{DECK}/core/dist.min.js", f"{DECK}/layers/dist.min.js"),
    "embedding-atlas": (),
}
PATIENCE_MS = 120_000
# What embedding-atlas imports for its views of databases, which are not used here.
NAMES = ("MosaicClient", "Query", "Selection", "coordinator", "isSelection", "literal", "makeClient", "sql")
UNUSED = ";".join(f"export class {name} {{}}" for name in NAMES)
IMPORTS = {
    "imports": {f"@uwdata/mosaic-{part}": f"data:text/javascript,{UNUSED}" for part in ("core", "sql")}
}
PAGE = (
    f"<!doctype html><title>Maps</title><script type=importmap>{json.dumps(IMPORTS)}</script>"
    "<body style='margin:0'><div id=root></div>"
)
SHARED = """
const CLUSTERS = 60
const random = (seed => () => ((seed = (seed * 16807) % 2147483647) / 2147483647))(7)
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
const centres = Array.from({ length: CLUSTERS }, () => [random() * 10, random() * 10])
const points = count => {
  const [x, y] = [new Float32Array(count), new Float32Array(count)]
  for (let at = 0; at < count; at++) {
    const [left, low] = centres[at % CLUSTERS]
    x[at] = left + normal() * 0.3
    y[at] = low + normal() * 0.3
  }
  return { x, y }
}
const colour = number => palette[number % palette.length]
const groups = (count, colours) => Uint8Array.from({ length: count }, (_, at) => (at % CLUSTERS) % colours)
const frame = () => new Promise(requestAnimationFrame)
// What all canvases show, small, once it is there: reading pixels waits for the drawing.
const pixels = async () => {
  await frame()
  await frame()
  const small = new OffscreenCanvas(32, 32).getContext('2d', { willReadFrequently: true })
  return [...document.querySelectorAll('canvas')].map(canvas => {
    if (!canvas.width || !canvas.height) return ''
    small.clearRect(0, 0, 32, 32)
    small.drawImage(canvas, 0, 0, 32, 32)
    return small.getImageData(0, 0, 32, 32).data.join()
  }).join()
}
const measured = async (draw, recolour) => {
  const timed = async work => {
    const start = performance.now()
    await work()
    const picture = await pixels()
    return [(performance.now() - start) / 1000, picture]
  }
  const [first, before] = await timed(draw)
  const recoloured = []
  const differ = []
  for (const colours of [6, 24, 6, 24, 6]) {
    const [seconds, picture] = await timed(() => recolour(colours))
    recoloured.push(seconds)
    if (colours === 6) differ.push(picture !== before)
  }
  return { first, recoloured, differ: differ.every(Boolean) }
}
"""
DRAWINGS = {
    "plotly": """
const { x, y } = points(count)
const traces = colours => {
  const group = groups(count, colours)
  return ['', '2'].flatMap(panel => Array.from({ length: colours }, (_, number) => {
    const of = Array.from(group.keys()).filter(at => group[at] === number)
    return {
      type: 'scattergl', mode: 'markers', x: of.map(at => x[at]), y: of.map(at => y[at]),
      xaxis: `x${panel}`, yaxis: `y${panel}`, marker: { color: colour(number), size: 4 },
    }
  }))
}
const layout = {
  width: 960, height: 640, showlegend: false, xaxis: { domain: [0, 0.49] }, xaxis2: { domain: [0.51, 1] },
  yaxis2: { anchor: 'x2' },
}
const root = document.getElementById('root')
const plot = colours => Plotly.react(root, traces(colours), layout)
return measured(() => plot(24), plot)
""",
    "deck.gl": """
const { x, y } = points(count)
const places = new Float32Array(count * 2)
for (let at = 0; at < count; at++) places.set([x[at], y[at]], 2 * at)
const rgb = palette.map(text => [1, 3, 5].map(from => parseInt(text.slice(from, from + 2), 16)))
const layers = colours => {
  const group = groups(count, colours)
  const bytes = new Uint8Array(count * 3)
  for (let at = 0; at < count; at++) bytes.set(rgb[group[at] % rgb.length], 3 * at)
  const attributes = { getPosition: { value: places, size: 2 }, getFillColor: { value: bytes, size: 3 } }
  return ['left', 'right'].map(id => new deck.ScatterplotLayer({
    id, data: { length: count, attributes }, radiusUnits: 'pixels', getRadius: 2,
  }))
}
const view = { target: [5, 5, 0], zoom: 5.4 }
let over = null, chart = null
const done = () => new Promise(resolve => { over = resolve })
const draw = async colours => {
  const drawn = done()
  if (chart) chart.setProps({ layers: layers(colours) })
  else {
    chart = new deck.Deck({
      parent: document.getElementById('root'), width: 960, height: 640, useDevicePixels: false,
      deviceProps: { type: 'webgl', webgl: { preserveDrawingBuffer: true } },
      views: [
        new deck.OrthographicView({ id: 'left', x: 0, width: '50%', controller: true }),
        new deck.OrthographicView({ id: 'right', x: '50%', width: '50%', controller: true }),
      ],
      initialViewState: { left: view, right: view }, layers: layers(colours),
      layerFilter: ({ layer, viewport }) => layer.id === viewport.id, onAfterRender: () => over?.(),
    })
  }
  await drawn
}
return measured(() => draw(24), draw)
""",
    "embedding-atlas": """
const { EmbeddingView } = await import('/package/dist/component.js')
const { x, y } = points(count)
const shape = { width: 480, height: 640, pixelRatio: 1, config: { mode: 'points', pointSize: 4 } }
let views = null
const draw = async colours => {
  const data = { x, y, category: groups(count, colours) }
  const categoryColors = Array.from({ length: colours }, (_, number) => colour(number))
  if (views) views.forEach(view => view.update({ data, categoryColors }))
  else {
    views = [0, 1].map(() => {
      const place = document.createElement('div')
      place.style.cssText = 'display:inline-block;width:480px;height:640px'
      document.getElementById('root').append(place)
      return new EmbeddingView(place, { data, categoryColors, ...shape })
    })
  }
  await frame()
}
return measured(() => draw(24), draw)
""",
}


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the folder and Plotly's script within the block; yield the address."""
    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(script) if path == "/plotly.min.js" else super().translate_path(path)

        def do_GET(self) -> None:
            if self.path != "/":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("localhost", 0), functools.partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long libraries take to draw and to recolour maps.")
    parser.add_argument("folder", type=Path, help="where npm put deck.gl and embedding-atlas")
    parser.add_argument("--times", type=int, default=3, help="fresh pages for each figure")
    parser.add_argument("--pictures", type=Path, help="a folder for screenshots")
    arguments = parser.parse_args()
    with served(arguments.folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        for count in COUNTS:
            for name, drawing in DRAWINGS.items():
                firsts, recoloured, differ = list[float](), list[float](), True
                for _ in range(arguments.times):
                    page = browser.new_page(viewport={"width": 960, "height": 640})
                    page.set_default_timeout(PATIENCE_MS)
                    page.goto(address)
                    for script in SCRIPTS[name]:
                        page.add_script_tag(url=script)
                    result = page.evaluate(
                        f"async ([count, palette]) => {{ {SHARED} {drawing} }}", [count, PALETTE]
                    )
                    firsts.append(result["first"])
                    recoloured += result["recoloured"]
                    differ = differ and result["differ"]
                    if arguments.pictures:
                        page.screenshot(path=arguments.pictures / f"{name}-{count}.png")
                    page.close()
                report = {
                    "library": name,
                    "points": count,
                    "first_s": round(statistics.median(firsts), 2),
                    "recoloured_s": round(statistics.median(recoloured), 2),
                    "differ": differ,
                    "load_average": os.getloadavg()[0],
                }
                print(json.dumps(report), flush=True)
        browser.close()


if __name__ == "__main__":
    main()

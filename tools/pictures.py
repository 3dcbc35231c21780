"""Pictures of Plotly figures, drawn by the browser that the browser tests drive."""

import base64
import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from PIL import Image

SIZE = {"width": 900, "height": 420}  # pixels, where a figure does not say


def pictures(figures: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Return a PNG of each figure, which is given as its JSON's `data` and `layout`."""
    if not figures:
        return []
    from playwright.sync_api import sync_playwright
    from plotly.offline import get_plotlyjs

    from emu_core.cli.doctor import find_browser

    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"]).new_page()
        page.add_script_tag(content=get_plotlyjs())
        drawn = []
        for figure in figures:
            layout = figure["layout"]
            size = {key: layout.get(key) or usual for key, usual in SIZE.items()}
            drawn.append(
                page.evaluate(
                    "([figure, size]) => Plotly.toImage(JSON.parse(figure), {format: 'png', ...size})",
                    [json.dumps({"data": figure["data"], "layout": layout}), size],
                )
            )
    return [base64.b64decode(one.partition(",")[2]) for one in drawn]


def small(png: bytes) -> bytes:
    """Return a picture on white, which a dark page needs, in 64 colours, which is a third of its bytes."""
    picture, out = Image.open(BytesIO(png)).convert("RGBA"), BytesIO()
    white = Image.new("RGBA", picture.size, "white")
    Image.alpha_composite(white, picture).convert("RGB").quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()

"""Draw the pictures of docs/gallery.md: python -m tools.gallery. Each is the page's own line, on one small run."""

import json
import re
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from tools import DOCS
from tools.pictures import pictures

PAGE, FOLDER = DOCS / "gallery.md", DOCS / "gallery"
LINE = re.compile(r"^```python\n(.+)\n```\n\n!\[.*\]\(gallery/(.+)\.png\)$", re.MULTILINE)
WIDTH, COLOURS = 900, 64


def lines() -> list[tuple[str, str]]:
    """Return the page's lines that make a chart, each with its picture's name."""
    return LINE.findall(PAGE.read_text("utf-8"))


def ended(figure: dict[str, Any]) -> dict[str, Any]:
    """Return a figure as it is after its last frame, if it plays."""
    if frames := figure.pop("frames", None):
        for number, changed in zip(frames[-1]["traces"], frames[-1]["data"], strict=True):
            figure["data"][number] |= changed
        figure["layout"] |= frames[-1].get("layout", {})
        [slider] = figure["layout"]["sliders"]
        slider["active"] = len(slider["steps"]) - 1
    return figure


def main() -> None:
    """Train, draw and write."""
    import emu_core
    from emu_core import charts, configure

    with TemporaryDirectory() as folder:
        data, audit = emu_core.read_labelled(["demo"])
        settings = configure("emu", "use", epochs=3)
        run = emu_core.train(data, out=Path(folder) / "run", method="emu", config=settings, snapshots=True)
        known = {"charts": charts, "comparison": emu_core.compare(data, run), "audit": audit, "run": run}
        found = lines()
        figures = [ended(json.loads(eval(line, known).to_json())) for line, _ in found]  # noqa: S307 - the page is ours
    FOLDER.mkdir(exist_ok=True)
    for (_, name), picture in zip(found, pictures(figures), strict=True):
        drawn = Image.open(BytesIO(picture)).convert("RGBA")
        image = Image.new("RGBA", drawn.size, "white")
        image.alpha_composite(drawn)
        image.thumbnail((WIDTH, WIDTH))
        image.convert("RGB").quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()

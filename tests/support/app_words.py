"""What stands on a page of the app, and the field's terms among it that no help explains."""

import json
import re
from typing import Any

from streamlit.testing.v1 import AppTest

JARGON = re.compile(
    r"Acc@1|P@\d|\bdirections?\b|labelled pool|pool in\b|in a pool\b|the pool['’]s|leave-one-out|trustworthiness"
    r"|leakage|whitening|\bprobes?\b|\bcosines?\b|(?<!sentence )\btriples?\b|\b(?:B|specialised) minus\b"
    r"|`use`|(?-i:\bover use\b|^(?:[AB]: )?use:)",
    re.I,
)


def unexplained(app: AppTest) -> list[str]:
    """Return every text on the page that has one of the field's terms, and no help: headers of tables, too."""
    return [text for text, about in texts(app) if JARGON.search(text) and not about]


def texts(app: AppTest) -> list[tuple[str, str]]:
    """Return every text that is drawn, without helps and escapes, and the help beside it.

    Of a table these are the headers, since its cells are data; and the encoders, which the app names.
    """
    drawn: list[tuple[str, str]] = []
    for element in app.main:
        kind, proto = getattr(element, "type", ""), getattr(element, "proto", None)
        if kind == "dataframe":
            drawn += _headers(element)
        elif kind == "plotly_chart":
            drawn += [(text, "") for text in _of_figure(json.loads(proto.spec))]
        else:
            about = getattr(proto, "help", "") or ""
            values = [getattr(element, name, "") for name in ("value", "label", "delta")]
            drawn += [(value, about) for value in values if isinstance(value, str)]
    return [(text.replace("\\", ""), about) for text, about in drawn if text]


def _headers(element: Any) -> list[tuple[str, str]]:
    """Return the headers of a table with their helps, and the names of encoders in it."""
    config = json.loads(element.proto.columns or "{}")
    frame = element.value
    headers = []
    for name in frame.columns:
        column = config.get(str(name)) or {}
        if column.get("hidden"):
            continue
        headers.append((str(column.get("label") or name), str(column.get("help") or "")))
    encoders = frame["Encoder"].astype(str) if "Encoder" in frame else []
    return [*headers, *((f"`{name}`", "") for name in encoders if name == "use")]


def _of_figure(part: Any) -> list[str]:
    """Return the titles of a figure: of axes, panels and the legend, but no data."""
    if isinstance(part, list):
        return [text for one in part for text in _of_figure(one)]
    if not isinstance(part, dict):
        return []
    kept = {name: value for name, value in part.items() if name not in ("template", "customdata")}
    own = [value for name, value in kept.items() if name in ("text", "name") and isinstance(value, str)]
    return own + [text for value in kept.values() for text in _of_figure(value)]

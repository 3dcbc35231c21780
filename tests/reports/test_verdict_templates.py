"""The templates escape whatever a file, a name or a sentence holds, and a page fetches and sends nothing."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from jinja2 import UndefinedError

import emu_core.reports
from emu_core.data.wording import TextTable
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports.card import model_card
from emu_core.reports.cells import chosen_cell, message_cell, neighbours_cell
from emu_core.reports.map_pages import maps_page
from emu_core.reports.templating import PLOTLY, render_html, render_markdown
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import LabelledFacts

HOSTILE = "</title></script><script>alert(1)</script><img src=http://evil onerror='x'>`a`|b\n# **c** [d](e)"
TEMPLATES = sorted((Path(emu_core.reports.__file__).parent / "templates").glob("*.j2"))


class Tags(HTMLParser):
    """The tags of a page, and its text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] not in ("script", "style"):
            self.text += data


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_turns_no_escaping_off(template: Path) -> None:
    text = template.read_text("utf-8")
    assert "autoescape" not in text
    assert re.findall(r"\S+ \| safe\b", text) == (
        ["scripts | safe"] if template.name == "page.html.j2" else []
    )


def test_a_page_shows_hostile_texts_as_they_are() -> None:
    figure = go.Figure(go.Bar(x=[HOSTILE], y=[1], name=HOSTILE))
    page = render_html("figure.html.j2", title=HOSTILE, figure=figure, scripts=PLOTLY)
    tags = Tags(page)
    assert tags.tags.count("script") == page.count("</script>") and not {"img", "b"} & set(tags.tags)
    assert tags.text.count("<img src=http://evil") == 2  # the title of the page, and its heading
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'") and "http" not in policy and "unsafe-eval" not in policy
    assert "script-src" not in render_html("page.html.j2", title="no charts")


def test_cells_of_a_notebook_show_hostile_texts_as_they_are() -> None:
    sentence = dict.fromkeys(("text", "intent", "language"), HOSTILE)
    table = TextTable((HOSTILE,), [[HOSTILE]])
    for cell in (neighbours_cell(sentence, table), chosen_cell(HOSTILE, table), message_cell(HOSTILE)):
        tags = Tags(cell)
        assert set(tags.tags) <= {"div", "style", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
        assert "<img src=http://evil" in tags.text


def test_a_map_is_a_page_of_the_same_shell() -> None:
    points = pd.DataFrame({"text": [HOSTILE] * 3, "intent": HOSTILE, "language": "en", "row": range(3)})
    page = maps_page({HOSTILE: np.eye(3, 2, dtype=np.float32)}, points, "intent", frozenset()).decode()
    assert page.count("plotly.js v") == 1 and page.startswith("<!doctype html>")
    assert Tags(page).tags.count("script") == page.count("</script>") and "img" not in Tags(page).tags


def test_a_card_shows_hostile_names_as_they_are() -> None:
    config = Plan("emu", "small", {"a_b": HOSTILE}, encoder=f"hf:{HOSTILE}", train_languages=(HOSTILE,))
    metrics = Metrics(warnings=(HOSTILE,), note=HOSTILE)
    card = model_card("run", config, LabelledFacts(name=HOSTILE, labelled=9, intents=2), metrics)
    code = re.compile(r"`[^`\n]*`")
    outside = code.sub("", "\n".join(card.split("```")[::2]))
    assert "<" not in outside and not re.search(r"(?<!\\)[\[\]]|(?<!\\)\*\*c", outside)
    assert [line for line in card.splitlines() if line.startswith("#")] == [
        "# run", "## Verdict", "## Settings", "## Use",
    ]  # fmt: skip
    (row,) = [line for line in card.splitlines() if line.startswith("| a_b")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3


def test_a_short_row_spans_the_rest_and_a_name_that_is_missing_is_an_error() -> None:
    table = TextTable(("a", "b", "c"), [("1", "2", "3"), ("1", "not measured")])
    cell = chosen_cell("two rows", table)
    assert '<td class="words" colspan="2">not measured</td>' in cell and cell.count("<td") == 5
    with pytest.raises(UndefinedError):
        render_markdown("card.md.j2")

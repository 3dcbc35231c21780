"""What objects show of themselves in a terminal: a few lines in words, and no dump of their fields."""

import pydoc
import re
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import emu_core
from emu_core.data.audit import Audit
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.run_metrics import Metrics
from emu_core.notebook.predictions import Predictions
from tests.support.small import small_set
from tests.support.verdicts import case

MOST_LINES, MOST_CHARACTERS = 10, 1_000
MESSY = pd.DataFrame(
    {
        "text": ["a b", "A b", "a b", "c", "", "d <b>", "nan", "e", "f"],
        "intent": ["x", "x", "y", "X", "x", "y", "x", "z", "z_en"],
        "language": ["en", "en", "en", "en", "en", "??", "en", "de", "en"],
    }
)


@pytest.fixture(scope="module")
def audit() -> Audit:
    return emu_core.read_labelled(MESSY)[1]


def assert_brief(shown: object) -> None:
    """It is a few lines."""
    text = repr(shown)
    assert len(text.splitlines()) <= MOST_LINES and len(text) <= MOST_CHARACTERS, text


def test_a_run_and_its_metrics_are_a_line(tmp_path: Path) -> None:
    run = case("better").stored(tmp_path / "runs", "better")
    assert_brief(run)
    metrics = run.metrics()
    assert_brief(metrics)
    assert re.search(r"right intents 30.0 → 60.0 % of 360 \(better\)", repr(metrics))
    assert repr(Metrics()) == "<metrics: nothing measured>"


def test_an_encoder_is_a_line() -> None:
    encoder = load_encoder("use")
    assert repr(encoder) == "<UseEncoder: 512 dimensions, 16 languages>"
    assert "UseEncoder: 512" in str(encoder)


def test_an_audit_is_its_first_sentences_and_all_of_them_in_jupyter(audit: Audit) -> None:
    assert_brief(audit)
    assert repr(audit).startswith(f"<audit: {audit.summary()[0]}")
    assert len(audit.summary()) > 8 and "more in summary()>" in repr(audit)  # or the test shows nothing
    assert all(escape(line) in audit._repr_html_() for line in audit.summary())


def test_sets_and_predictions_are_a_few_lines() -> None:
    assert_brief(small_set())
    assert repr(small_set()).startswith("<LabelledSet small: 324 sentences in en, de, ja")
    values = {"text": [f"t{row}" for row in range(90)], "confidence": np.linspace(0, 1, 90)}
    assert_brief(Predictions(values))
    assert "[90 rows" in repr(Predictions(values))


@pytest.mark.parametrize("name", ["train", "compare", "predict", "evaluate"])
def test_help_begins_with_what_a_verb_does(name: str) -> None:
    verb = getattr(emu_core, name)
    said = pydoc.plain(pydoc.render_doc(verb))
    before = said.partition((verb.__doc__ or "").splitlines()[0])[0]
    assert len(before) < 500 and "|" not in before, before
    assert verb.__annotations__  # which tools that check types read

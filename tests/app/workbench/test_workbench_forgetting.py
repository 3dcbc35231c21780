"""What an encoder has forgotten, measured and shown in the Workbench."""

import pytest

from emu_core.api import forgetting as api_forgetting
from emu_core.data.sets import LabelledSet
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.run import Run
from tests.support.app_pages import compare
from tests.support.at_once import AtOnce
from tests.support.small import small_set
from tests.support.workbench_pages import drawn, linked, numbers

KEPT_STS = {
    "base": 0.74, "specialised": 0.69, "difference": -0.05, "low": -0.06, "high": -0.04, "count": 1500, "flagged": True,
}  # fmt: skip
KEPT_PAIRS = {
    "base": 93.0, "specialised": 94.5, "difference": 1.5, "low": 0.5, "high": 2.5, "count": 1000, "flagged": False,
}  # fmt: skip


@pytest.mark.slow
def test_forgetting_is_measured_in_the_page_on_a_small_set(
    own_run: Run, worker: AtOnce, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = small_set(("en", "de")).frame
    unseen = LabelledSet(frame.assign(text="Sorry: " + frame["text"]), "demo")
    monkeypatch.setattr(api_forgetting, "load_demo", lambda: unseen)
    app = compare(linked(), "Forgetting")
    command = f"emu forgetting {own_run.folder} --sts FOLDER --translations FOLDER"
    assert [code.value for code in app.code] == [command]
    assert not drawn(app) and not app.dataframe and not app.error
    worker.endless = "forgetting:"
    app.button(key="forgetting-measure").click().run()
    assert "encoding the small set" in app.get("progress")[-1].proto.text
    assert read_forgetting(own_run) is None
    worker.endless = "none"
    app.run()
    assert not app.exception and "108 questions of hotel guests in 2 languages" in app.info[-1].value
    assert app.dataframe[0].value["Language"].tolist() == ["English to German", "German to English"]
    assert len(drawn(app)) == 1 and [code.value for code in app.code] == [command]


@pytest.mark.slow
def test_a_fall_that_may_be_chance_is_said_to_be(own_run: Run) -> None:
    maybe = KEPT_PAIRS | {"specialised": 91.5, "difference": -1.5, "low": -3.5, "high": 0.5, "flagged": True}
    surely = {
        f"de-{code}": maybe | {"difference": -2.0 - n, "high": -0.1}
        for n, code in enumerate(("en", "fr", "es", "it"))
    }
    own_run.write("forgetting.json", {"sts": {}, "translations": surely | {"en-de": maybe}, "flagged": []})
    app = compare(linked(), "Forgetting")
    assert app.error[0].value.startswith("**Forgotten:** finding translations, German to Italian")
    assert "and 1 more, below" in app.error[0].value and "German to English" not in app.error[0].value
    assert "**Perhaps forgotten" in app.warning[-1].value and "English to German" in app.warning[-1].value


@pytest.mark.slow
def test_what_was_forgotten_is_said_drawn_and_tabled(own_run: Run) -> None:
    found = {
        "sts": {"de": KEPT_STS, "fr": {**KEPT_STS, "difference": 0.0, "low": -0.01, "high": 0.01, "flagged": False}},
        "translations": {"de-en": KEPT_PAIRS},
        "flagged": ["STS de"],
    }  # fmt: skip
    own_run.write("forgetting.json", found)
    app = compare(linked(), "Forgetting")
    assert [error.value for error in app.error] == [
        "**Forgotten:** similarity of sentences, German 0.740 → 0.690."
    ]
    sts, translations = drawn(app)
    by_name = {trace["name"]: numbers(trace["x"]) for trace in sts["data"]}
    assert by_name == {"fell too far": [-0.05], "retained": [0.0]}
    assert {trace["name"]: numbers(trace["x"]) for trace in translations["data"]} == {"rose": [1.5]}
    lines = [[shape["x0"] for shape in spec["layout"]["shapes"]] for spec in (sts, translations)]
    assert lines == [[0, -0.02], [0, -1.0]]
    table = app.dataframe[0].value
    assert table["Language"].tolist() == ["German", "French", "German to English"]
    assert table["Difference, 95 %"].tolist() == ["-0.060 to -0.040", "-0.010 to +0.010", "+0.5 to +2.5"]
    assert table["Verdict"].tolist() == ["fell too far", "", ""]


def test_nothing_forgotten_is_good_news(own_run: Run) -> None:
    own_run.write("forgetting.json", {"sts": {}, "translations": {"zh-TW-en": KEPT_PAIRS}, "flagged": []})
    app = compare(linked(), "Forgetting")
    assert app.success[0].value.startswith("Nothing was forgotten") and not app.error
    assert len(drawn(app)) == 1
    assert app.dataframe[0].value["Language"].tolist() == ["zh-TW to English"]


@pytest.mark.slow
def test_a_damaged_forgetting_file_is_said(own_run: Run) -> None:
    damaged = ("{", "[]", '{"sts": {}}', '{"sts": {"de": {"base": "x"}}, "translations": {}}')
    app = linked()
    for content in (*damaged, '{"sts": 3, "translations": {}}'):
        (own_run.folder / "forgetting.json").write_text(content)
        compare(app, "Forgetting")
        assert "make it again with the tab Forgetting" in app.error[0].value, content

"""A sentence asked in the other languages of the set, beside the maps."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.panels import maps
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.asked import nearest_by_language, translated_rows
from emu_core.runs.trained_on import trained_rows
from tests.support.app_pages import explore, with_frame
from tests.support.workbench_pages import Trained, drawn_places, marks

ASK = "Ask it in the other languages"


def toggled(app: AppTest) -> AppTest:
    next(toggle for toggle in app.toggle if toggle.label == ASK).set_value(True).run()
    assert not app.exception
    return app


def table_of(app: AppTest) -> list[tuple[str, str, list[str]]]:
    """The language, the sentence, and whether A and B are right, of each row."""
    [html] = [part.value for part in app.get("html") if "emu-asked" in part.value]
    rows = re.findall(r'<span lang="(\w+)" dir="auto">(.*?)</span></th>(.*?)</tr>', html, re.DOTALL)
    return [(code, text, re.findall(r'<td class="(\w+)"', cells)) for code, text, cells in rows]


@pytest.mark.slow
def test_a_typed_sentence_of_the_set_is_asked_in_its_other_languages(app: AppTest, trained: Trained) -> None:
    run, labelled, _ = trained
    frame = labelled.frame
    seen = trained_rows(f"run:{run.folder}", labelled)[0]
    row = int(np.flatnonzero((frame["language"] == "de") & ~seen)[3])
    explore(app, **{"try-sentence": frame["text"].iloc[row].upper()})
    assert not any(mark["spoken"] for mark in marks(app))
    toggled(app)
    texts = frame["text"].tolist()
    vectors = {"A": load_encoder("use").encode(texts), "B": load_encoder(f"run:{run.folder}").encode(texts)}
    expected = nearest_by_language(frame, vectors, translated_rows(frame, row))
    assert set(expected["language"]) == {"en", "de", "ja"}
    rows = expected.sort_values("B_right", kind="stable")
    kind = {True: "right", False: "wrong"}
    assert [(code, sides) for code, _, sides in table_of(app)] == [
        (line["language"], [kind[line["A_right"]], kind[line["B_right"]]]) for _, line in rows.iterrows()
    ]
    said = f"B is right in {expected['B_right'].sum()} of 3 languages"
    assert any(said in line.value for line in app.markdown)
    # Each is a mark on both maps, with a line to what it finds.
    for axis, name, mark in zip(("x", "x2"), "AB", marks(app), strict=True):
        at = drawn_places(app, axis)
        spoken = mark["spoken"]
        np.testing.assert_allclose([[one["x"], one["y"]] for one in spoken], at[expected["row"]])
        np.testing.assert_allclose([one["near"] for one in spoken], at[expected[f"{name}_row"]])
        assert [one["right"] for one in spoken] == expected[f"{name}_right"].tolist()
        assert sorted(" ".join(one["label"] for one in spoken).split()) == ["de", "en", "ja"]
        assert "Japanese" in spoken[2]["hover"] and mark["typed"]


def test_an_unknown_sentence_stays_and_the_nearest_one_with_translations_is_asked_beside_it(
    app: AppTest,
) -> None:
    typed = "Can I perhaps bring my dog along?"
    explore(app, **{"try-sentence": typed})
    assert ASK not in [toggle.label for toggle in app.toggle]
    assert any("no translations of this sentence" in line.value for line in app.caption)
    next(toggle for toggle in app.toggle if "that has translations" in toggle.label).set_value(True).run()
    assert not app.exception and app.text_input(key="try-sentence").value == typed
    [instead] = [line.value for line in app.caption if line.value.startswith("Asked instead")]
    assert any(text.rstrip("?.") in instead.replace("\\", "") for _, text, _ in table_of(app))
    assert len(table_of(app)) == 3


def test_a_sentence_that_was_trained_on_does_not_count(app: AppTest, trained: Trained) -> None:
    run, labelled, _ = trained
    seen = trained_rows(f"run:{run.folder}", labelled)[0]
    explore(app, **{"try-sentence": labelled.frame["text"].iloc[int(np.flatnonzero(seen)[0])]})
    toggled(app)
    assert len(table_of(app)) == 3 and not any("B is right in" in line.value for line in app.markdown)
    assert any("does not count" in line.value for line in app.info)


@pytest.mark.slow
def test_translations_that_are_not_drawn_are_asked_too(
    app: AppTest, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "MAX_DRAWN_POINTS", 36)
    frame = trained[1].frame
    explore(app, **{"try-sentence": frame["text"].iloc[0]})
    toggled(app)
    assert len(table_of(app)) == 3
    assert all(len(mark["spoken"]) == 3 for mark in marks(app))


@pytest.mark.slow
def test_a_picked_sentence_is_asked_and_one_without_translations_says_so(
    app: AppTest, trained: Trained
) -> None:
    labelled = trained[1]
    explore(app, **{"explore-picked": (labelled.sha256(), (7,))})
    assert not toggled(app).error and len(table_of(app)) == 3
    frame = labelled.frame.copy()
    frame.loc[frame.index[7], "id"] = "alone"
    other = with_frame(frame)
    explore(other, **{"explore-picked": (other.session_state["data-added"].sha256, (7,))})
    assert any("in one language only" in line.value for line in other.caption)
    frame["id"] = ""
    without = with_frame(frame)
    explore(without, **{"try-sentence": frame["text"].iloc[7]})
    assert ASK not in [toggle.label for toggle in without.toggle]
    assert not any("translat" in line.value for line in without.caption)

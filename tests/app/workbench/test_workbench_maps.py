"""The maps of the Workbench, their filters, and what is picked on them."""

import json

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.panels import maps
from emu_app.panels.maps import is_shown
from emu_app.work.background import Failed
from emu_core.charts.scatter import HELD_OUT, TRAINED
from emu_core.charts.style import LIGHT
from emu_core.data.sets import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.errors import Message
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.projection import Projection, aligned, project, trustworthiness
from emu_core.runs.run import Run
from tests.support.app_pages import explore, press, with_frame
from tests.support.at_once import AtOnce
from tests.support.bound_widgets import bound, unkept
from tests.support.workbench_pages import (
    Trained,
    drawn_places,
    drawn_rows,
    figure,
    figures,
    is_map,
    marks,
)


def vectors(labelled: LabelledSet, run: Run) -> tuple[np.ndarray, np.ndarray]:
    texts = labelled.frame["text"].tolist()
    return load_encoder("use").encode(texts), load_encoder(f"run:{run.folder}").encode(texts)


def test_both_maps_show_every_sentence_and_share_their_colours(app: AppTest, trained: Trained) -> None:
    explore(app)
    everyone = list(range(len(trained[1])))
    assert drawn_rows(app, "x") == drawn_rows(app, "x2") == everyone
    spec = figure(app)
    colour = {
        axis: {t["legendgroup"]: t["marker"]["color"] for t in spec["data"] if t.get("xaxis") == axis}
        for axis in ("x", "x2")
    }
    assert colour["x"] == colour["x2"]
    titles = [note["text"] for note in spec["layout"]["annotations"]]
    assert titles[:2] == [
        "A: USE multilingual before training, PCA",
        f"B: {trained[0].name} after training, PCA",
    ]
    assert {f"<b>{intent}</b>" for intent in trained[1].intents} >= set(titles[2:]) != set()
    assert {t["legendgroup"] for t in spec["data"] if t.get("xaxis") == "x"} == set(trained[1].intents)
    explore(app, **{"explore-colour": "language"})
    assert {t["legendgroup"] for t in figure(app)["data"] if t.get("xaxis") == "x"} == {"en", "de", "ja"}


def shapes_named(app: AppTest) -> list[str]:
    """The names in the legend of shapes, beside those of trained sentences."""
    legend = [trace["name"] for trace in figure(app)["data"] if trace.get("legend") == "legend2"]
    return [name for name in legend if name not in (TRAINED, HELD_OUT)]


@pytest.mark.slow
def test_shapes_show_languages_only_if_asked(app: AppTest, trained: Trained) -> None:
    explore(app)
    assert shapes_named(app) == []
    explore(app, **{"explore-shapes": True})
    assert shapes_named(app) == ["English", "German", "Japanese"]
    explore(app, **{"explore-colour": "language"})  # which the colours show already
    assert shapes_named(app) == []
    [shapes] = [toggle for toggle in app.toggle if toggle.label == "Shapes"]
    assert shapes.disabled and shapes.value


@pytest.mark.slow
def test_intents_that_are_chosen_get_the_colours_that_are_told_apart_best(trained: Trained) -> None:
    frame = trained[1].frame.copy()
    frame["intent"] = [f"intent {number % 30:02}" for number in range(len(frame))]
    app = explore(with_frame(frame))
    next(box for box in app.multiselect if box.label == "Intents").set_value(["intent 29", "intent 10"])
    app.run()
    assert set(colours(app)) == {"intent 29", "intent 10"}
    assert sorted(colours(app).values()) == sorted(LIGHT.palette[:2])


def colours(app: AppTest) -> dict[str, str]:
    """Return the colour of each intent on the maps."""
    return {
        trace["legendgroup"]: trace["marker"]["color"]
        for trace in figure(app)["data"]
        if "customdata" in trace
    }


@pytest.mark.slow
def test_filters_leave_both_maps_the_same_sentences(app: AppTest, trained: Trained) -> None:
    explore(app)
    for label, value in (("Languages", ["ja"]), ("Intents", ["pool", "taxi"]), ("Splits", ["test"])):
        next(box for box in app.multiselect if box.label == label).set_value(value)
    app.run()
    frame = trained[1].frame
    wanted = frame[
        (frame["language"] == "ja") & frame["intent"].isin(["pool", "taxi"]) & (frame["split"] == "test")
    ]
    assert drawn_rows(app, "x") == drawn_rows(app, "x2") == sorted(wanted.index)
    said = f"The filters leave {len(wanted)} of 324 sentences"
    assert any(said in caption.value for caption in app.caption)


@pytest.mark.slow
def test_filters_that_leave_nothing_say_so(trained: Trained, app: AppTest) -> None:
    frame = trained[1].frame
    explore_app = explore(with_frame(frame[~((frame["language"] == "ja") & (frame["intent"] == "pool"))]))
    for label, value in (("Languages", ["ja"]), ("Intents", ["pool"])):
        next(box for box in explore_app.multiselect if box.label == label).set_value(value)
    explore_app.run()
    assert any("No sentence passes" in info.value for info in explore_app.info)
    assert any(map(is_map, figures(explore_app))) and not drawn_rows(
        explore_app, "x"
    )  # the maps stay, all grey


@pytest.mark.slow
def test_a_large_set_is_drawn_in_part_and_says_so(
    app: AppTest, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "MAX_DRAWN_POINTS", 90)
    explore(app)
    assert app.info[0].value.startswith("The maps show 90 of 324 sentences")
    rows = drawn_rows(app, "x")
    assert len(rows) == 90
    drawn = trained[1].frame.iloc[rows]
    assert (drawn.groupby(["intent", "language"]).size() == 5).all()  # 18 groups, all of one size: 5 of each


@pytest.mark.slow
def test_picked_sentences_fill_the_table_until_they_are_cleared(app: AppTest, trained: Trained) -> None:
    sha = trained[1].sha256()
    explore(app, **{"explore-picked": (sha, (3, 50, 200))})
    assert app.dataframe[0].value["Sentence"].tolist() == trained[1].frame["text"].iloc[[3, 50, 200]].tolist()
    next(button for button in app.button if button.label == "Clear").click().run()
    assert not app.dataframe
    explore(app, **{"explore-picked": ("another set", (3, 50, 200))})
    assert not app.dataframe


@pytest.mark.slow
def test_accuracy_confusions_and_predictions_of_just_the_picked_sentences(
    app: AppTest, trained: Trained
) -> None:
    run, labelled, _ = trained
    frame = labelled.frame
    measured = np.flatnonzero(frame["split"] == "test")
    rows = (*np.flatnonzero((frame["split"] == "test") & (frame["language"] == "ja")).tolist(), 0)
    assert frame["split"].iloc[0] == "train"
    explore(app, **{"explore-picked": (labelled.sha256(), rows)})
    comparison = Comparison(frame.iloc[measured], *(part[measured] for part in vectors(labelled, run)))
    changes = comparison.changes().set_axis(measured)
    of_these = changes.loc[list(rows[:-1])]
    confused, table = (drawn.value for drawn in app.dataframe)
    assert list(table)[:4] == ["Sentence", "Intent", "A finds", "B finds"]  # in view, even in a narrow column
    right = []
    for name, side in (("A", "base"), ("B", "other")):
        by_row = table.set_index("Sentence")[f"{name} finds"]
        assert by_row[frame["text"].iloc[list(rows[:-1])]].tolist() == of_these[f"{side}_intent"].tolist()
        assert by_row[frame["text"].iloc[0]] == ""  # it isn't measured
        right += [
            (part[f"{side}_intent"] == part["intent"]).sum() / len(part) * 100 for part in (of_these, changes)
        ]
    said = (
        f"Nearest neighbours right, of the {len(rows) - 1} of them that are measured: A **{right[0]:.0f} %**, "
        f"B **{right[2]:.0f} %**; of all {len(changes)} sentences: A {right[1]:.0f} %, B {right[3]:.0f} %."
    )
    assert any(line.value == said for line in app.markdown)
    for _, line in confused.iterrows():
        pair = of_these[of_these["intent"] == line["Intent"]]
        assert line["By B"] == (pair["other_intent"] == line["Taken for"]).sum()
        assert line["By A"] == (pair["base_intent"] == line["Taken for"]).sum()
    assert confused["By B"].sum() == (of_these["other_intent"] != of_these["intent"]).sum()


@pytest.mark.slow
def test_one_picked_sentence_has_its_neighbours_by_both_encoders(app: AppTest, trained: Trained) -> None:
    run, labelled, _ = trained
    row = 7
    explore(app, **{"explore-picked": (labelled.sha256(), (row,))})
    frame = labelled.frame
    for table, space in zip(app.dataframe[:2], vectors(labelled, run), strict=True):
        units = space / np.linalg.norm(space, axis=1, keepdims=True)
        cosines = units @ units[row]
        order = [j for j in np.argsort(-cosines) if frame["id"].iloc[j] != frame["id"].iloc[row]][:10]
        assert table.value["cosine"].tolist() == pytest.approx(cosines[order].tolist(), abs=1e-5)
        assert table.value["text"].iloc[0] == frame["text"].iloc[order[0]]
        same = ["✓" if frame["intent"].iloc[j] == frame["intent"].iloc[row] else "✗" for j in order]
        assert table.value["right"].tolist() == same


@pytest.mark.slow
def test_explore_shows_the_first_map_and_how_far_the_refined_one_is(
    app: AppTest, worker: AtOnce, trained: Trained
) -> None:
    explore(app)  # leaves the vectors on disk
    worker.never = True
    explore(app, **{"explore-pca": False, "explore-method": "umap"})
    progress = app.get("progress")[-1].proto
    assert progress.value == 25
    assert progress.text == "Refining A: UMAP, B: UMAP"
    # Until then the PCA is drawn, the second map turned onto the first.
    base, specialised = (project(found, Projection.PCA) for found in vectors(trained[1], trained[0]))
    for axis, expected in (("x", base), ("x2", aligned(specialised, base))):
        np.testing.assert_allclose(drawn_places(app, axis), expected, atol=1e-4)


def refining(app: AppTest) -> bool:
    return any(bar.proto.text.startswith("Refining") for bar in app.get("progress"))


@pytest.mark.slow
def test_stopped_maps_stay_as_they_are_until_they_are_refined_again(app: AppTest, worker: AtOnce) -> None:
    explore(app)
    worker.never = True
    explore(app, **{"explore-pca": False, "explore-method": "umap"})
    next(button for button in app.button if button.label == "Stop").click().run()
    assert worker.stopped[-2:] == [key for key in worker.asked if ":umap:" in key][:2]
    assert not refining(app)
    assert drawn_rows(app, "x2")
    next(button for button in app.button if button.label == "Refine again").click().run()
    assert refining(app)


@pytest.mark.slow
def test_maps_that_are_no_longer_wanted_are_stopped(app: AppTest, worker: AtOnce) -> None:
    explore(app)
    worker.never = True
    explore(app, **{"explore-pca": False, "explore-method": "umap"})
    before = set(worker.asked)
    explore(app, **{"explore-pca": False, "explore-method": "tsne"})
    assert {key for key in before if ":umap:" in key} <= set(worker.stopped)
    assert not any(":tsne:" in key for key in worker.stopped)


@pytest.mark.slow
def test_maps_say_how_far_they_can_be_trusted(app: AppTest, trained: Trained) -> None:
    explore(app)
    [said] = [caption.value for caption in app.caption if caption.value.startswith("Trust in the maps")]
    base, _ = vectors(trained[1], trained[0])
    assert f"A: **{trustworthiness(base, project(base, Projection.PCA)):.2f}**" in said


@pytest.mark.slow
def test_one_map_turns_into_the_other_with_trails_of_held_out_sentences(
    app: AppTest, trained: Trained
) -> None:
    run, labelled, _ = trained
    app.query_params["explore-morph"] = "true"
    explore(app)
    assert not any(map(is_map, figures(app)))
    morph = next(spec for spec in figures(app) if "frames" in spec)
    frame = labelled.frame
    rows = np.flatnonzero(frame["split"] == "test")
    measured = Comparison(frame.iloc[rows], *(of[rows] for of in vectors(labelled, run)))
    changes = measured.changes()["change"].to_numpy()  # as the tab of changed neighbours says
    names = [trace["name"] for trace in morph["data"] if trace.get("mode") == "markers"]
    assert names == ["the others", *(f"{kind}: {(changes == kind).sum()}" for kind in ("fixed", "broken"))]
    assert any("others leave no trail" in line.value for line in app.caption)
    assert "Download it as HTML" in [button.label for button in app.get("download_button")]
    hint = "Click a point for its neighbours."  # which does nothing on a map that turns
    assert hint not in [line.value for line in app.caption]
    press(app, "Show both maps")
    assert drawn_rows(app, "x") == frame.index.tolist()
    assert hint in [line.value for line in app.caption]


def test_what_cannot_be_laid_out_is_said_beside_its_first_map(app: AppTest, worker: AtOnce) -> None:
    app.session_state["explore-pca"] = True
    explore(app)
    for key in list(worker.outcomes):
        if key.startswith("map:"):
            worker.outcomes[key] = Failed(Message("t-SNE needs 4 sentences"))
    explore(app)
    assert [error.value for error in app.error] == [
        rf"{name}: t\-SNE needs 4 sentences." for name in ("A", "B")
    ]
    assert drawn_rows(app, "x2")


@pytest.mark.slow
def test_what_people_wrote_is_never_markup(trained: Trained, app: AppTest) -> None:
    evil = "![x](http://evil/x.png) <b>$a$ :red[y]"
    frame = trained[1].frame.copy()
    frame.loc[frame.index[:2], "text"] = [evil, evil + "!"]
    frame["intent"] = frame["intent"].replace({"pool": evil})
    labelled = with_frame(frame)
    explore(labelled)
    explore(labelled, **{"explore-picked": (labelled.session_state["data-added"].sha256, (0,))})
    said = [element.value for element in (*labelled.markdown, *labelled.caption, *labelled.info)]
    assert any("evil" in text for text in said)
    assert not any("![x](" in text or "$a$" in text or ":red[" in text for text in said)
    assert "<b>" not in json.dumps([t.get("name") for t in figure(labelled)["data"]])


def test_filters_alone() -> None:
    frame = pd.DataFrame({"language": ["en", "de"], "intent": ["a", "b"], "split": ["train", "test"]})
    assert is_shown(frame, {}).tolist() == [True, True]
    assert is_shown(frame, {"language": ["de"], "intent": []}).tolist() == [False, True]
    assert is_shown(frame, {"language": ["de"], "intent": ["a"]}).tolist() == [False, False]


@pytest.mark.slow
def test_neighbours_are_marked_where_they_stand(app: AppTest, trained: Trained) -> None:
    labelled = trained[1]
    explore(app, **{"explore-picked": (labelled.sha256(), (7,))})
    frame = labelled.frame
    for axis, table, mark in zip(("x", "x2"), app.dataframe[:2], marks(app), strict=True):
        at = drawn_places(app, axis)
        assert [mark["x"], mark["y"]] == pytest.approx(at[7].tolist()) and not mark["typed"]
        near = table.value
        assert [is_right for _, _, is_right in mark["near"]] == (near["right"] == "✓").tolist()
        rows = [frame.index[(frame["text"] == text)][0] for text in near["text"]]
        assert [list(place[:2]) for place in mark["near"]] == pytest.approx(at[rows])

    explore(app, **{"explore-picked": ("", ()), "try-sentence": "Can I bring my dog?"})
    tables = [table.value for table in app.dataframe[:2]]
    for mark, table in zip(marks(app), tables, strict=True):
        assert (
            mark["typed"]
            and [is_right for _, _, is_right in mark["near"]] == (table["right"] == "✓").tolist()
        )
    explore(app, **{"try-sentence": ""})
    assert marks(app) == []


def test_what_the_address_keeps_stays_in_its_place(app: AppTest, trained: Trained) -> None:
    explore(app, **{"try-sentence": trained[1].frame["text"].iloc[0]})
    assert {
        "try-sentence",
        "ask-languages",
        "explore-method",
        "explore-pca",
        "explore-density",
    } <= bound(app)
    assert unkept(app) == set()

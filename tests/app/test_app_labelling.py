"""What to label next on the Data page, and sentences relabelled or dropped on the maps, without a browser."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.panels import labelling as labelling_panel
from emu_app.panels.label_score import _since
from emu_app.work import cache, tasks
from emu_core import Suggester
from emu_core.data.audit import labelled_from_frame
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.formats.tables.formats import FILE_ENDINGS
from emu_core.runs.run import RunState, Status
from tests.support.app_pages import explore, new_session, with_frame
from tests.support.at_once import AtOnce
from tests.support.fake_runs import past
from tests.support.small import small_set
from tests.support.tables import WRITERS, written


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    worker = AtOnce()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "mapper", lambda: worker)
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture(autouse=True)
def sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every guess is ticked, as if each were mostly right."""
    monkeypatch.setattr(tasks, "mostly_right_from", lambda *_: 0.0)
    monkeypatch.setattr(labelling_panel, "_SURE", 0.0)


def partly_labelled(intents: int = 3) -> pd.DataFrame:
    """So many sentences of each intent and language have their intent, and all that are held out."""
    frame = small_set(("en", "de")).frame
    train = frame["split"] == "train"
    late = frame[train].groupby(["intent", "language"]).cumcount() >= intents
    return frame.assign(intent=frame["intent"].where(~late.reindex(frame.index, fill_value=False), ""))


def labelling(app: AppTest) -> AppTest:
    app.query_params["part"] = "Label more sentences"
    app.run()
    assert not app.exception and not app.error
    return app


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception and not app.error
    return app


def score(app: AppTest) -> tuple[float, str]:
    metric = app.metric[-1]
    return float(metric.value.removesuffix(" %")), metric.delta


def stored(runs: Path, name: str) -> LabelledSet:
    return labelled_from_frame(pd.read_parquet(runs / ".data" / name / "rows.parquet"), name)[0]


@pytest.mark.slow
def test_suggested_sentences_are_labelled_in_rounds_and_the_score_moves(runs: Path) -> None:
    frame = partly_labelled()
    app = labelling(with_frame(frame))
    rest = frame[frame["intent"] == ""].reset_index(drop=True)
    assert app.metric[0].delta == f"{len(rest)} without an intent" and not app.warning
    before = stored(runs, "small")
    suggester = Suggester().fit(before)
    expected = suggester.suggest(UnlabelledSet(rest[["text", "language", "id"]], "rest"), 10)
    shown = next(table.value for table in app.dataframe if "probability" in table.value)
    assert shown["text"].tolist() == expected["text"].tolist()
    assert shown["intent"].tolist() == expected["intent"].tolist()
    first = suggester.score(before.select(splits=["test"]))["fitted"]
    assert score(app) == (round(first, 1), "")

    press(app, "Save 10 labels")
    assert app.query_params["data"] == "small-v2"
    after = stored(runs, "small-v2")
    assert (
        len(after) == len(before) + 10 and after.held_out_part().sha256() == before.held_out_part().sha256()
    )
    new = after.frame[after.frame["text"].isin(expected["text"])].set_index("text").loc[expected["text"]]
    assert new["intent"].tolist() == expected["intent"].tolist() and set(new["split"]) == {"train"}
    assert new["id"].tolist() == expected["id"].tolist()
    second = Suggester().fit(after).score(after.select(splits=["test"]))["fitted"]
    assert score(app) == (
        round(second, 1),
        f"{second - first:+.1f} points since {len(before.train_part())} labels",
    )
    again = next(table.value for table in app.dataframe if "probability" in table.value)
    assert not set(again["text"]) & set(expected["text"])

    other = new_session()
    other.query_params["data"] = "small-v2"  # another session finds the rounds before
    assert score(labelling(other)) == score(app)


@pytest.mark.slow
def test_a_language_that_is_labelled_but_not_held_out_is_measured_and_preselected(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = small_set(("en", "de")).frame
    frame = frame[(frame["language"] == "en") | (frame["split"] == "train")].reset_index(drop=True)
    german = frame.index[frame["language"] == "de"]
    frame.loc[german[7:], "intent"] = ""
    rest = UnlabelledSet(frame.loc[german[7:], ["text", "language", "id"]].reset_index(drop=True), "rest")
    measured = Suggester().fit(labelled_from_frame(frame[frame["intent"] != ""], "small")[0])
    sure_from = float(measured.suggest(rest, 10)["probability"].median())
    asked = list[tuple[int, int]]()

    def mostly_right(probabilities: np.ndarray, is_right: np.ndarray) -> float:
        asked.append((len(probabilities), int(is_right.sum())))
        return sure_from

    monkeypatch.setattr(tasks, "mostly_right_from", mostly_right)
    app = labelling(with_frame(frame))
    guesses = measured.guesses(stored(runs, "small").select(splits=["test"]))
    right = guesses.loc[guesses["language"] == "de", "is_right"]
    [metric] = [metric for metric in app.metric if metric.label.startswith("German")]
    assert (metric.value, metric.delta) == (f"{right.sum()} of 7", "") and len(right) == 7

    table = next(table.value for table in app.dataframe if "probability" in table.value)
    assert asked == [(len(guesses), guesses["is_right"].sum())]
    assert table["label"].tolist() == (table["probability"] / 100 >= sure_from).tolist()
    assert table["label"].sum() == 5 and any("are not ticked" in line.value for line in app.caption)

    first = table["text"].iloc[int(table["label"].to_numpy().argmin())]

    def corrected(table: pd.DataFrame, **about: object) -> pd.DataFrame:
        wrong = "label" in table and table["text"] == first
        return table.assign(intent=table["intent"].mask(wrong, "own")) if "label" in table else table

    with monkeypatch.context() as patched:
        patched.setattr("streamlit.data_editor", corrected)
        app.run()
        press(app, "Save 6 labels")
    app.run()
    new = stored(runs, "small-v2").frame.set_index("text")
    assert new["intent"].get(first) == "own" and len(new) == len(stored(runs, "small")) + 6
    # Only what was unticked by somebody is left out; the rest is offered again.
    again = next(table.value for table in app.dataframe if "probability" in table.value)
    assert set(again["text"]) & set(table["text"][~table["label"]])
    app.switch_page("views/train.py").run()
    assert next(box.value for box in app.multiselect if box.label == "Labels in") == ["en", "de"]


def test_no_change_has_no_arrow() -> None:
    before = pd.DataFrame({"labels": [30], "fitted": [61.52]})
    assert _since({"fitted": 61.55}, before) == ("as with 30 labels", False)
    assert _since({"fitted": 61.5}, before) == ("as with 30 labels", False)
    assert _since({"fitted": 60.0}, before) == ("-1.5 points since 30 labels", True)
    assert _since({"fitted": 60.0}, before.head(0)) == (None, False)


@pytest.mark.slow
def test_a_renamed_set_keeps_its_rounds_and_its_versions(runs: Path) -> None:
    app = labelling(with_frame(partly_labelled()))
    press(app, "Save 10 labels")
    for old, new in (("small", "begun"), ("small-v2", "mails")):
        renamed = new_session()
        renamed.query_params["data"] = old
        renamed.run().text_input(key=f"data-name-{old}").set_value(new).run()
        press(renamed, "Rename")
    assert score(labelling(renamed)) == score(app)
    press(renamed, "Undo: 10 sentences labelled")
    assert renamed.query_params["data"] == "begun"


@pytest.mark.slow
def test_typed_sentences_are_added_each_once_and_keep_the_set_as_it_is(runs: Path) -> None:
    frame = small_set(("en", "de")).frame
    app = labelling(with_frame(frame))
    assert not any("Save" in button.label for button in app.button)
    own = frame["text"][frame["language"] == "en"].iloc[0]
    typed = f"{own}\nCan I swim here tonight?\n\nKann ich meinen Hund mitbringen?\nCan I swim here tonight?\n"
    next(box for box in app.text_area if box.label == "One sentence a line").set_value(typed).run()
    said = next(line.value for line in app.caption if "new sentence" in line.value).replace("\\", "")
    assert said == "2 new sentences (English 1, German 1); 1 in the set already."
    press(app, "Add them to the set")
    assert app.query_params["data"] == "small-v2" and app.metric[0].delta == "2 without an intent"
    assert stored(runs, "small-v2").sha256() == stored(runs, "small").sha256()
    assert [table.value["language"].tolist() for table in app.dataframe if "probability" in table.value] in (
        [["en", "de"]],
        [["de", "en"]],
    )


@pytest.mark.slow
def test_sentences_of_every_format_and_of_plain_text_are_added() -> None:
    app = labelling(with_frame(small_set(("en", "de")).frame))
    app.session_state["label-how"] = "From a file"
    app.run()
    assert tuple(app.file_uploader[-1].allowed_type) == FILE_ENDINGS
    sentences = pd.DataFrame({"text": ["Can I swim here tonight?", "Is there a pool, or a gym?"]})
    endings = [*(table_format.endings[-1] for table_format in WRITERS), ".csv.gz"]
    files = {f"mails{ending}": written(sentences, ending) for ending in endings}
    for name, payload in {**files, "mails.txt": "\n".join(sentences["text"]).encode()}.items():
        app.file_uploader[-1].set_value([(name, payload, "")])
        app.run()
        assert not app.exception and not app.error
        assert any("2 new sentences (English 2)" in line.value.replace("\\", "") for line in app.caption), (
            name
        )


@pytest.mark.slow
def test_without_held_out_sentences_no_score_is_drawn() -> None:
    frame = partly_labelled()
    app = with_frame(frame[frame["split"] == "train"].drop(columns="split"))
    next(box for box in app.number_input if box.label == "Held out, percent").set_value(0).run()
    labelling(app)
    assert any("can't be measured" in info.value for info in app.info)
    press(app, "Save 10 labels")
    assert app.metric[0].value == "46"


@pytest.mark.slow
def test_a_held_out_share_stays_the_same_when_sentences_are_labelled(runs: Path) -> None:
    app = labelling(with_frame(partly_labelled(8).drop(columns="split")))
    chosen = [app.metric[3].value, press(app, "Save 10 labels").metric[3].value]
    assert chosen[0] == chosen[1] != "0"
    assert score(app)[1].endswith(" labels")


@pytest.mark.slow
def test_a_label_in_another_case_is_the_known_one(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = with_frame(partly_labelled())
    labelled = stored(runs, "small")
    explore(app, **{"explore-picked": (labelled.sha256(), (3, 5))})
    with monkeypatch.context() as patched:  # no test can type into a list
        patched.setattr("emu_app.workbench.picked.choose", lambda *_, **__: " TAXI")
        app.run()
        press(app, "Relabel")
    assert stored(runs, "small-v2").sha256() == labelled.relabel([3, 5], "taxi").sha256()


def test_picked_sentences_are_relabelled_or_dropped_in_a_new_version(runs: Path) -> None:
    frame = partly_labelled()
    app = with_frame(frame)
    labelled = stored(runs, "small")
    explore(app, **{"explore-picked": (labelled.sha256(), (3, 5, 40))})
    assert next(button for button in app.button if button.label == "Relabel").disabled
    next(box for box in app.selectbox if box.label == "Intent of the 3 sentences").set_value("taxi").run()
    press(app, "Relabel")
    assert app.query_params["data"] == "small-v2"
    relabelled = stored(runs, "small-v2")
    assert relabelled.sha256() == labelled.relabel([3, 5, 40], "taxi").sha256()
    kept = pd.read_parquet(runs / ".data" / "small-v2" / "rows.parquet")
    assert (kept["intent"] == "").sum() == (frame["intent"] == "").sum(), "sentences without an intent stay"
    assert [app.query_params["a"], app.query_params["b"]] == ["use", "none"]

    explore(app, **{"explore-picked": (relabelled.sha256(), (7,))})
    press(app, "Drop")
    assert app.query_params["data"] == "small-v3"
    assert stored(runs, "small-v3").sha256() == relabelled.drop([7]).sha256()


@pytest.mark.slow
def test_after_the_last_label_the_score_and_the_way_to_a_run_stay(runs: Path) -> None:
    frame = partly_labelled(10)
    waiting = int((frame["intent"] == "").sum())
    app = labelling(with_frame(frame))
    while any(button.label.startswith("Save ") for button in app.button):
        press(app, next(button.label for button in app.button if button.label.startswith("Save ")))
    assert app.query_params["data"] == f"small-v{-(-waiting // 10) + 1}"
    assert [done.value for done in app.success] == ["Every sentence has a label."]
    complete = stored(runs, app.query_params["data"])
    last = Suggester().fit(complete).score(complete.select(splits=["test"]))["fitted"]
    assert score(app)[0] == round(last, 1) and score(app)[1].endswith(" labels")
    assert any(link.proto.label == "Train a run on these labels" for link in app.get("page_link"))


@pytest.mark.slow
def test_sentences_left_out_of_all_rounds_are_offered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = labelling(with_frame(partly_labelled(11)))
    waiting = next(table.value for table in app.dataframe if "probability" in table.value)
    kept = waiting["text"].iloc[0]

    def untick(table: pd.DataFrame, **about: object) -> pd.DataFrame:
        return table.assign(label=table["text"] != kept) if "label" in table else table

    with monkeypatch.context() as patched:
        patched.setattr("streamlit.data_editor", untick)
        app.run()
        while any(button.label.startswith("Save ") for button in app.button):
            saves = [button for button in app.button if button.label.startswith("Save ")]
            press(app, saves[0].label)
    assert any("you left out 1 sentence" in note.value for note in app.info)
    assert score(app)[1].endswith(" labels")
    press(app, "Offer them again")
    again = next(table.value for table in app.dataframe if "probability" in table.value)
    assert again["text"].tolist() == [kept]


@pytest.mark.slow
def test_a_run_on_an_earlier_version_stays_b_when_labels_are_saved(runs: Path) -> None:
    app = with_frame(partly_labelled())
    first = stored(runs, "small")
    run = past(runs, "before", Status(state=RunState.FINISHED), {"note": "", "warnings": []})
    run.write("data.json", {"name": "small", "sha256": first.sha256()})
    assert app.switch_page("views/try.py").run().query_params["b"] == "run:before"
    labelling(app.switch_page("views/data.py").run())
    press(app, "Save 10 labels")
    assert app.switch_page("views/try.py").run().query_params["b"] == "run:before"


def keys(app: AppTest) -> dict[str, str]:
    """Return the label of each button that has a key."""
    return {button.proto.shortcut: button.label for button in app.button if button.proto.shortcut}


@pytest.mark.slow
def test_sentences_are_labelled_one_by_one_with_keys_and_undone(runs: Path) -> None:
    app = labelling(with_frame(partly_labelled()))
    press(app, "Label one by one, with keys")
    shortcuts = keys(app)
    assert sorted(name for name in shortcuts if name.isdigit()) == list("123456"), "six intents, six keys"
    by_key = {name.lower(): label for name, label in shortcuts.items()}
    assert {"left": "Back", "right": "Next", "ctrl+z": "Undo"}.items() <= by_key.items()
    assert [button.label for button in app.button].count("Undo") == 1
    assert [shortcuts[name] for name in "123456"] == sorted(stored(runs, "small").intents)
    app.button(key="label-1").click().run()
    app.button(key="label-2").click().run()
    press(app, "Next")
    app.button(key="label-3").click().run()
    assert any(button.label == "Save 3 labels" for button in app.button)
    app.button(key="label-undo").click().run()
    assert any(line.value.startswith("Sentence 4 of 10") for line in app.caption)
    press(app, "Back")
    press(app, "Back")
    app.button(key="label-4").click().run()  # another intent for the second sentence
    before = stored(runs, "small")
    press(app, "Save 2 labels")
    after = stored(runs, "small-v2")
    assert len(after) == len(before) + 2
    new = after.frame[~after.frame["text"].isin(before.frame["text"])]
    assert sorted(new["intent"]) == sorted([shortcuts["1"], shortcuts["4"]])

    def undos() -> list[str]:
        return [button.label for button in app.button if button.label.startswith("Undo")]

    assert undos() == ["Undo: 2 sentences labelled"], "one button takes back what came last"
    app.button(key="label-1").click().run()
    assert undos() == ["Undo"]
    app.button(key="label-undo").click().run()
    press(app, "Undo: 2 sentences labelled")
    assert app.query_params["data"] == "small" and not (runs / ".data" / "small-v2").exists()
    assert stored(runs, "small").sha256() == before.sha256()


@pytest.mark.slow
def test_a_search_is_relabelled_as_a_whole_and_undone(runs: Path) -> None:
    app = with_frame(small_set(("en", "de")).frame)
    labelled = stored(runs, "small")
    explore(app)
    assert not any(button.label.startswith("Pick all") for button in app.button)
    rows = labelled.frame.index[labelled.frame["text"].str.contains("pool", case=False)].tolist()
    next(box for box in app.text_input if box.label == "Search").set_value("POOL").run()
    press(app, f"Pick all {len(rows)}")
    next(box for box in app.selectbox if box.label == f"Intent of the {len(rows)} sentences").set_value(
        "taxi"
    ).run()
    press(app, "Relabel")
    assert stored(runs, "small-v2").sha256() == labelled.relabel(rows, "taxi").sha256()
    press(app, f"Undo: {len(rows)} sentences relabelled as taxi")
    assert app.query_params["data"] == "small"


@pytest.mark.slow
def test_undo_keeps_a_version_that_a_run_was_trained_on(runs: Path) -> None:
    app = labelling(with_frame(partly_labelled()))
    press(app, "Save 10 labels")
    run = past(runs, "on-labels", Status(state=RunState.FINISHED), {"note": "", "warnings": []})
    run.write("data.json", {"name": "small v2", "sha256": stored(runs, "small-v2").sha256()})
    press(app, "Undo: 10 sentences labelled")
    assert app.query_params["data"] == "small" and (runs / ".data" / "small-v2").is_dir()


@pytest.mark.slow
def test_a_forecast_is_drawn_and_then_the_measured_gain_beside_it() -> None:
    app = labelling(with_frame(partly_labelled()))
    app.toggle(key="label-forecast").set_value(True).run()
    assert not app.exception and not app.error

    def gains() -> pd.DataFrame:
        table: pd.DataFrame = next(of.value for of in app.dataframe if "Accuracy, %" in of.value)
        return table.set_index("Language")

    forecast = gains()["Forecast of 10 more"]
    assert set(forecast.index) == {"English", "German", "Mean"}
    assert forecast.str.fullmatch(r"[+-]\d+\.\d \([+-]\d+\.\d to [+-]\d+\.\d\)").all()
    press(app, "Save 10 labels")
    after = gains()
    assert after["Forecast before"].tolist() == forecast.tolist()
    measured = app.metric[-1].delta.split(" ")[0]
    assert after.loc["Mean", "Measured"] == measured
    curve = next(iter(app.get("plotly_chart"))).proto.spec
    assert '"name":"forecast"' in curve.replace(": ", ":")

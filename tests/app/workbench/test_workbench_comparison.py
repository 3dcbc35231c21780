"""The Workbench with and without a run, on suitable and unsuitable data."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work import cache
from emu_core import train
from emu_core.methods.registry import configure
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run
from tests.support.app_pages import compare, explore, with_data, with_frame
from tests.support.at_once import AtOnce
from tests.support.bound_widgets import bound, unkept
from tests.support.small import small_file
from tests.support.tiny_transformer import tiny_transformer
from tests.support.workbench_pages import Trained, bars, drawn_rows, headline, linked


@pytest.mark.slow
def test_without_a_run_the_workbench_says_what_is_seen_and_where_to_train_one(trained: Trained) -> None:
    app = explore(with_data(trained[2].read_bytes()))
    assert headline(app) == (
        f"The map shows {len(trained[1])} questions in three languages as USE multilingual sees them: those it finds "
        "alike are near each other. Train a run to see what your labels change."
    )
    assert any(
        link.proto.label == "Train a run" and link.proto.page == "train" for link in app.get("page_link")
    )
    assert drawn_rows(app, "x") == list(range(len(trained[1])))
    assert drawn_rows(app, "x2") == []


def test_an_encoder_beside_itself_is_named_as_such(app: AppTest, trained: Trained) -> None:
    app.query_params["a"] = f"run:{trained[0].name}"
    compare(app, "Take away", trained[0].name)
    assert "A and B are the same encoder; choose another B above" in headline(app)


def test_compare_shows_progress_and_computes_nothing_itself(
    app: AppTest, worker: AtOnce, tmp_path: Path
) -> None:
    worker.never = True
    shutil.rmtree(cache.all_runs_root() / ".vectors", ignore_errors=True)
    compare(app)
    [bar] = app.get("progress")  # what is measured comes first, and nothing has two bars
    assert (bar.proto.value, bar.proto.text) == (
        25,
        "Encoder A (USE multilingual): opening it and encoding 108 sentences",
    )
    assert "Neighbours" not in {tab.label for tab in app.tabs}  # no drawer yet


def test_what_the_run_measured_is_there_before_anything_is_encoded(
    app: AppTest, worker: AtOnce, trained: Trained
) -> None:
    worker.never = True
    shutil.rmtree(cache.all_runs_root() / ".vectors", ignore_errors=True)
    explore(app)
    labelled = trained[0].data().labelled  # type: ignore[attr-defined]
    assert headline(app).startswith(f"Trained on {labelled} English questions")
    assert headline(app).endswith(run_verdict(trained[0].metrics()).sentence)
    assert '<th scope="row">German</th>' in bars(app)
    assert "The maps appear here." in {caption.value for caption in app.caption}
    app.selectbox(key="choose-on").set_value("train").run()  # which the run did not measure
    assert headline(app).startswith(f"Trained on {labelled} English questions")
    awaited = {caption.value for caption in app.caption}
    assert {"The maps appear here.", "A bar for each language appears here."} <= awaited


def map_vectors(spec: str, trained: Trained) -> str:
    """The key of the task that encodes all sentences."""
    return str(cache.vectors_file(spec, trained[1].sha256(), trained[1].frame["text"].tolist()))


def test_the_verdict_does_not_wait_for_the_maps_and_a_is_drawn_without_b(
    app: AppTest, worker: AtOnce, trained: Trained
) -> None:
    shutil.rmtree(cache.all_runs_root() / ".vectors", ignore_errors=True)
    everything = list(range(len(trained[1])))
    worker.endless = map_vectors("use", trained)
    worker.also_endless = map_vectors(f"run:{trained[0].folder}", trained)
    explore(app)
    assert "inds similar sentences " in headline(app)
    [bar] = app.get("progress")
    assert bar.proto.text == "Encoder A (USE multilingual): opening it and encoding 324 sentences"
    assert any(caption.value == "The maps appear here." for caption in app.caption)
    worker.endless = worker.also_endless
    app.run()
    [bar] = app.get("progress")
    assert bar.proto.text == "Encoder B: opening it and encoding 324 sentences"
    assert drawn_rows(app, "x") == everything and drawn_rows(app, "x2") == []
    assert unkept(app) == set()
    worker.endless = worker.also_endless = "none"
    app.run()
    assert not app.get("progress") and drawn_rows(app, "x2") == everything


@pytest.mark.slow
def test_old_maps_stay_until_more_sentences_are_encoded(
    app: AppTest, worker: AtOnce, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(cache.all_runs_root() / ".vectors", ignore_errors=True)
    monkeypatch.setattr("emu_app.panels.maps.FIRST_POINTS", 90)
    explore(app)
    few = drawn_rows(app, "x2")
    assert len(few) == 90
    worker.endless = map_vectors(f"run:{trained[0].folder}", trained)
    app.toggle(key="explore-all").set_value(True).run()
    assert not app.exception
    assert drawn_rows(app, "x") == drawn_rows(app, "x2") == few and len(app.get("progress")) == 1
    assert "explore-all" in bound(app) and unkept(app) == set()
    assert "inds similar sentences " in headline(app)
    worker.endless = "none"
    app.run()
    assert drawn_rows(app, "x2") == list(range(len(trained[1])))


@pytest.mark.slow
def test_too_few_sentences_are_an_error(trained: Trained, app: AppTest) -> None:
    frame = trained[1].frame
    german = frame[frame["language"] == "de"].iloc[[0]].assign(split="test")
    thin = compare(with_frame(pd.concat([frame[frame["language"] == "en"], german])), run=trained[0].name)
    assert "Language 'de' has one sentence" in thin.error[0].value.replace("\\", "")


@pytest.mark.slow
def test_a_damaged_run_is_an_error_and_not_a_crash(own_run: Run) -> None:
    (own_run.encoder_folder / "model.safetensors").write_bytes(b"no")
    app = linked()
    app.query_params["b"] = f"run:{own_run.name}"
    assert compare(app).error
    (own_run.folder / "config.json").write_text("{")
    for page in (compare, explore):
        app = linked()
        app.query_params["b"] = f"run:{own_run.name}"
        (problem,) = page(app).warning
        assert "config" in problem.value and "damaged" in problem.value and not app.exception
        assert next(box for box in app.selectbox if box.label.startswith("B")).value == "none"


@pytest.mark.slow
def test_languages_that_an_encoder_does_not_know_are_named(app: AppTest, trained: Trained) -> None:
    frame = trained[1].frame.replace({"language": {"ja": "he"}})
    hebrew = compare(with_frame(frame), run=trained[0].name)
    notes = [note.value.replace("\\", "") for note in hebrew.info if "not trained on Hebrew" in note.value]
    assert notes == ["The encoder USE multilingual was not trained on Hebrew: it may know little of it."]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hf", "laser"])
def test_every_kind_of_encoder_can_be_compared_and_explored(
    kind: str, tmp_path: Path, laser_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "hf":
        spec = f"hf:{tiny_transformer(tmp_path / 'model')}"
    else:
        spec = "laser"
        monkeypatch.setenv("EMU_LASER_DIR", str(laser_files))
    file = small_file(tmp_path, ("en", "de"))
    root = tmp_path / "runs"
    config = configure("emu", spec, epochs=1)
    run = train(str(file), out=root / "other", encoder=spec, method="emu", config=config, device="cpu")
    monkeypatch.setenv("EMU_RUNS", str(root))
    app = compare(with_data(file.read_bytes()))
    assert app.dataframe[1].value["A %"].tolist() == pytest.approx(list(run.metrics().base.values()))
    assert app.dataframe[1].value["B %"].tolist() == pytest.approx(list(run.metrics().specialised.values()))
    explore(app)
    assert not app.error
    assert drawn_rows(app, "x") == drawn_rows(app, "x2") == list(range(len(pd.read_csv(file))))

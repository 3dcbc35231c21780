"""The Workbench with and without a run, on suitable and unsuitable data."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from emu_app.work import cache
from emu_core import train
from emu_core.methods.registry import configure
from emu_core.runs.run import Run
from tests.support.app_pages import compare, explore, with_data, with_frame
from tests.support.at_once import AtOnce
from tests.support.small import small_file
from tests.support.tiny_transformer import tiny_transformer
from tests.support.workbench_pages import Trained, drawn, drawn_rows, linked


def test_without_a_run_the_workbench_says_where_to_train_one_and_shows_the_base_alone(
    trained: Trained,
) -> None:
    app = explore(with_data(trained[2].read_bytes()))
    assert app.info[0].value.startswith("There is no encoder B")
    assert any(
        link.proto.label == "Train a run" and link.proto.page == "train" for link in app.get("page_link")
    )
    assert drawn_rows(app, "x") == list(range(len(trained[1])))
    assert drawn_rows(app, "x2") == []


def test_an_encoder_beside_itself_is_named_as_such(app: AppTest, trained: Trained) -> None:
    app.query_params["a"] = f"run:{trained[0].name}"
    compare(app, "Predict", trained[0].name)
    assert app.info[0].value.startswith("A and B are the same encoder")


def test_compare_shows_progress_and_computes_nothing_itself(
    app: AppTest, worker: AtOnce, tmp_path: Path
) -> None:
    worker.never = True
    shutil.rmtree(cache.all_runs_root() / ".vectors", ignore_errors=True)
    compare(app)
    progress = app.get("progress")[0].proto
    assert (progress.value, progress.text) == (25, "Encoder A (use): opening it and encoding 324 sentences")
    assert not app.tabs


def test_too_few_sentences_are_an_error_and_triples_still_work(trained: Trained, app: AppTest) -> None:
    frame = trained[1].frame
    german = frame[frame["language"] == "de"].iloc[[0]].assign(split="test")
    thin = compare(with_frame(pd.concat([frame[frame["language"] == "en"], german])), run=trained[0].name)
    assert "Language 'de' has one sentence" in thin.error[0].value.replace("\\", "")
    compare(thin, "Sentence triples")
    assert len(drawn(thin)) == 1


def test_a_damaged_run_is_an_error_and_not_a_crash(own_run: Run) -> None:
    (own_run.encoder_folder / "model.safetensors").write_bytes(b"no")
    app = linked()
    app.query_params["b"] = f"run:{own_run.name}"
    assert compare(app).error
    (own_run.folder / "config.json").write_text("{")
    for page in (compare, explore):
        (problem,) = page(app).warning
        assert "config" in problem.value and "damaged" in problem.value and not app.exception
        assert next(box for box in app.selectbox if box.label.startswith("B")).value == "none"


def test_languages_that_an_encoder_does_not_know_are_named(app: AppTest, trained: Trained) -> None:
    frame = trained[1].frame.replace({"language": {"ja": "he"}})
    hebrew = compare(with_frame(frame), run=trained[0].name)
    assert any("A: use was not trained on Hebrew" in note.value.replace("\\", "") for note in hebrew.info)


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
    assert app.dataframe[0].value["A %"].tolist() == pytest.approx(list(run.metrics().base.values()))
    assert app.dataframe[0].value["B %"].tolist() == pytest.approx(list(run.metrics().specialised.values()))
    explore(app)
    assert not app.error
    assert drawn_rows(app, "x") == drawn_rows(app, "x2") == list(range(len(pd.read_csv(file))))

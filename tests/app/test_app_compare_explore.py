"""The Workbench without a browser, on a run that was really trained."""

import base64
import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from emu_app.panels import maps
from emu_app.panels.maps import is_shown
from emu_app.shell import widgets
from emu_app.shell.widgets import draw_csv_button
from emu_app.work import cache
from emu_app.work.background import Failed
from emu_app.work.tasks import encode_to_file, export_to_zip
from emu_app.workbench.takeaway import _OnDisk
from emu_core import train
from emu_core.api import compare as api_compare
from emu_core.api import forgetting as api_forgetting
from emu_core.api.forgetting import read_forgetting
from emu_core.data.labelled import LabelledSet
from emu_core.data.readers.formats import FILE_ENDINGS
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.sentence_transformers_module import EmuModule
from emu_core.errors import EmuError, Message
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.projection import Projection, aligned, project, trustworthiness
from emu_core.exporting import ExportFormat
from emu_core.methods.registry import configure
from emu_core.runs.run import Run
from tests.support.app_pages import PATIENCE_S, compare, explore, press, with_data, with_frame
from tests.support.at_once import AtOnce
from tests.support.paths import MAIN
from tests.support.small import small_file, small_set
from tests.support.small_run import small_run
from tests.support.tiny_transformer import tiny_transformer

Trained = tuple[Run, LabelledSet, Path]
DATA = "small"  # the name of its data in the library
VECTORS: dict[tuple[str, ...], bytes] = {}  # what tasks wrote, for all tests
FIGURES: dict[tuple[bytes, ...], dict[str, Any]] = {}
TRIPLE = ("When does the pool open?", "When does the gym open?", "From when on can we swim?")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return small_run(tmp_path_factory.mktemp("app") / "runs")


def encode_once(spec: str, weights: str, texts: list[str], path: Path) -> None:
    """Do what `encode_to_file` does, but not twice for one encoder and texts, whatever the folder of runs."""
    file = Path(spec.removeprefix("run:")) / "encoder" / "model.safetensors"
    known = (hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else weights, *texts)
    if known not in VECTORS:
        encode_to_file(spec, weights, texts, path)
        VECTORS[known] = path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(VECTORS[known])


def computed_once(compared: Comparison, computed: Callable[[Comparison], Any] = Comparison.computed) -> Any:
    """Do what `Comparison.computed` does, but not twice for the same vectors of the same sentences."""
    key = (compared.base.tobytes(), compared.other.tobytes(), compared.sentences.to_json().encode())
    if key not in FIGURES:
        FIGURES[key] = computed(compared)
    return FIGURES[key]


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AtOnce:
    monkeypatch.setattr(cache, "encode_to_file", encode_once)
    monkeypatch.setattr(Comparison, "computed", computed_once)
    worker = AtOnce()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "mapper", lambda: worker)
    monkeypatch.setattr(cache, "upload_reader", lambda: worker)
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "none"))
    return worker


@pytest.fixture
def stored(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the trained run, with the run's own data in the library."""
    run, _, file = trained
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    if not (run.folder.parent / ".data" / DATA).exists():
        with_data(file.read_bytes())
    return run.folder.parent


@pytest.fixture
def app(stored: Path) -> AppTest:
    """The app with the trained run and its own data."""
    return linked()


def linked() -> AppTest:
    """The app by a link that names the data of the trained run."""
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S)
    app.query_params["data"] = DATA
    return app


@pytest.fixture
def own_run(stored: Path, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The trained run, and its data, in a folder of runs that a test may write to."""
    shutil.copytree(stored / ".data", tmp_path / "runs" / ".data")
    shutil.copytree(trained[0].folder, tmp_path / "runs" / "own")
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    return Run(tmp_path / "runs" / "own")


def figures(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def is_map(spec: dict[str, Any]) -> bool:
    return spec["layout"].get("clickmode") == "event+select"


def figure(app: AppTest) -> dict[str, Any]:
    """The maps as they are drawn: another figure may take the place of the chart's own."""
    components = [json.loads(component.proto.json) for component in app.get("bidi_component")]
    instead = next(data["figure"] for data in components if "figure" in data)
    return json.loads(instead) if instead else next(spec for spec in figures(app) if is_map(spec))


def drawn(app: AppTest) -> list[dict[str, Any]]:
    """The figures of the drawer."""
    return [spec for spec in figures(app) if not is_map(spec)]


def numbers(array: Any) -> list[float]:
    if isinstance(array, dict):
        return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).tolist()
    return list(array)


def drawn_rows(app: AppTest, axis: str) -> list[int]:
    """The rows whose points are in a panel."""
    traces = [trace for trace in figure(app)["data"] if trace.get("xaxis") == axis and "customdata" in trace]
    return sorted(int(row) for trace in traces for row in numbers(trace["customdata"]))


def drawn_places(app: AppTest, axis: str) -> np.ndarray:
    """The places (N, 2) of a panel's points, in the order of their rows."""
    traces = [trace for trace in figure(app)["data"] if trace.get("xaxis") == axis and "customdata" in trace]
    rows, x, y = (
        np.concatenate([numbers(trace[name]) for trace in traces]) for name in ("customdata", "x", "y")
    )
    return np.stack([x, y], axis=1)[np.argsort(rows)]


def spoil(run: Run) -> None:
    """Make a run's encoder the base encoder with noise in its last layer."""
    encoder = load_encoder("use")
    torch.manual_seed(0)
    with torch.no_grad():
        encoder.get_parameter("dense3.weight").add_(0.4 * torch.randn(512, 512))
    shutil.rmtree(run.encoder_folder)
    encoder.save(run.encoder_folder)


def vectors(labelled: LabelledSet, run: Run) -> tuple[np.ndarray, np.ndarray]:
    texts = labelled.frame["text"].tolist()
    return load_encoder("use").encode(texts), load_encoder(f"run:{run.folder}").encode(texts)


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


# ------------------------------------------------------------------------------------------------ Compare


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


def test_accuracy_is_what_the_run_itself_measured(app: AppTest, trained: Trained) -> None:
    run = trained[0]
    measured = run.metrics()
    compare(app)
    mean = next(metric for metric in app.metric if metric.label == "Mean of 5 directions with English")
    assert mean.value == f"{measured.mean_specialised:.1f} %"
    assert mean.delta.endswith(f"points from {measured.mean_base:.1f}")
    table = app.dataframe[0].value
    assert len(table) == 9
    assert table["A %"].tolist() == pytest.approx(list(measured.base.values()))
    assert table["B %"].tolist() == pytest.approx(list(measured.specialised.values()))
    assert not app.info  # nothing to warn of: the run's own data, its test rows
    charts = [spec["data"] for spec in drawn(app)]
    guarded, (base, *_), (new, *_), (difference, *_) = charts
    points = {point for trace in guarded for point in numbers(trace["x"])}
    assert points == {change.difference for change in measured.guard.values()}
    probe = next(metric for metric in app.metric if metric.label.startswith("A linear probe"))
    leakage = measured.leakage
    assert probe.value == f"{leakage.specialised.probe:.1f} %" and "chance 33.3 %" in probe.label
    assert probe.delta.endswith(f"points from {leakage.base.probe:.1f}")
    assert numbers(base["z"]) == pytest.approx(list(measured.base.values()))
    gains = np.array(list(measured.specialised.values())) - list(measured.base.values())
    assert numbers(difference["z"]) == pytest.approx(gains)
    assert (base["zmin"], base["zmax"]) == (new["zmin"], new["zmax"])  # one scale, or the eye is misled


def test_a_language_that_got_worse_is_said_plainly(own_run: Run) -> None:
    spoil(own_run)
    app = compare(linked())
    table = app.dataframe[0].value
    fallen = table[table["Difference"] < 0]
    assert len(fallen) > 0
    by_language = table.groupby("Queries")["Difference"].mean()
    said = " ".join(box.value for box in [*app.error, *app.warning[1:]]).replace("\\", "")
    assert (by_language < 0).any()
    assert {language for language in by_language.index if f"{language} (" in said} == set(
        by_language.index[by_language < 0]
    )
    assert said.startswith(("Loses: ", "May lose "))
    worst = fallen.sort_values("Difference").iloc[0]
    assert f"**{len(fallen)} directions of 9 got worse:**" in app.warning[0].value
    assert f"{worst['Queries']} queries in a pool of {worst['Pool']}" in app.warning[0].value
    assert not app.success
    worse = next(metric for metric in app.metric if metric.label == "Directions that got worse")
    assert int(worse.value) == len(fallen)


def test_data_that_the_run_has_not_seen_are_named_as_such(
    app: AppTest, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(app)
    app.selectbox(key="choose-on").set_value("all").run()
    assert "was trained on 216 of these 324 sentences" in app.info[0].value
    assert not app.success and any("seen in training" in info.value for info in app.info)
    assert all(", seen in training" in m.delta for m in app.metric if m.label.startswith("Mean"))
    other = compare(with_frame(trained[1].frame.iloc[:-3]), run=trained[0].name)
    other.selectbox(key="choose-on").set_value("train").run()
    assert "was trained on these sentences" in other.info[0].value
    assert other.selectbox(key="choose-b").label == "B: other data"


def test_a_large_set_is_measured_on_a_sample_and_says_so(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_compare, "MOST_COMPARED", 60)
    compare(app)
    assert "Measured on 60 of 108 sentences" in app.info[0].value.replace("\\", "")
    assert app.dataframe[0].value["Sentences"].sum() == 3 * 60


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


def test_a_typed_triple_has_the_cosines_of_both_encoders(app: AppTest, trained: Trained) -> None:
    compare(app, "Sentence triples")
    for place, text in enumerate(TRIPLE):
        app.text_area[place].set_value(text)
    app.run()
    table = app.dataframe[0].value
    for name, spec in (("A", "use"), ("B", f"run:{trained[0].folder}")):
        a, b, c = load_encoder(spec).encode(list(TRIPLE))
        cosines = [cosine(a, b), cosine(a, c), cosine(b, c)]
        assert table[name].tolist() == pytest.approx(cosines, abs=1e-5)
    # Rounded to what is shown, so that no change is never "-0.000".
    assert table["Change"].tolist() == pytest.approx((table["B"] - table["A"]).tolist(), abs=5.01e-4)
    app.text_area[1].set_value("  ").run()
    assert app.info[0].value == "Type all three sentences."


def test_a_suggested_triple_is_one_that_the_base_encoder_gets_wrong(app: AppTest, trained: Trained) -> None:
    compare(app, "Sentence triples")
    pick = next(box for box in app.selectbox if box.key == "triple-pick")
    pick.set_value("0").run()
    texts = [area.value for area in app.text_area]
    frame = trained[1].frame.drop_duplicates("text").set_index("text")
    first, second, third = (frame.loc[text, "intent"] for text in texts)
    assert first == third != second
    table = app.dataframe[0].value
    assert table["A"].iloc[0] > table["A"].iloc[1]
    closest = {name: table["Sentences"].iloc[int(table[name].argmax())] for name in ("A", "B")}
    said = app.markdown[-1].value
    assert re.findall(r"\*\*(.+?)\*\*", said) == list(dict.fromkeys(closest.values()))


def test_the_first_view_has_a_triple_that_a_gets_wrong_and_b_right(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"s1": "Pool open?", "s2": "Shop open?", "s3": "Can I swim?", "intent": "pool", "language": "en"}
    row |= {"base_s12": 0.8, "base_s13": 0.5, "base_closest": "1-2"}
    row |= {"other_s12": 0.3, "other_s13": 0.6, "other_closest": "1-3"}
    wrong = row | {"other_closest": "1-2"}
    monkeypatch.setattr(
        "emu_core.evaluation.comparison.Comparison.triples", lambda *_, **__: pd.DataFrame([wrong, row])
    )
    compare(app, "Predict")
    texts = [markdown.value for markdown in app.markdown]
    assert "**A triple that B gets right**" in texts
    assert "✗ A puts it next to **Shop open?** (cosine 0.80)" in texts
    assert "✓ B puts it next to **Can I swim?** (cosine 0.60)" in texts
    assert any("B gets 1 of the 2 triples right" in caption.value for caption in app.caption)


def test_triples_of_a_file_are_scored_by_both_encoders(app: AppTest, trained: Trained) -> None:
    compare(app, "Sentence triples", **{"triples-from": "From a file"})
    assert tuple(app.file_uploader[0].allowed_type) == FILE_ENDINGS
    table = pd.DataFrame([TRIPLE, TRIPLE[::-1]], columns=["S1", "s2", "s3"]).assign(language=["en", "de"])
    app.file_uploader[0].set_value([("triples.csv", table.to_csv(index=False).encode(), "")])
    app.run()
    assert not app.exception and not app.error
    shown = next(frame.value for frame in app.dataframe if "A s1-s2" in frame.value)
    for name, spec in (("A", "use"), ("B", f"run:{trained[0].folder}")):
        for row, three in zip(shown.to_dict("records"), (TRIPLE, TRIPLE[::-1]), strict=True):
            a, b, c = load_encoder(spec).encode(list(three))
            assert row[f"{name} s1-s3"] == pytest.approx(cosine(a, c), abs=1e-5)
            assert row[f"{name} right"] == (cosine(a, c) > cosine(a, b))
    right = {name: int(shown[f"{name} right"].sum()) for name in "AB"}
    assert any(f"**A** {right['A']}, **B** {right['B']}" in line.value for line in app.markdown)
    for content, told in ((b"s1,s2\na,b\n", "has no column s3"), (b"s1,s2,s3\na,b,\n", "Row 1 of")):
        app.file_uploader[0].set_value([("triples.csv", content, "")])
        app.run()
        assert told in app.error[0].value.replace("\\", "")


def test_languages_that_an_encoder_does_not_know_are_named(app: AppTest, trained: Trained) -> None:
    frame = trained[1].frame.replace({"language": {"ja": "he"}})
    hebrew = compare(with_frame(frame), run=trained[0].name)
    assert any("A: use was not trained on Hebrew" in note.value.replace("\\", "") for note in hebrew.info)


def test_similarity_takes_sentences_of_the_data_and_typed_ones(app: AppTest) -> None:
    compare(app, "Similarity")
    box = next(box for box in app.multiselect if box.label.startswith("Sentences: "))
    assert 3 <= len(box.value) <= 9
    box.set_value([box.options[0], box.options[5], "Is there a sauna?"]).run()
    assert not app.exception
    assert set(app.dataframe[0].value["Text"]) >= {"Is there a sauna?"}
    cells = drawn(app)[0]["data"][0]["z"]
    assert np.diag(np.reshape(numbers(cells), (3, 3))).tolist() == pytest.approx([1, 1, 1])
    box = next(box for box in app.multiselect if box.label.startswith("Sentences: "))
    box.set_value(box.value[:1]).run()
    assert app.info[0].value == "Choose two sentences or more."


def test_confusions_say_what_is_drawn(app: AppTest) -> None:
    compare(app, "Confused intents")
    assert any("of the sentences of each intent" in caption.value for caption in app.caption)
    assert len(drawn(app)) == 3
    pairs = app.dataframe[0].value
    assert list(pairs) == ["intent", "neighbour", "base", "other", "difference"] and len(pairs)


def test_changed_neighbours_are_filtered_and_counted(app: AppTest, trained: Trained) -> None:
    compare(app, "Changed neighbours")
    shown = app.dataframe[0].value
    assert set(shown["change"]) <= {"fixed", "broken"}
    for kinds in (["unchanged", "changed", "fixed", "broken"], ["unchanged"]):
        app.session_state["changed-kinds"] = kinds
        app.run()
        assert set(app.dataframe[0].value["change"]) <= set(kinds)
    app.session_state["changed-kinds"] = ["unchanged", "changed", "fixed", "broken"]
    app.run()
    assert len(app.dataframe[0].value) == 108
    languages = next(box for box in app.multiselect if box.label == "Of the sentences in")
    languages.set_value(["ja"]).run()
    assert set(app.dataframe[0].value["language"]) == {"ja"}


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


KEPT_STS = {
    "base": 0.74, "specialised": 0.69, "difference": -0.05, "low": -0.06, "high": -0.04, "count": 1500, "flagged": True,
}  # fmt: skip
KEPT_PAIRS = {
    "base": 93.0, "specialised": 94.5, "difference": 1.5, "low": 0.5, "high": 2.5, "count": 1000, "flagged": False,
}  # fmt: skip


def test_the_curves_of_a_and_b_lie_over_each_other(own_run: Run) -> None:
    another = own_run.folder.parent / "another"
    shutil.copytree(own_run.folder, another)
    records = own_run.history()
    (another / "log.jsonl").write_text("".join(json.dumps(record.values()) + "\n" for record in records[:3]))
    app = linked()
    app.query_params["a"] = "run:another"
    app = compare(app, "Training", own_run.name)
    (spec,) = drawn(app)
    losses = [trace for trace in spec["data"] if trace["yaxis"] == "y"]
    assert [trace["name"] for trace in losses] == ["A: another", f"B: {own_run.name}"]
    assert len(numbers(losses[0]["x"])) == 3
    (another / "log.jsonl").unlink()
    app.run()
    assert "A: another has no curves" in " ".join(info.value for info in app.info).replace("\\", "")
    assert len(drawn(app)) == 1


@pytest.mark.parametrize("name", ["A", "B"])
def test_an_encoder_is_made_a_zip_beside_the_page_and_downloaded(
    own_run: Run, worker: AtOnce, name: str, tmp_path: Path
) -> None:
    app = compare(linked(), "Take away", **{"download-encoder": name})
    worker.endless = "export:"
    press(app, "Prepare the zip")
    assert "packing the files" in app.get("progress")[-1].proto.text
    worker.endless = "none"
    app.run()
    title = {"A": "use-st", "B": "own-st"}[name]
    (button,) = [one.proto for one in app.get("download_button") if one.proto.label.startswith("Download")]
    assert button.label.startswith(f"Download {title}.zip (") and not app.exception
    (path,) = (own_run.folder.parent / ".downloads").iterdir()  # no folder that it was made in
    content = _OnDisk(path).read()
    assert isinstance(content, memoryview) and bytes(content) == path.read_bytes()
    with ZipFile(path) as archive:
        assert {entry.split("/")[0] for entry in archive.namelist()} == {title}
        assert f"{title}/README.md" in archive.namelist() and archive.testzip() is None
        archive.extractall(tmp_path / "out")
    spec = {"A": "use", "B": f"run:{own_run.folder}"}[name]
    opened = EmuModule.load(str(tmp_path / "out" / title)).encoder
    np.testing.assert_allclose(opened.encode(TRIPLE), load_encoder(spec).encode(TRIPLE), atol=1e-5)


def test_what_can_not_be_exported_is_said(own_run: Run) -> None:
    shutil.rmtree(own_run.encoder_folder)
    with pytest.raises(EmuError):
        export_to_zip(
            f"run:{own_run.folder}", ExportFormat.ONNX, "own", own_run.folder.parent / ".d" / "x.zip"
        )
    assert not list((own_run.folder.parent / ".d").iterdir())


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


def test_a_damaged_forgetting_file_is_said(own_run: Run) -> None:
    damaged = ("{", "[]", '{"sts": {}}', '{"sts": {"de": {"base": "x"}}, "translations": {}}')
    app = linked()
    for content in (*damaged, '{"sts": 3, "translations": {}}'):
        (own_run.folder / "forgetting.json").write_text(content)
        compare(app, "Forgetting")
        assert "make it again with the tab Forgetting" in app.error[0].value, content


def test_a_table_goes_out_as_it_was_filtered_and_with_the_page(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(
        st, "download_button", lambda label, data, **_: sent.append(data) if "CSV" in label else None
    )
    compare(app, "Changed neighbours")
    for kinds in (["unchanged", "changed"], ["unchanged"]):
        app.session_state["changed-kinds"] = kinds
        app.run()
        file = pd.read_csv(io.BytesIO(sent[-1]), encoding="utf-8-sig")
        shown = app.dataframe[0].value
        assert set(file["change"]) == set(kinds)
        assert file["sentence"].tolist() == shown["sentence"].tolist()


def test_two_tables_of_one_name_have_their_own_files_and_a_long_one_is_made_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(
        st, "download_button", lambda label, data, **_: sent.append(data) if "CSV" in label else None
    )
    first, second = (pd.DataFrame({"text": [text]}) for text in ("one", "two"))
    for table in (first, second, first, first.rename(columns={"text": "word"})):
        draw_csv_button(table, "x.csv")
    assert [data.decode("utf-8-sig").split() for data in sent] == [
        ["text", "one"],
        ["text", "two"],
        ["text", "one"],
        ["word", "one"],
    ]
    monkeypatch.setattr(widgets, "MOST_AT_ONCE", 0)
    draw_csv_button(second, "x.csv")
    assert sent[-1]() == sent[1]


# ------------------------------------------------------------------------------------------------ Explore


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
    assert titles[:2] == ["A: use, PCA", f"B: {trained[0].name}, PCA"]
    assert {f"<b>{intent}</b>" for intent in trained[1].intents} >= set(titles[2:]) != set()
    assert {t["legendgroup"] for t in spec["data"] if t.get("xaxis") == "x"} == set(trained[1].intents)
    explore(app, **{"explore-colour": "language"})
    assert {t["legendgroup"] for t in figure(app)["data"] if t.get("xaxis") == "x"} == {"en", "de", "ja"}


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


def test_filters_that_leave_nothing_say_so(trained: Trained, app: AppTest) -> None:
    frame = trained[1].frame
    explore_app = explore(with_frame(frame[~((frame["language"] == "ja") & (frame["intent"] == "pool"))]))
    for label, value in (("Languages", ["ja"]), ("Intents", ["pool"])):
        next(box for box in explore_app.multiselect if box.label == label).set_value(value)
    explore_app.run()
    assert any("No sentence passes" in info.value for info in explore_app.info)
    assert not any(map(is_map, figures(explore_app)))


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


def test_picked_sentences_fill_the_table_until_they_are_cleared(app: AppTest, trained: Trained) -> None:
    sha = trained[1].sha256()
    explore(app, **{"explore-picked": (sha, (3, 50, 200))})
    assert app.dataframe[0].value["Sentence"].tolist() == trained[1].frame["text"].iloc[[3, 50, 200]].tolist()
    next(button for button in app.button if button.label == "Clear").click().run()
    assert not app.dataframe
    explore(app, **{"explore-picked": ("another set", (3, 50, 200))})
    assert not app.dataframe


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


def test_explore_shows_the_first_map_and_how_far_the_refined_one_is(
    app: AppTest, worker: AtOnce, trained: Trained
) -> None:
    explore(app)  # leaves the vectors on disk
    worker.never = True
    explore(app, **{"explore-method": "umap"})
    progress = app.get("progress")[-1].proto
    assert progress.value == 25
    assert progress.text == "Refining A: UMAP, B: UMAP"
    # Until then the PCA is drawn, the second map turned onto the first.
    base, specialised = (project(found, Projection.PCA) for found in vectors(trained[1], trained[0]))
    for axis, expected in (("x", base), ("x2", aligned(specialised, base))):
        np.testing.assert_allclose(drawn_places(app, axis), expected, atol=1e-4)


def refining(app: AppTest) -> bool:
    return any(bar.proto.text.startswith("Refining") for bar in app.get("progress"))


def test_stopped_maps_stay_as_they_are_until_they_are_refined_again(app: AppTest, worker: AtOnce) -> None:
    explore(app)
    worker.never = True
    explore(app, **{"explore-method": "umap"})
    next(button for button in app.button if button.label == "Stop").click().run()
    assert worker.stopped[-2:] == [key for key in worker.asked if ":umap:" in key][:2]
    assert not refining(app)
    assert drawn_rows(app, "x2")
    next(button for button in app.button if button.label == "Refine again").click().run()
    assert refining(app)


def test_maps_that_are_no_longer_wanted_are_stopped(app: AppTest, worker: AtOnce) -> None:
    explore(app)
    worker.never = True
    explore(app, **{"explore-method": "umap"})
    before = set(worker.asked)
    explore(app, **{"explore-method": "tsne"})
    assert {key for key in before if ":umap:" in key} <= set(worker.stopped)
    assert not any(":tsne:" in key for key in worker.stopped)


def test_maps_say_how_far_they_can_be_trusted(app: AppTest, trained: Trained) -> None:
    explore(app)
    [said] = [caption.value for caption in app.caption if caption.value.startswith("Trustworthiness")]
    base, _ = vectors(trained[1], trained[0])
    assert f"A: **{trustworthiness(base, project(base, Projection.PCA)):.2f}**" in said


def test_what_cannot_be_laid_out_is_said_beside_its_first_map(app: AppTest, worker: AtOnce) -> None:
    app.session_state["explore-method"] = "pca"
    explore(app)
    for key in list(worker.outcomes):
        if key.startswith("map:"):
            worker.outcomes[key] = Failed(Message("t-SNE needs 4 sentences"))
    explore(app)
    assert [error.value for error in app.error] == [
        rf"{name}: t\-SNE needs 4 sentences." for name in ("A", "B")
    ]
    assert drawn_rows(app, "x2")


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


def test_a_run_with_snapshots_is_played_epoch_by_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, app: AppTest
) -> None:
    compare(app, "Epochs")
    assert "stored no vectors" in app.info[0].value and not drawn(app)
    file = small_file(tmp_path, ("en", "de"))
    run = train(file, out=tmp_path / "runs" / "filmed", snapshots=True)
    monkeypatch.setenv("EMU_RUNS", str(run.folder.parent))
    app = compare(with_data(file.read_bytes()), "Epochs")
    figure = next(spec for spec in figures(app) if "frames" in spec)
    assert figure["layout"]["sliders"][0]["steps"][0]["label"] == "before training"
    assert len(figure["frames"]) >= 3
    assert any("Acc@1 by language" in caption.value for caption in app.caption)

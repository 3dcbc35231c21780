"""The Pretrain page without a browser: files in, a run queued, watched, stopped, gone on with."""

import gzip
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from app import cache, jobs
from app.jobs import JobManager
from app.pretrain_request import PretrainRequest, load_request
from app.pretraining.results import found_table, languages_of, losses_of, mean_p_at_1
from app.pretraining.texts import Kind, read_files, safe_name, typed_languages
from app.pretraining.words import METHODS, settings_of
from app.run_table import P_AT_1, runs_frame
from app.state import runs_to_specialise
from app.textfile import Text, save_text, text_key
from emu_core import cli
from emu_core.data.parallel.files import read_parallel
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import read_dialogues
from emu_core.data.texts.nli import read_nli
from emu_core.data.texts.running_text import read_running_text
from emu_core.errors import DataError, RunError, TrainingError
from emu_core.runs.run import Run, RunState, Status, create_run

MAIN = Path(__file__).parent.parent / "app" / "main.py"
PATIENCE_S = 60.0
# Trains nothing: says that it runs, logs an epoch, and ends when it is cancelled.
TRAINER = """
import json, os, sys, threading, time
from pathlib import Path
from emu_core.runs.run import TEXTS, Run, RunState, Status
goes_on = sys.argv[1] == "resume"
out = sys.argv[-1] if goes_on else next(a for a in sys.argv if a.startswith("--out=")).removeprefix("--out=")
run = Run(Path(out))
run.uncancel()
(run.folder / "arguments.json").write_text(json.dumps(sys.argv[1:]))
run.training_folder.mkdir(exist_ok=True)
(run.training_folder / TEXTS).touch()
records = [
    {"kind": "step", "step": 1, "epoch": 1, "pair": "x", "loss": 2.0, "hinge": 1.5},
    {"kind": "epoch", "step": 1, "epoch": 1, "loss": 2.0, "dev_accuracy": 40.0},
]
(run.folder / "log.jsonl").write_text("".join(json.dumps(record) + "\\n" for record in records))
run.write_status(Status(
    state=RunState.RUNNING, phase="training", step=1, steps=4, epoch=1, epochs=2, pid=os.getpid(),
    started_at=time.time(), training_since=time.time(),
))
while not run.cancel_asked:
    threading.Event().wait(0.01)
run.write_status(Status(state=RunState.CANCELLED, message="cancelled after 1 steps"))
"""
REQUEST = PretrainRequest(
    "first", ("a-en-de.parquet",), (), (), (), (("en", "de"),), "bicvm", 3, "cpu", "tuned", {"epochs": 2}
)
FOUND = {"p_at_1": 80.0, "p_at_3": 90.0, "p_at_10": 95.0, "low": 70.0, "high": 88.0, "candidates": 50}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jobs, "POLL_S", 0.02)
    root = tmp_path / "runs"
    root.mkdir()
    (tmp_path / "trainer.py").write_text(TRAINER)
    manager = JobManager(root, (sys.executable, str(tmp_path / "trainer.py")))
    monkeypatch.setenv("EMU_RUNS", str(root))
    monkeypatch.setattr(cache, "_job_manager", lambda root: manager)
    return root


@pytest.fixture
def app(root: Path) -> AppTest:
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run()
    app.switch_page("pages/pretrain.py").run()
    assert not app.exception
    return app


def lines(word: str, count: int = 30) -> bytes:
    return "".join(f"{word} {number}\n" for number in range(count)).encode()


def upload(app: AppTest, *files: tuple[str, bytes], box: int = 0) -> AppTest:
    app.file_uploader[box].set_value([(name, content, "") for name, content in files])
    app.run()
    assert not app.exception
    return app


def button(app: AppTest, label: str) -> Button:
    return next(button for button in app.button if button.label == label)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def plain(value: str) -> str:
    return value.replace("\\", "")


def frame(app: AppTest, column: str) -> Any:
    """The table that has a column."""
    return next(found.value for found in app.dataframe if column in found.value)


# ---------------------------------------------------------------------------------------------- the texts


def test_uploaded_files_are_shown_before_anything_is_trained(app: AppTest) -> None:
    assert any("no parallel text yet" in warning.value for warning in app.warning)
    assert button(app, "Start the run").disabled
    upload(app, ("talks.en", lines("dog")), ("talks.de.gz", gzip.compress(lines("Hund"))))
    assert not app.error
    shown = frame(app, "Pairs")
    assert shown[["Languages", "Pairs", "File"]].to_numpy().tolist() == [
        ["English and German", 30, "talks.en, talks.de.gz"]
    ]
    assert any(list(found.value.iloc[0]) == ["dog 0", "Hund 0"] for found in app.dataframe)
    assert any("30 pairs is little" in info.value for info in app.info)
    assert not button(app, "Start the run").disabled
    assert not app.file_uploader[0].value  # the box is empty again


def test_files_of_unequal_length_are_refused_with_file_and_line(app: AppTest) -> None:
    upload(app, ("talks.en", lines("dog")), ("talks.de", lines("Hund", 28)))
    assert "line 29 has no translation" in plain(app.error[0].value)
    assert button(app, "Start the run").disabled


def test_languages_are_asked_for_where_no_file_says_them(app: AppTest) -> None:
    upload(app, ("one.txt", lines("dog")), ("two.txt", lines("Hund")))
    assert "not say the language" in plain(app.error[0].value)
    field = next(field for field in app.text_input if field.label.startswith("Languages of files"))
    field.set_value("en, Klingon?").run()
    assert "'Klingon?' is not a language" in plain(app.error[0].value)
    field = next(field for field in app.text_input if field.label.startswith("Languages of files"))
    field.set_value("English, de").run()
    assert not app.error and not app.exception
    assert frame(app, "Pairs")["Languages"].tolist() == ["English and German"]


def test_an_empty_line_is_an_error_until_it_is_left_out(app: AppTest) -> None:
    upload(app, ("t.en", lines("dog") + b"\nlast\n"), ("t.de", lines("Hund") + b"Zeile\nletzte\n"))
    assert "line 31 is empty in en" in plain(app.error[0].value)
    next(box for box in app.checkbox if box.label.startswith("Leave out pairs")).check().run()
    assert not app.error
    assert frame(app, "Pairs")["Pairs"].tolist() == [31]


def test_the_example_needs_no_files(app: AppTest, root: Path) -> None:
    button(app, "Take the example").click().run()
    assert frame(app, "Pairs")["Pairs"].tolist() == [504] * 5
    button(app, "Start the run").click().run()
    assert not app.exception and not app.error
    run = Run(root / "bicvm-en-de-es-fr-ja-zh-1")
    until((run.folder / "arguments.json").exists)
    read = read_parallel(PretrainRequest.load(run).files)
    assert [(text.languages, len(text)) for text in read] == [
        (("en", code), 504) for code in ("de", "es", "fr", "ja", "zh")
    ]
    run.cancel()
    cache.job_manager().wait(run, PATIENCE_S)


def test_hostile_names_are_no_paths() -> None:
    assert safe_name("../../etc/passwd.en") == "passwd.en"
    assert safe_name("C:\\x\\..\\a.de.gz") == "a.de.gz"
    assert safe_name("..") == safe_name("") == safe_name("/") == "file"
    assert safe_name("a\0b<script>.en") == "a_b_script_.en"
    assert len(safe_name("ü" * 900 + ".en").encode()) <= 240 and safe_name("ü" * 900 + ".en").endswith(".en")
    read = read_files(Kind.PARALLEL, "k", [("../../x.en", lines("dog")), ("../y/x.de", lines("Hund"))], [])
    assert read.title == "x.en, x.de" and read.parallel[0].languages == ("en", "de")
    with pytest.raises(DataError, match="two files are called x"):
        read_files(Kind.PARALLEL, "k", [("a/x.en", lines("dog")), ("b/x.en", lines("cat"))], [])


def test_typed_languages() -> None:
    assert typed_languages(" en, German;fr  zh-TW ") == ["en", "de", "fr", "zh-tw"]
    assert typed_languages("") == []
    with pytest.raises(DataError, match="'qqq' is not a language"):
        typed_languages("en qqq")


def test_saved_texts_come_back_as_they_were(tmp_path: Path) -> None:
    text = ParallelText(
        "en",
        "zh-tw",
        ("=1+1", 'a "b"\ttab', "c", "two\nlines"),
        ("一", "二", "三", "NA"),
        "../../x.en, y.zh",
        (0, 2),
    )
    path = save_text(tmp_path, text)
    assert path.parent.parent == tmp_path / ".data" and path.name == "x-en-zh-tw.parquet"
    (back,) = read_parallel([path])
    assert (back.languages, back.first, back.second, back.documents) == (
        text.languages, text.first, text.second, text.documents,
    )  # fmt: skip
    assert save_text(tmp_path, text) == path
    assert text_key(text) != text_key(replace(text, documents=())) != text_key(text.turned())


def test_saved_texts_of_other_kinds_come_back(tmp_path: Path) -> None:
    files = {
        Kind.RUNNING: ("news.en.txt", b"one\ntwo\nthree\n\nfour\nfive\nsix\n"),
        Kind.DIALOGUES: ("talk.de.tsv", b"comment\tresponse\nwie geht es\tgut\nja?\tnein\n"),
        Kind.NLI: (
            "snli.jsonl",
            b'{"sentence1": "a b", "sentence2": "c d", "gold_label": "contradiction", "language": "de"}\n',
        ),
    }
    readers: dict[Kind, Callable[[list[str | Path]], Sequence[Text]]] = {
        Kind.RUNNING: read_running_text,
        Kind.DIALOGUES: read_dialogues,
        Kind.NLI: read_nli,
    }
    for kind, file in files.items():
        (text,) = read_files(kind, "k", [file], []).texts
        (back,) = readers[kind]([save_text(tmp_path, text)])
        assert text_key(back) == text_key(text), kind


# ------------------------------------------------------------------------------------------------ the run


def test_a_run_is_started_watched_cancelled_and_resumed(app: AppTest, root: Path) -> None:
    upload(app, ("talks.en", lines("dog")), ("talks.de", lines("Hund")))
    next(field for field in app.number_input if field.label == "Epochs").set_value(2).run()
    button(app, "Start the run").click().run()
    assert not app.error and not app.exception
    run = Run(root / "bicvm-en-de-1")
    until(lambda: run.status().state is RunState.RUNNING)
    request = PretrainRequest.load(run)
    assert (request.method, request.pairs, request.changes) == ("bicvm", (("en", "de"),), {"epochs": 2})
    assert json.loads((run.folder / "arguments.json").read_text()) == [
        "pretrain", *request.arguments(run.folder)
    ]  # fmt: skip
    assert read_parallel(request.files)[0].second == tuple(lines("Hund").decode().split("\n")[:-1])
    assert Path(request.files[0]).is_relative_to(root / ".data")
    app.run()
    curve = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert "P@1" in curve["layout"]["yaxis"]["title"]["text"]
    button(app, "Cancel").click().run()
    manager = cache.job_manager()
    assert manager.wait(run, PATIENCE_S).state is RunState.CANCELLED
    app.run()
    button(app, "Resume").click().run()
    until(lambda: run.status().state is RunState.RUNNING)
    assert json.loads((run.folder / "arguments.json").read_text()) == ["resume", "--", str(run.folder)]
    run.cancel()
    manager.wait(run, PATIENCE_S)


def test_a_dual_encoder_takes_more_kinds_of_text(app: AppTest, root: Path) -> None:
    upload(app, ("talks.en", lines("dog")), ("talks.de", lines("Hund")))
    assert len(app.file_uploader) == 1  # BiCVM has no use for others
    app.selectbox(key="pretrain-method").set_value("dual-encoder").run()
    upload(app, ("news.en.txt", b"one\ntwo\nthree\n"), box=1)
    assert any("1 document of running text in English" in plain(found.value) for found in app.markdown)
    button(app, "Start the run").click().run()
    assert not app.error and not app.exception
    run = Run(root / "dual-encoder-en-de-1")
    until((run.folder / "arguments.json").exists)
    request = PretrainRequest.load(run)
    assert [Path(file).name for file in request.running_text] == ["news.en.txt"]
    assert any(option.startswith("--running-text=") for option in request.arguments(run.folder))
    run.cancel()
    cache.job_manager().wait(run, PATIENCE_S)


@pytest.mark.parametrize("method", list(Pretraining))
@pytest.mark.parametrize("preset", ["tuned", "paper"])
def test_every_setting_is_a_field_that_the_command_knows(method: Pretraining, preset: str) -> None:
    first, more = settings_of(method)
    shown = [setting for group in (first, *more.values()) for setting in group]
    start = configure_pretraining(method, paper=preset == "paper")
    changes = {setting.name: getattr(start, setting.name) for setting in shown if setting.matters(start)}
    assert len(changes) > 8 and None not in changes.values()
    for setting in shown:
        if setting.choices:
            assert getattr(start, setting.name) in setting.choices
    request = replace(REQUEST, method=method.value, preset=preset, changes=changes, name="x")
    options = cli._parser().parse_args(["pretrain", *request.arguments(Path("x"))])
    assert options.files == list(REQUEST.files) and options.seed == 3
    assert {name: getattr(options, name) for name in changes} == changes
    assert request.settings() == start


def test_settings_out_of_range_are_said_and_not_queued(root: Path) -> None:
    with pytest.raises(TrainingError, match="epochs"):
        cache.job_manager().submit(replace(REQUEST, changes={"epochs": 0}))
    assert not (root / "first").exists()


def test_a_request_is_read_back_by_its_kind(tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", REQUEST.config())
    REQUEST.save(run)
    assert load_request(run) == REQUEST
    (run.folder / "request.json").write_text("[1]")
    with pytest.raises(RunError, match="missing or damaged"):
        load_request(run)


# -------------------------------------------------------------------------------------------- the results


def finished(root: Path, name: str = "mine", **config: Any) -> Run:
    run = create_run(root / name, {**REQUEST.config(), "languages": ["en", "de", "fr"], **config})
    metrics = {
        "measured_on": "pairs held out, which chose the epoch",
        "translation": {
            "en-de": {**FOUND, "trained": True},
            "de-en": {**FOUND, "p_at_1": 70.0, "trained": True},
            "de-fr": {**FOUND, "p_at_1": 10.0, "trained": False},
        },
        "warnings": ["odd <b>text</b>"],
    }
    run.write("metrics.json", metrics)
    run.write_status(Status(state=RunState.FINISHED, started_at=1.0))
    return run


def test_a_finished_run_shows_what_it_finds(root: Path, app: AppTest) -> None:
    finished(root)
    app.run()
    assert not app.exception
    found = frame(app, "P@3")
    assert found["Direction"].tolist() == ["English → German", "German → English", "German → French"]
    assert found["P@1"].tolist() == [80.0, 70.0, 10.0]
    assert found["95 % interval"][0] == "70.0 to 88.0"
    assert found["Trained on"].tolist() == ["yes", "yes", "no"]
    assert any("Odd <b>text</b>" in plain(info.value) for info in app.info)
    assert frame(app, "Took")["P@1"].tolist() == [75.0]


def test_the_list_of_runs_tells_p_at_1_from_accuracy(root: Path) -> None:
    run = finished(root)
    emu = create_run(root / "emu", {"method": "emu", "encoder": f"run:{run.folder}"})
    emu.write("metrics.json", {"mean_base": 20.0, "mean_specialised": 30.0})
    emu.write_status(Status(state=RunState.FINISHED, started_at=1.0))
    table = runs_frame([run, emu])
    assert table[P_AT_1].tolist()[0] == 75.0 and table["After"].tolist()[1] == 30.0
    assert table[P_AT_1].isna().tolist() == [False, True] and table["After"].isna().tolist() == [True, False]
    assert table["Encoder"].tolist() == ["from nothing", "mine"]
    assert table["Method"][0] == METHODS["bicvm"][0]
    assert P_AT_1 not in runs_frame([emu])


def test_runs_that_can_be_specialised_are_offered_on_the_train_page(root: Path, app: AppTest) -> None:
    run = finished(root)
    for name, method in (("plain", "emu"), ("head", "posterior"), ("layers", "fmda")):
        other = create_run(root / name, {"method": method, "encoder": "use"})
        other.write_status(Status(state=RunState.FINISHED))
    assert {run.name for run in runs_to_specialise()} == {"mine", "plain"}
    app.switch_page("pages/train.py").run()
    app.selectbox(key="method").set_value("emu").run()
    offered = app.selectbox(key="encoder").options
    assert {"Run mine", "Run plain"} <= set(offered) and not {"Run head", "Run layers"} & set(offered)
    app.selectbox(key="encoder").set_value(f"run:{run.folder}").run()
    assert not app.exception
    assert any("was not trained on" in info.value and "Japanese" in info.value for info in app.info)
    names = [field.value for field in app.text_input if field.label == "Name of the run"]
    assert names == ["emu-mine-1"]


def test_a_damaged_run_is_no_exception(root: Path, app: AppTest) -> None:
    (finished(root).folder / "metrics.json").write_text("{")
    app.run()
    assert not app.exception
    assert any("metrics.json" in plain(error.value) for error in app.error)


def test_losses_of_several_tasks_have_a_curve_each() -> None:
    history = [
        {"kind": "step", "step": 1, "epoch": 1, "task": "translation", "loss": 1.0},
        {"kind": "step", "step": 2, "epoch": 1, "task": "nli", "loss": 2.0},
        {"kind": "epoch", "step": 2, "epoch": 1, "dev_accuracy": 3.0},
    ]
    found = losses_of(history)
    assert [sorted(set(record) & {"loss", "loss of translation", "loss of nli"}) for record in found] == [
        ["loss of translation"], ["loss of nli"], [],
    ]  # fmt: skip
    assert "dev_accuracy" not in found[2]
    assert "loss" in losses_of(history[:1])[0]


def test_codes_may_have_a_hyphen_of_their_own() -> None:
    assert languages_of("en-zh-tw", ["en", "zh-tw"]) == ("en", "zh-tw")
    assert languages_of("zh-tw-en", ["en", "zh-tw"]) == ("zh-tw", "en")
    assert mean_p_at_1({}) is None
    assert found_table({}, {}).empty

"""The Pretrain page without a browser: files in, a run queued, watched, stopped, gone on with."""

import gzip
import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from emu_app.data.text_files import TextKind, read_files, safe_name
from emu_app.data.texts import typed_languages
from emu_app.panels.monitor import found_table, losses_of
from emu_app.panels.run_table import runs_frame
from emu_app.shell.state import runs_to_specialise
from emu_app.work import jobs
from emu_core.data.languages import language_name
from emu_core.errors import DataError
from emu_core.evaluation.run_metrics import Metrics
from emu_core.methods.registry import configure, method_named
from emu_core.runs.run import Run, RunState, Status
from emu_core.runs.stored_data import ParallelData, load_data
from tests.support.app_pages import choose_method, new_session
from tests.support.fake_runs import PATIENCE_S, past, until
from tests.support.raises import raises
from tests.support.records import record

FOUND = {"p_at_1": 80.0, "p_at_3": 90.0, "p_at_10": 95.0, "low": 70.0, "high": 88.0, "candidates": 50}


@pytest.fixture
def app(root: Path) -> AppTest:
    app = new_session().run()
    app.switch_page("views/pretrain.py").run()
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


def plain(value: str) -> str:
    return value.replace("\\", "")


def stored(run: Run) -> ParallelData:
    data = load_data(run.training_folder, "")
    assert isinstance(data, ParallelData)
    return data


def cancelled(run: Run) -> None:
    run.cancel()
    assert jobs.job_manager().wait(run, PATIENCE_S).state is RunState.CANCELLED


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
    assert any("Only 30 pairs" in info.value for info in app.info)
    [said] = [line.value for line in app.caption if "MB of memory" in line.value]
    counts = re.fullmatch(
        r"(\d+) pairs to learn from, (\d+) pairs held out: about [\d,]+ MB of memory, .*", said
    )
    assert counts is not None and int(counts[1]) + int(counts[2]) == 30
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


def test_translations_of_programs_and_pairs_in_rows_are_read(app: AppTest) -> None:
    po = 'msgid ""\nmsgstr "Language: {0}\\n"\n\n' + 'msgid "menu.open"\nmsgstr "{0} open it"\n'
    upload(app, ("a.po", po.format("de").encode()))
    assert "name the PO file of another language" in plain(app.error[0].value)
    upload(app, ("a.po", po.format("de").encode()), ("b.po", po.format("fr").encode()))
    assert not app.error and not app.exception
    assert frame(app, "Pairs")["Languages"].tolist() == ["German and French"]


def test_pairs_in_rows_need_their_languages(app: AppTest) -> None:
    upload(app, ("pairs.csv", b"Go there.,Geh hin.\nHi.,Hallo.\n"))
    error = plain(app.error[0].value)
    assert "set Languages of files that don't state theirs to en,de" in error
    assert "Geh" not in error
    next(field for field in app.text_input if field.label.startswith("Languages of")).set_value("en de").run()
    assert not app.error and not app.exception
    assert frame(app, "Pairs")["Pairs"].tolist() == [2]


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
    data = stored(run)
    assert [text.languages for text in data.tasks.translation] == [
        ("en", code) for code in ("de", "es", "fr", "ja", "zh")
    ]
    assert {len(train) + len(dev) for train, dev in zip(data.tasks.translation, data.dev, strict=True)} == {
        504
    }
    cancelled(run)


def test_hostile_names_are_no_paths() -> None:
    assert safe_name("../../etc/passwd.en") == "passwd.en"
    assert safe_name("C:\\x\\..\\a.de.gz") == "a.de.gz"
    assert safe_name("..") == safe_name("") == safe_name("/") == "file"
    assert safe_name("a\0b<script>.en") == "a_b_script_.en"
    assert len(safe_name("ü" * 900 + ".en").encode()) <= 240 and safe_name("ü" * 900 + ".en").endswith(".en")
    read = read_files(
        TextKind.PARALLEL, "k", [("../../x.en", lines("dog")), ("../y/x.de", lines("Hund"))], []
    )
    assert read.title == "x.en, x.de" and read.parallel[0].languages == ("en", "de")
    with pytest.raises(DataError, match="two files are called x"):
        read_files(TextKind.PARALLEL, "k", [("a/x.en", lines("dog")), ("b/x.en", lines("cat"))], [])


def test_typed_languages() -> None:
    assert typed_languages(" en, German;fr  zh-TW ") == ["en", "de", "fr", "zh-tw"]
    assert typed_languages("") == []
    with raises(DataError, fix=None, match="'qqq'"):
        typed_languages("en qqq")


# ------------------------------------------------------------------------------------------------ the run


@pytest.mark.slow
def test_a_run_is_started_watched_cancelled_and_resumed(app: AppTest, root: Path) -> None:
    upload(app, ("talks.en", lines("dog")), ("talks.de", lines("Hund")))
    next(field for field in app.number_input if field.label == "Epochs").set_value(2).run()
    button(app, "Start the run").click().run()
    assert not app.error and not app.exception
    run = Run(root / "bicvm-en-de-1")
    until(lambda: run.status().state is RunState.RUNNING)
    config, data = run.config(), stored(run)
    assert config.hyperparameters == asdict(configure("bicvm", "", epochs=2))
    assert (config.pairs, config.languages, config.encoder) == ((("en", "de"),), ("en", "de"), "")
    seconds = {*data.tasks.translation[0].second, *data.dev[0].second}
    assert seconds == set(lines("Hund").decode().split("\n")[:-1])
    app.run()
    curve = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert "translations found" in curve["layout"]["yaxis"]["title"]["text"]
    button(app, "Cancel").click().run()
    manager = jobs.job_manager()
    assert manager.wait(run, PATIENCE_S).state is RunState.CANCELLED
    app.run()
    button(app, "Resume").click().run()
    until(lambda: run.status().state is RunState.RUNNING)
    assert json.loads((run.folder / "arguments.json").read_text()) == ["resume", "--", str(run.folder)]
    run.cancel()
    manager.wait(run, PATIENCE_S)


@pytest.mark.slow
def test_a_dual_encoder_takes_more_kinds_of_text(app: AppTest, root: Path) -> None:
    upload(app, ("talks.en", lines("dog")), ("talks.de", lines("Hund")))
    assert len(app.file_uploader) == 1  # BiCVM has no use for others
    app.selectbox(key="pretrain-method").set_value("dual-encoder").run()
    upload(app, ("news.en.txt", b"one\ntwo\nthree\n"), box=1)
    assert any("1 document of running text in English" in plain(found.value) for found in app.markdown)
    button(app, "Start the run").click().run()
    assert not app.error and not app.exception
    run = Run(root / "dual-encoder-en-de-1")
    (text,) = stored(run).tasks.running_text
    assert (text.language, text.documents) == ("en", (("one", "two", "three"),))
    cancelled(run)


def test_settings_that_do_not_go_together_are_said_and_not_queued(app: AppTest, root: Path) -> None:
    upload(app, ("talks.en", lines("dog")), ("talks.de", lines("Hund")))
    next(field for field in app.number_input if field.label == "Noise samples per pair").set_value(0)
    next(field for field in app.number_input if field.label == "Batch size").set_value(1).run()
    assert "a batch of one pair has no other sentences" in plain(app.warning[0].value).casefold()
    assert button(app, "Start the run").disabled
    assert not list(root.iterdir())


# -------------------------------------------------------------------------------------------- the results


def finished(root: Path, name: str = "mine") -> Run:
    metrics = {
        "measured_on": "pairs held out, which chose the epoch",
        "translation": {
            "en-de": {**FOUND, "trained": True},
            "de-en": {**FOUND, "p_at_1": 70.0, "trained": True},
            "de-fr": {**FOUND, "p_at_1": 10.0, "trained": False},
        },
        "warnings": ["odd <b>text</b>"],
    }
    own: dict[str, Any] = {"method": "bicvm", "encoder": "", "train_languages": (), "pairs": (("en", "de"),)}
    own |= {"languages": ("en", "de", "fr")}
    return past(root, name, Status(state=RunState.FINISHED, started_at=1.0), metrics, **own)


def test_a_finished_run_shows_what_it_finds(root: Path, app: AppTest) -> None:
    finished(root)
    app.run()
    assert not app.exception
    found = frame(app, "P@3")
    assert found["Direction"].tolist() == ["English → German", "German → English", "German → French"]
    assert found["P@1"].tolist() == [80.0, 70.0, 10.0]
    assert found["95 % interval"][0] == "70.0 to 88.0"
    assert found["Trained on"].tolist() == ["yes", "yes", "no"]
    assert any("Odd <b>text</b>" in plain(box.value) for box in app.warning)
    assert frame(app, "Minutes")["P@1"].tolist() == [75.0]


def test_the_list_of_runs_tells_p_at_1_from_accuracy(root: Path) -> None:
    run = finished(root)
    change = {"base": 20.0, "specialised": 30.0, "difference": 10.0, "low": 1.0, "high": 20.0, "queries": 200}
    metrics = {"similar_sentences": {"overall": change, "by_language": {"en": change}}}
    emu = past(
        root, "emu", Status(state=RunState.FINISHED, started_at=1.0), metrics, encoder=f"run:{run.folder}"
    )
    table = runs_frame([run, emu])
    assert table["P@1"].tolist()[0] == 75.0 and table["Similar sentences"].tolist()[1] == 30.0
    assert table["P@1"].isna().tolist() == [False, True] and table["Similar sentences"].isna().tolist() == [
        True,
        False,
    ]
    assert table["Encoder"].tolist() == ["from scratch", "mine"]
    assert table["Method"][0] == method_named("bicvm").title
    assert "P@1" not in runs_frame([emu])


def test_runs_that_can_be_specialised_are_offered_on_the_train_page(root: Path, app: AppTest) -> None:
    run = finished(root)
    (run.encoder_folder).mkdir()
    (run.encoder_folder / "config.json").write_text('{"format": 1, "encoder": "bicvm"}')
    past(root, "plain", Status(state=RunState.FINISHED))
    head = past(root, "head", Status(state=RunState.FINISHED))
    (head.encoder_folder / "base").mkdir(parents=True)  # it has layers on a frozen encoder
    assert {run.name for run in runs_to_specialise()} == {"mine", "plain"}
    app.switch_page("views/train.py").run()
    choose_method(app, "emu")
    offered = app.selectbox(key="encoder").options
    assert {"Run mine", "Run plain"} <= set(offered) and "Run head" not in offered
    app.selectbox(key="encoder").set_value(f"run:{run.name}").run()
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
        record("step", task="translation", loss=1.0),
        record("step", step=2, task="nli", loss=2.0),
        record("epoch", step=2, dev_accuracy=3.0),
    ]
    shown = losses_of(history)
    assert [one.figures for one in shown] == [{"loss of translation": 1.0}, {"loss of nli": 2.0}, {}]
    assert all(math.isnan(one.loss) for one in shown[:2]) and shown[2].dev_accuracy is None
    assert losses_of(history[:1])[0].loss == 1.0


def test_codes_may_have_a_hyphen_of_their_own() -> None:
    found = dict.fromkeys(("en-zh-tw", "zh-tw-en"), FOUND | {"trained": True})
    ways = found_table(Metrics.from_json({"translation": found}))["Direction"].tolist()
    chinese = language_name("zh-tw")
    assert ways == [f"English → {chinese}", f"{chinese} → English"]
    assert Metrics().trained_p_at_1 is None
    assert found_table(Metrics()).empty

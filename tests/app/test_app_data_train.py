"""The Data and the Train page without a browser."""

import json
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from emu_app.work import cache
from emu_app.work.background import Done, Pending, TaskOutcome
from emu_core.data.languages import language_name
from emu_core.errors import Message
from emu_core.formats.tables.formats import FILE_ENDINGS
from emu_core.methods.registry import configure
from emu_core.reports.verdict import run_verdict
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.run import Run, RunState, Status
from emu_core.runs.stored_data import LabelledData, load_data
from tests.support.app_pages import choose_method, new_session, runs_table
from tests.support.fake_runs import past, until
from tests.support.paths import MAIN
from tests.support.tables import WRITERS, parquet, workbook, written
from tests.support.verdicts import KINDS, case


@pytest.fixture
def app(root: Path) -> AppTest:
    return new_session().run()


def table(
    languages: str = "en,de", intents: str = "pool,shop", count: int = 4, **columns: str
) -> pd.DataFrame:
    rows = [
        {"text": f"{intent} {i} {language}", "intent": intent, "language": language, "id": f"{intent}{i}"}
        for language in languages.split(",")
        for intent in intents.split(",")
        for i in range(count)
    ]
    return pd.DataFrame(rows).rename(columns=columns)


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    app.file_uploader[0].set_value([(name, content, "") for name, content in files])
    return app.run()


def button(app: AppTest, label: str) -> Button:
    return next(button for button in app.button if button.label == label)


def size(app: AppTest) -> tuple[str, ...]:
    assert not app.exception
    return tuple(metric.value for metric in app.metric[:3])


def said(app: AppTest) -> str:
    return "\n".join(note.value.replace("\\", "") for note in app.info)


def title(app: AppTest) -> str:
    [title] = (title.value for title in app.header if title.value.startswith("In use: "))
    return title.removeprefix("In use: ")


def is_in_use(app: AppTest, name: str) -> bool:
    return any(header.value == f"In use: {name}" for header in app.header)


def shows_no_set(app: AppTest) -> bool:
    """Return whether nothing that was found in a set is on the page."""
    headers = [header.value for header in app.header]
    return not app.metric and not any(
        title == "Findings" or title.startswith("In use: ") for title in headers
    )


def chosen(app: AppTest) -> dict[str, str | None]:
    return {box.label: box.value for box in app.selectbox}


def train_page(app: AppTest, method: str = "emu") -> AppTest:
    app.switch_page("views/train.py").run()
    choose_method(app, method)
    assert not app.exception
    return app


def test_the_app_is_for_this_machine_alone_and_tells_nobody() -> None:
    config = tomllib.loads((MAIN.parent / "shell" / ".streamlit" / "config.toml").read_text())
    assert config["server"] == {
        "address": "localhost",
        "maxUploadSize": 200,
        "fileWatcherType": "none",
    }  # CORS and XSRF protection untouched
    assert config["browser"] == {"gatherUsageStats": False}
    assert config["runner"] == {"postScriptGC": False}  # it took most of the server's time


def test_the_demo_set_is_there_at_once(app: AppTest) -> None:
    assert size(app) == ("3,024", "28", "6")
    assert title(app) == "Demo set"
    assert button(app, "Use the demo set").disabled
    assert app.success[0].value == "The audit found nothing to fix."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", csv(table())),
        ("a.csv", csv(table(text="utterance", intent="Label", language="locale"))),
        ("a.tsv", table().to_csv(index=False, sep="\t").encode("utf-16")),
        ("a.jsonl", table().to_json(orient="records", lines=True).encode()),
        ("a.parquet", parquet({name: list(values) for name, values in table().items()})),
        ("a.xlsx", workbook([list(table().columns), *table().to_numpy().tolist()])),
    ],
    ids=["csv", "other names", "utf-16 tsv", "jsonl", "parquet", "xlsx"],
)
def test_a_file_that_is_understood_becomes_the_set(app: AppTest, name: str, content: bytes) -> None:
    upload(app, (name, content))
    assert size(app) == ("16", "2", "2")
    assert title(app) == rf"a\.{name[2:]}"
    assert not app.error
    assert not app.warning


@pytest.mark.slow
@pytest.mark.parametrize("ending", [*(table_format.endings[-1] for table_format in WRITERS), ".csv.gz"])
def test_every_format_is_taken(app: AppTest, ending: str) -> None:
    assert tuple(app.file_uploader[0].allowed_type) == FILE_ENDINGS
    upload(app, (f"a{ending}", written(table(), ending)))
    assert size(app) == ("16", "2", "2") and not app.error


def test_a_file_in_an_old_encoding_is_read_and_said_to_be(app: AppTest) -> None:
    frame = table("de").assign(text=[f"Wo ist das Schwimmbad für müde Gäste? {i}" for i in range(8)])
    upload(app, ("a.csv", frame.to_csv(index=False).encode("cp1252")))
    assert sum("was read as" in info.value for info in app.info) == 1
    assert app.dataframe[-2].value["text"][0] == "Wo ist das Schwimmbad für müde Gäste? 0"


@pytest.mark.slow
def test_the_bytes_are_let_go_and_the_choice_outlives_the_page(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table())))
    assert app.file_uploader[0].value == []
    train_page(app)
    assert r"**a\.csv**: 16 sentences, 2 intents, en, de" in app.markdown[0].value
    app.switch_page("views/data.py").run()
    assert size(app) == ("16", "2", "2")
    button(app, "Use the demo set").click().run()
    assert size(app) == ("3,024", "28", "6")


def test_a_new_session_begins_with_the_demo_set(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table())))
    other = new_session().run()
    assert size(other) == ("3,024", "28", "6")


def test_unknown_columns_are_mapped_by_hand(app: AppTest) -> None:
    rows = table(text="col1", intent="col2", language="col3")
    alike = {"col2": rows["col1"] + " too", "col3": rows["col1"] + " two", "col4": rows["col1"] + " 2 x"}
    upload(app, ("a.csv", csv(rows.assign(**alike))))  # nothing tells the sentences from the intents
    assert shows_no_set(app) and app.query_params["data"] == "demo"  # until the columns are known
    assert (
        app.warning[0].value
        == "Still to choose above: Sentence, Intent, Language. Until then, the set in use does not change."
    )
    upload(app, ("a.csv", csv(rows.assign(col4=rows["col1"]))))  # two columns of the same sentences
    assert app.warning[0].value.startswith("Still to choose above: Sentence. ")
    columns = {"Sentence": "col1", "Intent": "col2", "Language": "col3"}
    assert chosen(app) | {**columns, "Sentence": None} == chosen(app)
    next(box for box in app.selectbox if box.label == "Sentence").set_value("col1").run()
    assert size(app) == ("16", "2", "2")
    app.switch_page("views/train.py").run()
    app.switch_page("views/data.py").run()  # the mapping is kept, and the set with it
    assert chosen(app) | columns == chosen(app)
    assert size(app) == ("16", "2", "2")


def test_a_file_without_its_columns_is_left_out_for_the_set_in_use(app: AppTest) -> None:
    upload(app, ("good.csv", csv(table())))
    upload(app, ("a.csv", csv(table(text="col1", intent="col2").drop(columns="language"))))
    assert shows_no_set(app) and app.query_params["data"] == "good"
    next(box for box in app.selectbox if box.label == "Sentence").set_value(None).run()
    assert shows_no_set(app)
    button(app, "Leave this file out").click().run()
    assert title(app) == r"good\.csv" and size(app) == ("16", "2", "2") and not app.warning
    assert not [box for box in app.expander if box.label.startswith("Columns of ")]


def test_columns_go_when_another_set_is_chosen(app: AppTest) -> None:
    upload(app, ("good.csv", csv(table())))
    assert next(box.label for box in app.expander) == r"Columns of good\.csv"
    app.selectbox(key="choose-data").set_value("demo").run()
    assert title(app) == "Demo set"
    assert not [box for box in app.expander if box.label.startswith("Columns of ")]


def test_the_demo_set_can_be_used_instead_of_a_file_without_its_columns(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table().drop(columns="language"))))
    assert shows_no_set(app)
    button(app, "Use the demo set").click().run()
    assert title(app) == "Demo set" and button(app, "Use the demo set").disabled


def test_the_page_leads_from_the_file_to_training(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table())))
    steps = ["Your file", r"In use: a\.csv", "Findings", "Sentences by intent and language", "Sentences"]
    assert [header.value for header in app.header] == [*steps, "Your data sets"]
    button(app, "Train on these sentences").click().run()
    assert not app.exception
    assert r"**a\.csv**: 16 sentences" in app.markdown[0].value and app.query_params["data"] == "a"


def test_columns_that_were_guessed_from_their_contents_are_said(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table(text="col1", intent="col2", language="col3"))))
    assert size(app) == ("16", "2", "2")
    assert "text is column 'col1', intent is column 'col2', language is column 'col3'" in said(app)


@pytest.mark.parametrize("name", ["tickets.csv", "tickets.en.csv"])
def test_columns_of_tickets_that_are_a_guess_are_said_before_and_after_the_language_is(
    name: str, app: AppTest
) -> None:
    subjects = ("My parcel is late", "I can't log in", "Refund my order", "The app crashes")
    tickets = [
        {
            "Ticket ID": 1000 + number,
            "Subject": f"{subjects[number % 4]}, number {number}",
            "Description": f"Hello, {subjects[number % 4]} since day {number}. Please help me soon.",
            "Status": ("Open", "Closed", "Pending")[number % 3],
            "Requester": f"user{number}@example.com",
        }
        for number in range(48)
    ]
    upload(app, (name, csv(pd.DataFrame(tickets))))
    if "en" not in name:
        assert shows_no_set(app) and "intent is column 'Status'" in said(app)
        next(box for box in app.text_input if box.label == "Language of the sentences").set_value("en").run()
    assert is_in_use(app, name.replace(".", r"\.")) and "intent is column 'Status'" in said(app)
    [columns] = (box for box in app.expander if box.label.startswith("Columns of "))
    assert columns.proto.expanded


def test_the_language_is_asked_for_where_nothing_says_it(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table("en")[["text", "intent"]])))
    assert (
        app.warning[0].value == "Still to choose above: Language. Until then, the set in use does not change."
    )
    app.text_input[0].set_value("Klingon?").run()
    assert "is not a language" in app.error[0].value
    app.text_input[0].set_value("Deutsch").run()
    assert size(app) == ("8", "2", "1")
    assert not app.error


@pytest.mark.slow
def test_a_large_file_is_read_and_audited_beside_the_page(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_app.work.cache.QUICK_BYTES", 0)
    monkeypatch.setattr("emu_app.work.cache.MOMENT_S", 0.0)
    upload(app, ("a.csv", csv(table())))
    until(lambda: is_in_use(app.run(), r"a\.csv"))
    assert size(app) == ("16", "2", "2")
    upload(app, ("b.csv", csv(table(intents="pool"))))
    until(lambda: bool(app.run().error))
    assert "single intent" in app.error[0].value
    upload(app, ("c.csv", b"\x89PNG"))
    # No error stands there while the file is being read.
    until(lambda: any("PNG picture" in error.value for error in app.run().error))
    assert title(app) == r"a\.csv"


class Slow:
    """Stands for the background worker: a quarter of each task is done until a function's name is in `over`."""

    def __init__(self) -> None:
        self.over: set[str] = set()

    def start(self) -> None:
        """There is no process to start."""

    def run(
        self, key: str, function: Callable[..., Any], *args: Any, limit_s: float | None = None
    ) -> TaskOutcome:
        self.outcome = Done(function(*args)) if function.__name__ in self.over else Pending(key, 0.25)
        return self.outcome

    def wait(self, key: str, timeout_s: float) -> TaskOutcome:
        return self.outcome

    def result(self, key: str) -> Pending:
        return Pending(key, 0.25)

    def forget(self, key: str) -> None:
        """Nothing is kept."""


def test_a_large_file_shows_how_far_it_is_and_the_set_in_use_stays(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Slow()
    monkeypatch.setattr(cache, "background", lambda: worker)
    monkeypatch.setattr(cache, "upload_reader", lambda: worker)
    monkeypatch.setattr(cache, "QUICK_BYTES", 0)
    upload(app, ("a.csv", csv(table())))
    for over, label in (
        ("read_upload", "Reading ..."),
        ("labelled_from_upload", "Auditing the sentences ..."),
    ):
        progress = app.get("progress")[0].proto
        assert (progress.value, progress.text) == (25, label)
        assert app.query_params["data"] == "demo"
        assert shows_no_set(app) is (over == "labelled_from_upload")
        worker.over.add(over)
        app.run()
    assert not app.get("progress")
    assert title(app) == r"a\.csv"


@pytest.mark.slow
def test_a_file_that_takes_too_long_or_too_much_is_refused_and_the_next_one_is_read(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LEAST_READ_S", -1.0)
    monkeypatch.setattr(cache, "BYTES_READ_IN_A_S", 1e9)
    upload(app, ("a.csv", csv(table())))
    assert "was ended; try again with a smaller or simpler file" in app.error[0].value
    assert title(app) == "Demo set"
    monkeypatch.undo()
    upload(app, ("b.csv", csv(table())))
    until(lambda: is_in_use(app.run(), r"b\.csv"))


def test_files_named_by_language_become_one_set(app: AppTest) -> None:
    upload(app, *((f"hotel.{code}.csv", csv(table(code)[["text", "intent"]])) for code in ("en", "ja")))
    assert size(app) == ("16", "2", "2")
    assert title(app) == r"hotel\.en\.csv, hotel\.ja\.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "said", "is_read"),
    [
        ("a.csv", b"", "is empty", False),
        ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(99), "a PNG picture", False),
        ("a.csv", csv(table(intents="pool")), "single intent", True),
        ("a.csv", csv(table().head(1)), "1 usable of 1 rows", True),
        ("a.jsonl", b'{"text": ', "is not JSON", False),
    ],
)
def test_a_bad_file_gets_its_sentence_and_changes_nothing(
    app: AppTest, name: str, content: bytes, said: str, is_read: bool
) -> None:
    upload(app, ("good.csv", csv(table())))
    upload(app, (name, content))
    assert len(app.error) == 1
    assert said.replace(".", r"\.") in app.error[0].value
    assert shows_no_set(app) is is_read  # its columns are on the page, and may be read otherwise
    if is_read:
        button(app, "Leave this file out").click().run()
    assert title(app) == r"good\.csv"
    assert size(app) == ("16", "2", "2")


@pytest.mark.slow
def test_a_hostile_name_is_shown_and_not_rendered(app: AppTest) -> None:
    name = "![x](http://evil/x.png) <img src=x> :red[a] $x$ **b**.csv"
    upload(app, (name, csv(table())))
    assert size(app) == ("16", "2", "2")
    train_page(app)
    shown = [element.value for element in (*app.header, *app.markdown)]
    upload(app.switch_page("views/data.py").run(), (name, b""))
    shown += [element.value for element in (*app.header, *app.error)] + [box.label for box in app.expander]
    assert sum("evil" in text for text in shown) == 4
    for text in shown:
        assert not re.search(r"[<\[\]$!]", re.sub(r"\\.", "", text))  # what is left unescaped


def test_the_audit_is_told_in_plain_words(app: AppTest) -> None:
    frame = pd.concat([table(), table().head(2)])
    frame.loc[len(frame)] = ["pool 0 en", "shop", "en", "x"]
    frame.loc[len(frame)] = ["", "shop", "en", "y"]
    frame.loc[len(frame)] = ["совсем не то", "shop", "en", "z"]
    upload(app, ("a.csv", csv(frame)))
    assert app.metric[0].delta == "3 rows left out"
    assert [box.label for box in app.expander[1:4]] == [
        "Rows left out (3)",
        "The same sentence with different intents (2)",
        "Letters that do not fit the language (1)",
    ]
    assert app.expander[1].dataframe[0].value["reason"].tolist() == [
        "an exact repeat of row 1",
        "an exact repeat of row 2",
        "no text",
    ]


def test_rows_of_several_files_are_found_in_their_file(app: AppTest) -> None:
    bad = table("de")
    bad.loc[2, "text"] = ""
    upload(app, ("first.csv", csv(table("en"))), ("second.csv", csv(bad)))
    [dropped] = app.expander[1].dataframe[0].value.to_dict("records")
    assert (dropped["row"], dropped["source"], dropped["reason"]) == (3, "second.csv", "no text")


def test_a_large_table_is_cut_for_the_eye_only(app: AppTest) -> None:
    assert len(app.dataframe[-1].value) == 1_000
    assert app.caption[-1].value == "The first 1,000 of 3,024 rows; the download has them all."


def test_no_tool_bar_lies_over_the_heat_maps_titles(app: AppTest) -> None:
    [chart] = app.get("plotly_chart")
    assert json.loads(chart.proto.config) == {"displayModeBar": False}


def test_the_counts_are_in_the_pages_text_colour(app: AppTest) -> None:
    [chart] = app.get("plotly_chart")
    assert json.loads(chart.proto.spec)["data"][1]["textfont"] == {"color": "#31333F"}


def multiselect(app: AppTest, label: str) -> list[str]:
    return next(box for box in app.multiselect if box.label == label).value


def test_the_instant_method_is_first_and_asks_only_for_what_it_reads(app: AppTest, root: Path) -> None:
    app.switch_page("views/train.py").run()
    assert app.radio(key="choose-method-group").value == "head"
    assert app.text_input[0].value == "head-use-1"
    assert [box.label for box in app.multiselect] == ["Labels in"]
    labels = {box.label for box in app.number_input}
    assert "Move towards the intent" in labels and "Epochs" not in labels
    assert not any(
        box.key.startswith("preset") for box in app.get("button_group")
    )  # it has no paper to start from
    next(box for box in app.number_input if box.label == "Move towards the intent").set_value(0.1).run()
    keeps = app.toggle(key="train-keep-examples")
    assert keeps.value and keeps.label == "Keep sentences in the run"
    keeps.set_value(False).run()
    button(app, "Start the run").click().run()
    assert not app.exception
    assert app.toast[0].value.replace("\\", "") == "Started head-use-1."
    run = Run(root / "head-use-1")
    config = run.config()
    assert (config.method, config.hyperparameters["share"], config.unlabelled_languages) == (
        "head",
        0.1,
        (),
    )
    assert not config.keep_examples and not config.snapshots
    run.cancel()


@pytest.mark.slow
def test_training_starts_from_sensible_choices(app: AppTest) -> None:
    train_page(app)
    assert multiselect(app, "Labels in") == ["en"]
    assert multiselect(app, "Sentences without labels in") == ["de", "es", "fr", "ja", "zh"]
    assert app.text_input[0].value == "emu-use-1"
    assert any(box.key.startswith("preset") for box in app.get("button_group"))
    assert not button(app, "Start the run").disabled
    app.multiselect[0].set_value(["ja"]).run()
    assert multiselect(app, "Sentences without labels in") == ["en", "de", "es", "fr", "zh"]
    app.switch_page("views/data.py").run()
    train_page(app)
    assert multiselect(app, "Labels in") == ["ja"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda app: app.multiselect[0].set_value([]), "Choose a language whose labels are used."),
        (
            lambda app: app.multiselect[1].set_value([]),
            "This method needs sentences in another language than English",
        ),
        (lambda app: app.text_input[0].set_value("../x"), "The run's name starts with a lower-case letter"),
        (
            lambda app: app.text_input[0].set_value("taken"),
            "There is a run 'taken' already; choose another name.",
        ),
    ],
)
def test_what_does_not_fit_is_said_before_it_is_started(
    app: AppTest, root: Path, change: Callable[[AppTest], object], reason: str
) -> None:
    (root / "taken").mkdir()
    train_page(app)
    change(app)
    app.run()
    assert app.warning[0].value.replace("\\", "").startswith(reason)
    assert button(app, "Start the run").disabled


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "method", "reason"),
    [
        (table(intents="pool,shop").query("language == 'de' or intent == 'pool'"), "emu", "single intent"),
        (table("en"), "emu", "needs sentences in another language"),
        (table().drop(columns="id"), "emu-parallel", "translation by id"),
        (table(count=1), "n-pair", "N-pair needs two intents"),
        (table().assign(split="test"), "emu", "No split 'train'"),
    ],
    ids=["one intent in English", "one language", "not parallel", "one sentence each", "no train rows"],
)
def test_data_that_can_not_be_trained_on(app: AppTest, frame: pd.DataFrame, method: str, reason: str) -> None:
    upload(app, ("a.csv", csv(frame)))
    assert not app.error
    train_page(app)
    choose_method(app, method)
    assert reason in app.warning[0].value.replace("\\", "")
    assert button(app, "Start the run").disabled


def test_a_method_without_discriminator_needs_one_language_only(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table("en"))))
    train_page(app)
    choose_method(app, "emu-without-ld")
    assert not app.warning
    assert not button(app, "Start the run").disabled


@pytest.mark.slow
def test_a_share_of_a_set_without_splits_is_held_out_unless_it_is_0(app: AppTest) -> None:
    upload(app, ("a.csv", csv(table("en"))))
    assert "20% of every intent's sentences are held out" in app.info[0].value
    assert int(app.metric[3].value) > 0
    train_page(app)
    assert not any("not evaluated" in info.value for info in app.info)
    app.switch_page("views/data.py").run()
    next(box for box in app.number_input if box.label == "Held out, percent").set_value(0).run()
    assert app.metric[3].value == "0"
    train_page(app)
    assert any("not evaluated" in info.value for info in app.info)


@pytest.mark.slow
def test_the_run_holds_what_was_asked_and_the_data(app: AppTest, root: Path) -> None:
    upload(app, ("a.csv", csv(table())))
    train_page(app)
    epochs = next(box for box in app.number_input if box.label == "Epochs")
    epochs.set_value(9).run()
    app.number_input(key="train-seed").set_value(3).run()
    button(app, "Start the run").click().run()
    assert not app.exception
    run = Run(root / "emu-use-1")
    config = run.config()
    assert config.hyperparameters == asdict(configure("emu", "use", epochs=9))
    assert (config.seed, config.train_languages, config.unlabelled_languages) == (3, ("en",), ("de",))
    assert config.keep_examples and config.snapshots
    data = load_data(run.training_folder, config.data)
    assert isinstance(data, LabelledData) and data.unlabelled is not None
    assert data.labelled.frame["text"].tolist() == table()["text"].tolist()
    assert run.data().name == "a.csv"
    run.cancel()


def test_rows_without_an_intent_are_learnt_from_too(app: AppTest, root: Path) -> None:
    rows = table()
    bare = pd.DataFrame(
        {"text": [f"où est-ce {i}" for i in range(3)], "intent": "", "language": "fr", "id": ""}
    )
    upload(app, ("a.csv", csv(pd.concat([rows, bare]))))
    train_page(app)
    assert multiselect(app, "Sentences without labels in") == ["de", "fr"]
    button(app, "Start the run").click().run()
    run = Run(root / "emu-use-1")
    data = load_data(run.training_folder, run.config().data)
    assert isinstance(data, LabelledData) and data.unlabelled is not None
    assert set(bare["text"]) < set(data.unlabelled.frame["text"])
    assert run.config().unlabelled_languages == ("de", "fr")
    run.cancel()


@pytest.mark.slow
def test_a_run_is_followed_left_found_again_and_cancelled(app: AppTest, root: Path) -> None:
    train_page(app)
    button(app, "Start the run").click().run()
    run = Run(root / "emu-use-1")
    until(lambda: run.status().state is RunState.RUNNING)
    assert run.data(LabelledFacts).rows == 3024
    app.switch_page("views/data.py").run()
    for session in (
        app,
        new_session().run(),
    ):
        train_page(session)
        assert session.selectbox(key="watched").value == "emu-use-1"
        assert session.get("progress")[0].proto.text.startswith("Training: step 1 of 4, epoch 1 of 2")
        assert session.get("progress")[0].proto.value == 25
        assert session.text_input[0].value == "emu-use-2"
    button(app, "Cancel").click().run()
    assert not app.exception
    until(lambda: run.status().state is RunState.CANCELLED)
    app.run()
    assert "Cancelled after 1 steps" in app.warning[0].value
    assert runs_table(app)["State"].tolist() == ["cancelled"]


@pytest.mark.slow
def test_a_second_run_waits_for_the_first(app: AppTest, root: Path) -> None:
    train_page(app)
    button(app, "Start the run").click().run()
    # It would be the same again, which is said, and is allowed.
    assert app.button(key="show-trained").label == "emu-use-1"
    assert any(line.value == "You are training this already:" for line in app.markdown)
    app.number_input(key="train-seed").set_value(1).run()
    assert not any("this already" in line.value for line in app.markdown)
    app.number_input(key="train-seed").set_value(0).run()
    button(app, "Start the run again").click().run()
    first, second = Run(root / "emu-use-1"), Run(root / "emu-use-2")
    until(lambda: first.status().state is RunState.RUNNING)
    app.run()
    assert app.selectbox(key="watched").value == "emu-use-2"
    trained = app.button(key="show-trained").label
    other = ({"emu-use-1", "emu-use-2"} - {trained}).pop()
    for name in (trained, other):  # whichever is looked at
        app.selectbox(key="watched").set_value(name).run()
        assert app.button(key="show-trained").click().run().selectbox(key="watched").value == trained
    app.selectbox(key="watched").set_value("emu-use-2").run()
    assert "Waiting for 1 other job on its device." in [info.value for info in app.info]
    button(app, "Cancel").click().run()
    first.cancel()
    until(lambda: second.status().state is RunState.CANCELLED and first.status().state is RunState.CANCELLED)


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_run_shows_the_verdict_that_every_face_shows(root: Path, kind: str) -> None:
    measured = case(kind)
    measured.stored(root, kind)
    app = train_page(new_session().run())
    verdict = run_verdict(measured.metrics)
    shown = " ".join(caption.value.replace("\\", "") for caption in app.caption)
    boxes = {"better": app.success, "worse": app.error, "note": app.info}[verdict.kind]
    assert verdict.sentence in [box.value.replace("\\", "").strip("*") for box in boxes]
    cards = [(metric.label, metric.value.replace("\\", "")) for metric in app.metric]
    assert cards == [(title, number or "–") for title, number, _ in verdict.cards]
    assert all(more in shown for _, _, more in verdict.cards)
    for line in verdict.lines[1:]:
        if line.text not in (verdict.other_tasks.text, verdict.costs):  # which a card says
            assert line.text in shown
    html = [html.proto.body for html in app.get("html") if "emu-bars" in html.proto.body]
    assert len(html) == len(verdict.measures)
    for measure, bars in zip(verdict.told, html, strict=True):
        assert measure.changes is not None
        for code in measure.changes.by_language:
            assert f'<th scope="row">{language_name(code)}</th>' in bars
    tables = [table.value for table in app.dataframe if "95 % interval" in table.value]
    for measure, table in zip(verdict.measures, tables, strict=False):
        assert [tuple(row) for row in table.to_numpy().tolist()] == list(measure.table().rows)
    assert any("Data page" in note.value for note in app.info) == (kind == "nothing")


@pytest.mark.slow
def test_a_collapse_is_an_alarm_while_the_run_goes_on(root: Path) -> None:
    run = past(root, "bad", Status(state=RunState.RUNNING, pid=os.getpid(), phase="training", steps=9))
    records = [
        {"kind": "step", "step": 1, "epoch": 1, "loss": 2.0},
        {"kind": "epoch", "step": 1, "epoch": 1, "loss": 2.0},
    ]

    def seen(*more: dict[str, Any]) -> list[str]:
        (run.folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [*records, *more]))
        app = train_page(new_session().run())
        return [box.value for box in app.error]

    assert seen() == []
    alarm = records[1] | {"epoch": 2, "step": 2, "alarm": "the vectors have <b>collapsed</b>"}
    assert seen(alarm) == [r"Epoch 2: The vectors have \<b\>collapsed\<\/b\>\."]
    assert seen(alarm, records[1] | {"epoch": 3, "step": 3}) == []  # it has come back
    run.write("metrics.json", {"note": "not measured", "warnings": ["collapsed"]})
    run.write_status(Status(state=RunState.FINISHED))
    assert seen(alarm) == []  # among the warnings, and said once


@pytest.mark.slow
def test_past_runs_are_listed_with_what_became_of_them(root: Path) -> None:
    metrics = replace(case("better").metrics, warnings=("thin <b>",))
    past(root, "good", Status(state=RunState.FINISHED, started_at=1.0), metrics.to_json())
    past(root, "bad", Status(state=RunState.FAILED, message=Message("no row in [xx](http://evil)")))
    past(root, "gone", Status(state=RunState.RUNNING, pid=2**22 + 1))
    past(
        root,
        "unmeasured",
        Status(state=RunState.FINISHED),
        {"note": "measure with emu evaluate FILE", "warnings": []},
    )
    (root / "damaged").mkdir()
    (root / "damaged" / "config.json").write_text("{}")
    (root / "damaged" / "status.json").write_text("{")
    app = train_page(new_session().run())
    listed = runs_table(app).set_index("Run")
    assert listed["State"].to_dict() == {
        "good": "finished",
        "bad": "failed",
        "gone": "interrupted",
        "unmeasured": "finished",
        "damaged": "failed",
    }
    overall = metrics.right_intents.overall  # type: ignore[union-attr]
    assert listed.loc["good", ["Right intents", "Right intents: change"]].tolist() == pytest.approx(
        [overall.specialised, overall.difference]
    )
    app.selectbox(key="watched").set_value("good").run()
    assert app.metric[0].value == "30 → 60 of 100"
    assert app.warning[0].value == r"Thin \<b\>\."
    app.selectbox(key="watched").set_value("bad").run()
    assert app.error[0].value == "No row in \\[xx\\]\\(http\\:\u2060\\/\\/evil\\)\\."
    app.selectbox(key="watched").set_value("gone").run()
    assert app.warning[0].value.startswith("Interrupted")
    app.selectbox(key="watched").set_value("unmeasured").run()
    assert "Data page" in app.info[1].value and "emu evaluate" not in app.info[1].value  # no command
    app.selectbox(key="watched").set_value("damaged").run()
    assert len(app.error) == 1

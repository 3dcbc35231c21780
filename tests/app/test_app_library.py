"""The library of data: uploaded sets stay, have names, and are part of the address."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from emu_core.api.train import plan_training
from emu_core.formats.labelled import read_labelled
from emu_core.runs.run import RunState, Status, create_run
from tests.support.app_pages import new_session, press, with_data
from tests.support.small import small_file

pytestmark = pytest.mark.usefixtures("runs")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return small_file(tmp_path, ("en", "de"))


def opened(data: str) -> AppTest:
    """A session of its own, begun with a link to a set."""
    app = new_session()
    app.query_params["data"] = data
    return app.run()


def in_use(app: AppTest) -> str:
    assert not app.exception and not app.error
    [title] = (str(header.value) for header in app.header if header.value.startswith("In use: "))
    return title.replace("\\", "")


@pytest.mark.slow
def test_an_upload_stays_and_a_link_opens_it_in_another_session(file: Path) -> None:
    first = with_data(file.read_bytes())
    assert first.query_params["data"] == "small" and in_use(first) == "In use: small.csv"
    other = opened("small")
    assert in_use(other) == "In use: small.csv"
    sizes = [[metric.value for metric in app.metric] for app in (first, other)]
    assert sizes[0] == sizes[1] and sizes[0][0] == str(len(read_labelled([file])[0]))
    assert in_use(opened("demo")) == "In use: Demo set"
    columns = json.loads(other.dataframe[-1].proto.columns)
    assert columns["Sentences"]["type_config"]["format"] == "localized"


@pytest.mark.slow
def test_the_same_rows_are_stored_once_and_others_get_a_name_of_their_own(file: Path, runs: Path) -> None:
    for content in (file.read_bytes(), file.read_bytes(), file.read_bytes().replace(b"taxi", b"cab")):
        with_data(content)
    assert sorted(path.name for path in (runs / ".data").iterdir()) == ["small", "small-2"]


@pytest.mark.slow
def test_the_same_rows_in_another_file_are_the_stored_set(file: Path, runs: Path) -> None:
    with_data(file.read_bytes())
    app = with_data(file.read_bytes(), "other.csv")
    assert app.query_params["data"] == "small" and in_use(app) == "In use: small.csv"
    assert "already: small" in app.toast[0].value
    [note] = [item.value for item in app.info if "other.csv" in item.value.replace("\\", "")]
    assert "**small**" in note and "under its own name" in note
    (runs / ".data" / "small" / "rows.parquet").write_bytes(b"no")
    (runs / ".data" / "small" / "data.json").touch()  # a new set of the same name, for the cache
    again = with_data(file.read_bytes(), "other.csv")
    assert again.query_params["data"] == "other" and in_use(again) == "In use: other.csv" and not again.toast


@pytest.mark.slow
def test_a_set_is_renamed_deleted_and_brought_back(file: Path) -> None:
    app = with_data(file.read_bytes())
    app.text_input(key="data-name-small").set_value("Hotel!").run()
    press(app, "Rename")
    assert "letter or a digit" in app.error[0].value
    app.text_input(key="data-name-small").set_value("hotel").run()
    press(app, "Rename")
    assert app.query_params["data"] == "hotel" and in_use(app) == "In use: small.csv"
    press(app, "Delete")
    assert in_use(app) == "In use: Demo set" and app.query_params["data"] == "demo"
    assert "There is no data set hotel here" in opened("hotel").warning[0].value.replace("\\", "")
    press(app, "Undo: restore hotel")
    assert in_use(app) == "In use: small.csv" == in_use(opened("hotel"))


@pytest.mark.parametrize("name", ["../../etc", "/etc", "a\0b", "x" * 5_000, "<img src=x>", ".deleted"])
def test_a_hostile_name_in_the_address_is_the_demo_set(name: str) -> None:
    app = opened(name)
    assert in_use(app) == "In use: Demo set"
    assert "There is no data set" in app.warning[0].value and " <img" not in app.warning[0].value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damaged", "content"),
    [("rows.parquet", b"no"), ("data.json", b"{"), ("data.json", b"[]"), ("data.json", b'{"title": 3}')],
)
def test_a_damaged_set_is_said_and_the_demo_set_taken(
    file: Path, runs: Path, damaged: str, content: bytes
) -> None:
    with_data(file.read_bytes())
    (runs / ".data" / "small" / damaged).write_bytes(content)
    app = opened("small")
    assert in_use(app) == "In use: Demo set" and "is damaged" in app.warning[0].value


CSV = "text,intent,language\n" + "".join(
    f"{text} {i},{intent},{language}\n"
    for text, intent, language in (
        ("where is the pool", "pool", "English"),
        ("please call me a taxi", "taxi", "English"),
        ("wo ist bitte das Schwimmbad", "pool", "Kauderwelsch (D)"),
        ("bitte rufen Sie mir ein Taxi", "taxi", "Kauderwelsch (D)"),
    )
    for i in range(4)
)


def numbers(app: AppTest) -> list[str]:
    assert not app.exception and not app.error
    return [str(metric.value) for metric in app.metric[:3]]


def banner(app: AppTest) -> str:
    return " ".join(str(warning.value) for warning in app.warning).replace("\\", "")


def test_many_rows_left_out_are_said_at_once_and_their_languages_named(runs: Path) -> None:
    app = with_data(CSV.encode())
    assert "8 of 16 rows (50%) are left out" in banner(app) and "'Kauderwelsch (D)'" in banner(app)
    assert numbers(app) == ["8", "2", "1"]
    next(box for box in app.selectbox if "Kauderwelsch" in box.label).set_value("de").run()
    assert numbers(app) == ["16", "2", "2"] and "left out" not in banner(app)
    assert [path.name for path in (runs / ".data").glob("[!.]*")] == ["small-2"], "the half of it is not kept"


@pytest.mark.slow
def test_languages_of_a_stored_set_are_named_in_a_new_version() -> None:
    with_data(CSV.encode())
    app = opened("small")
    next(box for box in app.selectbox if "Kauderwelsch" in box.label).set_value("de").run()
    press(app, "Save with these languages")
    assert app.query_params["data"] == "small-v2" and in_use(app) == "In use: small.csv v2"
    assert numbers(app) == numbers(opened("small-v2")) == ["16", "2", "2"]
    assert any("Kauderwelsch (D) is German" in line.value.replace("\\", "") for line in app.caption)
    assert numbers(opened("small")) == ["8", "2", "1"]


def test_languages_are_detected_where_no_column_says_them() -> None:
    bare = "".join(line.rpartition(",")[0] + "\n" for line in CSV.splitlines()).encode()
    app = with_data(bare)
    next(box for box in app.toggle if "Detect the language" in box.label).set_value(True).run()
    assert numbers(app) == ["16", "2", "2"]


@pytest.mark.slow
def test_what_is_undetermined_is_asked_about() -> None:
    rows = [
        "where is the pool please,pool",
        "where is the taxi please,taxi",
        "hi,greet",
        "hey,greet",
        "ok,yes",
    ]
    app = with_data("\n".join(["text,intent", *rows]).encode())
    next(box for box in app.toggle if "Detect the language" in box.label).set_value(True).run()
    assert numbers(app) == ["2", "2", "1"]
    box = next(box for box in app.selectbox if box.label == "Undetermined")
    box.set_value("en").run()
    assert numbers(app) == ["5", "4", "1"]


@pytest.mark.slow
def test_a_wrong_language_is_found_and_corrected() -> None:
    app = with_data(CSV.replace("Kauderwelsch (D)", "French").encode())
    press(app, "Detect the languages")
    app.button(key="save-detected").click().run()
    assert any("8 languages changed" in line.value for line in app.caption)
    assert app.metric[2].help == "English, German"


@pytest.mark.slow
def test_near_repeats_go_in_a_new_version_of_a_version() -> None:
    app = with_data((CSV + "WHERE is the pool 0,pool,en\n").encode())
    press(app, "Leave all of these out")
    assert app.query_params["data"] == "small-v2" and numbers(app)[0] == "8"


@pytest.mark.slow
def test_the_data_of_a_run_are_opened(file: Path, runs: Path) -> None:
    config, data = plan_training(read_labelled([file])[0], method="head")
    for name in ("first", "second"):
        create_run(runs / name, config, data).write_status(Status(state=RunState.FINISHED))
    app = new_session("try")
    app.query_params["b"] = "run:first"
    press(app.run(), "Open the data that first was trained on")
    assert any("are not here; upload" in error.value for error in app.error)
    with_data(file.read_bytes())
    press(app, "Open the data that first was trained on")
    assert app.query_params["data"] == "small"
    assert app.query_params["b"] == "run:first"  # and not the newer one, which would be the default
    assert not any("was trained on" in button.label for button in app.button)


@pytest.mark.slow
def test_intents_are_merged_in_a_new_version(tmp_path: Path) -> None:
    rows = "".join(
        f"{intent}-{language},sentence {number} {intent},{language}\n"
        for number in range(3)
        for intent in ("book", "Ask" if number else "ask")
        for language in ("en", "fr")
    )
    app = with_data(f"intent,text,language\n{rows}".encode())
    assert any("No intent occurs in two languages" in note.value for note in app.info)
    press(app, "Drop the language from the intents")
    assert in_use(app) == "In use: small.csv v2" and app.metric[1].value == "3"
    press(app, "Merge intents that differ in case only")
    assert in_use(app) == "In use: small.csv v3" and app.metric[1].value == "2"
    assert not [button.label for button in app.button if "Merge" in button.label or "Drop" in button.label]
    assert any("1 intent merged that differed only in case" in caption.value for caption in app.caption)


@pytest.mark.slow
def test_ticked_sets_show_what_differs_between_them(file: Path) -> None:
    with_data(file.read_bytes())
    app = with_data(file.read_bytes().replace(b"taxi", b"cab"))
    app.session_state["library-ticked"] = ["small", "small-2"]
    app.run()
    assert not app.exception
    assert "**Differs in: contents**" in [line.value for line in app.markdown]
    [equal] = (box for box in app.expander if box.label.startswith("The same in all"))
    assert equal.dataframe[0].value.loc["Languages", "small-2"] == "en, de"

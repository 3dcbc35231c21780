"""The table of formats: every format and ending is taken by every way in."""

import gzip
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from emu_app.data.tables import read_sentences, read_triples, read_upload
from emu_app.data.tables import unlabelled_from_upload as read_unlabelled_box
from emu_core.api.embed import read_inputs
from emu_core.api.inputs import labelled_set
from emu_core.api.predict import sentences_of
from emu_core.api.train import plan_training
from emu_core.cli import main
from emu_core.errors import DataError
from emu_core.formats.file_names import language_of_file
from emu_core.formats.labelled import read_labelled, read_machine_translations, read_unlabelled
from emu_core.formats.parallel.files import read_parallel
from emu_core.formats.source_files import source_files
from emu_core.formats.source_tables import read_tables
from emu_core.formats.tables.formats import (
    FILE_ENDINGS,
    FORMAT_TITLES,
    TABLE_FORMATS,
    WRITTEN_ENDINGS,
    format_of,
)
from emu_core.formats.tables.read import read_table
from emu_core.formats.texts.dialogues import read_dialogues
from tests.support.small import small_set
from tests.support.tables import ENDINGS, WRITERS, written

ROOT = Path(__file__).parents[2]
FRAME = pd.DataFrame(
    {"text": ["where is the pool", "where is the shop"], "intent": ["pool", "shop"], "language": "en"}
)
every_ending = pytest.mark.parametrize("ending", ENDINGS)


@pytest.fixture
def file(tmp_path: Path, ending: str) -> Path:
    """A labelled file with an ending, alone in its folder."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / f"hotel{ending}"
    path.write_bytes(written(FRAME, ending))
    return path


def test_every_format_is_tried_here() -> None:
    assert tuple(WRITERS) == TABLE_FORMATS
    assert {ending for table_format in TABLE_FORMATS for ending in table_format.endings} <= set(ENDINGS)


def test_no_ending_belongs_to_two_formats() -> None:
    endings = [ending for table_format in TABLE_FORMATS for ending in table_format.endings]
    assert len(set(endings)) == len(endings)
    magics = [table_format.magic for table_format in TABLE_FORMATS if table_format.magic]
    assert len(set(magics)) == len(magics)
    assert all(format_of(f"x{ending}") is table_format for ending, table_format in ENDINGS.items())


@pytest.mark.slow
@every_ending
def test_labelled_data_as_a_file_and_as_a_folder(file: Path) -> None:
    for source in (file, file.parent, str(file.parent)):
        for labelled in (read_labelled([source])[0], labelled_set(source)[0]):
            assert labelled.frame[["text", "intent"]].equals(FRAME[["text", "intent"]].astype("str"))


@pytest.mark.slow
@every_ending
def test_unlabelled_sentences_as_a_file_and_as_a_folder(file: Path) -> None:
    for source in (file, file.parent):
        assert read_unlabelled([source]).frame["text"].tolist() == FRAME["text"].tolist()
        assert (
            sentences_of(str(source))["text"].tolist()
            == read_inputs(source)["text"].tolist()
            == FRAME["text"].tolist()
        )


@pytest.mark.slow
@every_ending
def test_a_folder_of_unlabelled_sentences_to_train_on(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"mails.de{ending}").write_bytes(written(FRAME[["text"]], ending))
    _, data = plan_training(small_set(), method="emu", unlabelled=[tmp_path])
    assert data.unlabelled is not None and data.unlabelled.languages == ("de",) and len(data.unlabelled) == 2


@every_ending
def test_a_name_of_a_file_is_never_a_sentence(ending: str) -> None:
    with pytest.raises(DataError, match="no such file"):
        sentences_of(f"missing{ending}")


@pytest.mark.slow
@every_ending
def test_the_boxes_of_the_app(ending: str) -> None:
    name, payload = f"hotel{ending}", written(FRAME, ending)
    assert read_upload("key", [(name, payload)]).tables[0].frame["intent"].tolist() == ["pool", "shop"]
    assert read_sentences(name, payload)["text"].tolist() == FRAME["text"].tolist()
    assert read_unlabelled_box(name, payload, "de")["language"].tolist() == ["en", "en"]
    triples = pd.DataFrame({"s1": ["a"], "s2": ["b"], "s3": ["c"]})
    assert read_triples(name, written(triples, ending)).to_numpy().tolist() == [["a", "b", "c"]]
    assert name.lower().endswith(FILE_ENDINGS)


@every_ending
def test_parallel_text_and_dialogues(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"talks{ending}"
    path.write_bytes(written(pd.DataFrame({"en": ["one"], "de": ["eins"]}), ending))
    (text,) = read_parallel([path])
    assert (text.first, text.second) == (("one",), ("eins",))
    path = tmp_path / f"forum.en{ending}"
    path.write_bytes(written(pd.DataFrame({"comment": ["hi"], "response": ["hello"]}), ending))
    (dialogues,) = read_dialogues([path])
    assert (dialogues.language, dialogues.responses) == ("en", ("hello",))


@every_ending
def test_the_language_before_the_ending(ending: str) -> None:
    assert language_of_file(f"hotel.de{ending}") == language_of_file(f"de{ending}") == "de"


@every_ending
def test_machine_translations_in_a_folder(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"text": ["eins"], "intent": ["x"], "translation": ["one"]})
    (tmp_path / f"hotel{ending}").write_bytes(written(frame, ending))
    assert read_machine_translations([tmp_path]) == {"eins": "one"}


@pytest.mark.slow
@pytest.mark.parametrize("ending", [*WRITTEN_ENDINGS, ".xlsx", ".csv.gz"])
def test_the_command_takes_folders_as_data_pool_and_sentences(
    file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    quick = ["--device", "cpu", "--json"]
    folder = str(file.parent)
    assert main(["evaluate", folder, "--pool", folder, *quick]) == 0
    result = json.loads(capsys.readouterr().out)
    # No sentence is an answer to itself, so the nearest is that of the other intent.
    assert result["counts"]["en-en"] == 2 and result["accuracy"]["en-en"] == 0
    assert main(["predict", folder, "--pool", str(file), "--threshold", "-1", *quick]) == 0
    predictions = json.loads(capsys.readouterr().out)["predictions"]
    assert [row["intent"] for row in predictions] == ["pool", "shop"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", WRITTEN_ENDINGS)
def test_what_is_written_can_be_read(
    file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"predicted{ending}"
    assert main(["predict", str(file), "--pool", str(file), "--out", str(out), "--device", "cpu"]) == 0
    assert read_table(out, out.name)["text"].tolist() == FRAME["text"].tolist()


def test_a_folder_stands_for_its_tables_and_nothing_else(tmp_path: Path) -> None:
    kept = ["B.TSV", "a.csv.gz", "c.csv", "d.tab"]
    for name in kept:
        (tmp_path / name).write_bytes(b"text\tintent\na\tb\n")
    for name in (
        ".hidden.csv",
        "~$c.xlsx",
        "README.md",
        "notes.txt",
        "picture.png",
        "c.csv.bak",
        "packed.gz",
    ):
        (tmp_path / name).write_bytes(b"text,intent\nnot,this\n")
    (tmp_path / "folder.csv").mkdir()
    tables, (note,) = read_tables(source_files([tmp_path]))
    assert [table.path for table in tables] == kept
    assert (
        note
        == "Not read, since they hold no labelled sentences: README.md, c.csv.bak, notes.txt, packed.gz, picture.png."
    )


def test_a_folder_without_tables_is_refused_with_the_formats(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\n")
    with pytest.raises(DataError) as caught:
        read_labelled([tmp_path])
    message = str(caught.value)
    assert all(table_format.title in message for table_format in TABLE_FORMATS)
    assert all(ending in message for table_format in TABLE_FORMATS for ending in table_format.endings)


def test_the_content_wins_over_a_wrong_ending() -> None:
    for table_format, write in WRITERS.items():
        payload = write(FRAME)
        for ending in (".csv", ".tsv", ".parquet", ".xlsx", ".txt"):
            frame = read_table(payload, f"hotel{ending}")
            assert frame["intent"].tolist() == ["pool", "shop"], (table_format, ending)


def test_a_plain_file_has_a_sentence_a_line_in_the_boxes_as_in_the_command(tmp_path: Path) -> None:
    text = b"where is the pool\n\n where, please, is the shop \n"
    for name, payload in (("mails.txt", text), ("mails.en.gz", gzip.compress(text))):
        expected = ["where is the pool", "where, please, is the shop"]
        (tmp_path / name).write_bytes(payload)
        assert [line.strip() for line in sentences_of(tmp_path / name)["text"]] == expected
        assert read_sentences(name, payload)["text"].tolist() == expected
        assert read_unlabelled_box(name, payload, "en")["text"].tolist() == expected


def test_endings_are_listed_once() -> None:
    """A second list of formats would not know the next one."""
    pattern = re.compile(r"""["'.|(](xlsx|ndjson)\b|\.(tab|pq)["'|]""")
    sources = [*(ROOT / "emu_core").rglob("*.py"), *(ROOT / "app").rglob("*.py")]
    found = {path.name for path in sources if pattern.search(path.read_text("utf-8"))}
    assert found <= {"formats.py"}


def test_help_and_documentation_name_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("train", "predict"):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        assert FORMAT_TITLES in " ".join(capsys.readouterr().out.split())
    page = (ROOT / "docs" / "how-to" / "data.md").read_text("utf-8")
    table = re.findall(r"^\| ([^|`]+) \| ((?:`\.\w+`,? ?)+) \|", page, re.MULTILINE)
    assert [(title, tuple(re.findall(r"`(\.\w+)`", endings))) for title, endings in table] == [
        (table_format.title, table_format.endings) for table_format in TABLE_FORMATS
    ]

import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from emu_core.data.audit import labelled_from_frame
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled, read_unlabelled
from tests.support.exports import folder_of, zip_of


def saved(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_files_of_several_kinds_join(tmp_path: Path) -> None:
    english = saved(tmp_path, "hotel.csv", "id,text,intent,language,split\n1,pool?,pool,en-US,train\n,,,,\n")
    german = saved(tmp_path, "de.tsv", "utt\tlabel\nWo ist das Frühstück?\tfood\n", "cp1252")
    japanese = saved(
        tmp_path, "x.jsonl", json.dumps({"locale": "ja-JP", "utt": "プール？", "intent": "pool", "id": "1"})
    )
    labelled, audit = read_labelled([str(english), german, japanese])
    assert labelled.frame.to_dict("split")["data"] == [
        ["1", "pool?", "pool", "en", "train", ""],
        ["", "Wo ist das Frühstück?", "food", "de", "", ""],
        ["1", "プール？", "pool", "ja", "", ""],
    ]
    assert labelled.name == "hotel.csv, de.tsv, x.jsonl"
    assert audit.dropped.to_dict("records") == [
        {"row": 2, "source": "hotel.csv", "reason": "no text", "text": ""}
    ]
    assert audit.thin["source"].tolist() == ["hotel.csv", "de.tsv", "x.jsonl"]
    assert audit.summary()[-2:] == [
        "de.tsv is not UTF-8 and was read as cp1252: check an accented word.",
        "Language by the names of files: de (de.tsv).",
    ]
    assert labelled.counts().to_numpy().sum() == audit.rows_kept == 3


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    one = saved(tmp_path / "a", "en.csv", "text,intent\nhi,x\nho,y\n")
    two = saved(tmp_path / "b", "en.csv", "text,intent\nhi,x\n")
    _, audit = read_labelled([one, two])
    assert audit.dropped["source"].tolist() == ["b/en.csv"]
    assert audit.dropped["reason"].tolist() == ["an exact repeat of row 1 of a/en.csv"]


def test_mapping_and_language(tmp_path: Path) -> None:
    path = saved(tmp_path, "x.csv", "text,trap\na,x\nb,y\n")
    with pytest.raises(
        DataError, match=r"no column 'intent'; found: text, trap\. Name the column of intents"
    ):
        read_labelled([path])
    labelled, _ = read_labelled(
        [path], reading=Reading(mapping=ColumnMapping(intent="trap"), language="German")
    )
    assert labelled.intents == ("x", "y")
    assert labelled.languages == ("de",)


def test_a_single_path_is_not_taken_for_a_list_of_letters(tmp_path: Path) -> None:
    path = saved(tmp_path, "en.csv", "text,intent\na,x\nb,y\n")
    assert len(read_labelled(str(path))[0]) == len(read_labelled([path])[0]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("text,intent\na,x\n", "has 1 usable of 1 rows; two or more"),
        ("text,intent\na,x\na,x\n", r"has 1 usable of 2 rows \(an exact repeat of row 1 in row 2\)"),
        ("text,intent\n,x\n,y\n", r"has 0 usable of 2 rows \(no text in row 1\)"),
        ("text,intent\na,x\nb,x\n", r"single intent 'x'.*reading=Reading\(mapping=ColumnMapping"),
        ("text,intent,language\na,x,a b\nb,y,c d\n", "0 usable of 2 rows .not a language: 'a b' in row 1"),
    ],
)
def test_too_little_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_labelled([saved(tmp_path, "en.csv", text)])


def test_no_files_and_demo_among_files() -> None:
    with pytest.raises(DataError, match="the list is empty; give a file or a folder"):
        read_labelled([])
    with pytest.raises(DataError, match="can't be joined"):
        read_labelled(["demo", "x.csv"])


def test_from_a_mapped_frame_of_any_index_and_missing_values() -> None:
    frame = pd.DataFrame(
        {"text": ["a", "b", None], "intent": ["x", "y", "x"], "language": ["de-DE", "zh_TW", "de"],
         "id": [1, 2, 3], "split": ["Validation", None, ""], "annotated": [float("nan")] * 3, "more": 1},
        index=[5, 5, 5],
    )  # fmt: skip
    labelled, audit = labelled_from_frame(frame, "upload")
    assert labelled.frame.to_dict("list") == {
        "id": ["1", "2"],
        "text": ["a", "b"],
        "intent": ["x", "y"],
        "language": ["de", "zh-tw"],
        "split": ["dev", ""],
        "annotated": ["", ""],
    }
    assert audit.dropped["row"].tolist() == [3]
    with pytest.raises(DataError, match="upload: no column 'intent'"):
        labelled_from_frame(frame.drop(columns="intent"), "upload")


def test_a_folder_in_which_a_file_states_no_language_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "bot", "faq_fr.csv", "text,intent\nbonjour,hello\nau revoir,bye\n")
    saved(tmp_path / "bot", "faq.csv", "text,intent\nhello,hello\nbye,bye\n")
    with pytest.raises(
        DataError, match=r"^faq\.csv does not say its language; name it \(.*Reading\(language='en'\)\)"
    ):
        read_labelled([tmp_path / "bot"])
    labelled, _ = read_labelled([tmp_path / "bot"], reading=Reading(language="en"))
    assert labelled.frame["language"].tolist() == ["en", "en", "fr", "fr"]


def test_a_language_in_a_name_is_believed_and_a_contradiction_is_said(tmp_path: Path) -> None:
    path = saved(tmp_path, "faq_fr.csv", "text,intent\nbonjour,hello\nau revoir,bye\n")
    labelled, audit = read_labelled([path], reading=Reading(language="en"))
    assert labelled.languages == ("fr",)
    said = "Read as French, as the names state, and not as English, which was given: faq_fr.csv."
    assert said in audit.notes
    path = saved(tmp_path, "support_it.csv", "text,intent\nhello,hello\nbye,bye\n")
    labelled, audit = read_labelled([path], reading=Reading(language="en"))
    assert labelled.languages == ("en",)
    assert "Read as English, though the names may mean Italian: support_it.csv." in audit.notes


def test_train_and_test_files_keep_their_rows_apart(tmp_path: Path) -> None:
    names = ("train.csv", "test.csv")
    paths = [saved(tmp_path, name, f"text,intent,language\na {name},x,en\nb {name},y,en\n") for name in names]
    labelled, audit = read_labelled(paths)
    assert labelled.frame["split"].tolist() == ["train", "train", "test", "test"]
    assert audit.notes == ("Split by the names of files: train (train.csv), test (test.csv).",)
    assert read_labelled(paths[:1])[0].splits == ()  # a file alone is the whole set


def test_a_zip_archive_is_its_files(tmp_path: Path) -> None:
    path = tmp_path / "bot.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/deu_Latn/train.tsv", "text\tintent\nhallo\thello\ntschüss\tbye\n")
        archive.writestr("data/deu_Latn/test.tsv", "text\tintent\nguten Tag\thello\n")
        archive.writestr("../../README.md", "nothing to read")
        archive.writestr("__MACOSX/data/._train.tsv", b"\0")
    labelled, audit = read_labelled([path])
    assert (
        labelled.name == "bot.zip" and labelled.languages == ("de",) and labelled.splits == ("test", "train")
    )
    assert audit.notes[-1] == "Not read, since they hold no labelled sentences: README.md."


@pytest.mark.parametrize("damage", ["cut", "bomb", "many", "locked"])
def test_a_zip_archive_that_is_damaged_or_too_large(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bot.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.csv", "text,intent\n" + "a,b\n" * 1000)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-30])
    if damage == "locked":
        payload = bytearray(path.read_bytes())
        for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            start = payload.find(mark)
            while start >= 0:
                payload[start + at] |= 1
                start = payload.find(mark, start + 1)
        path.write_bytes(bytes(payload))
    if damage == "bomb":
        monkeypatch.setattr("emu_core.formats.source_files.MAX_FILE_BYTES", 5000)
    if damage == "many":
        monkeypatch.setattr("emu_core.formats.source_files.MAX_FILES", 2)
    words = {"cut": "damaged", "bomb": "larger than", "many": "more than 2 files", "locked": "has a password"}
    with pytest.raises(DataError, match=words[damage]):
        read_labelled([path])


def test_settings_and_results_in_json_are_no_sentences(tmp_path: Path) -> None:
    settings = {"method": "emu", "epochs": 3, "languages": ["en", "de"], "parts": {"a": ["one two", "three"]}}
    saved(tmp_path / "data", "config.json", json.dumps(settings))
    saved(tmp_path / "data", "hotel.en.csv", "text,intent\nhello,hello\nbye,bye\n")
    with pytest.raises(DataError, match="JSON without a list of rows"):
        read_labelled([tmp_path / "data" / "config.json"], reading=Reading(language="en"))
    labelled, audit = read_labelled([tmp_path / "data"])
    assert len(labelled) == 2
    assert audit.notes[-1] == "Not read, since they hold no labelled sentences: config.json."


BOT = {"package.json": {"name": "bot", "keywords": ["a bot", "hotel"]}, "src/index.js": "say('hi')"}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, ""),
        ({"settings.json": {"name": "bot", "port": 8080}}, ""),
        ({"notes.txt": "Hello.\n", "domain.yml": "intents:\n- a\n"}, ""),
        ({"a.json": [1, 2]}, "a.json: value 1 is not an object"),
    ],
)
def test_a_folder_without_data_is_refused_as_a_folder(
    files: dict[str, object], reason: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "bot", {**BOT, **files})
    (tmp_path / "bot.zip").write_bytes(zip_of({**BOT, **files}))
    for source in (folder, tmp_path / "bot.zip"):
        for read in (read_labelled, read_unlabelled) if "notes.txt" not in files else (read_labelled,):
            with pytest.raises(DataError) as caught:
                read(source, reading=Reading(language="en"))
            message = str(caught.value)
            assert message.startswith(f"{source.name}: none of its files (") and reason in message
            assert "column" not in message


def test_of_a_folder_without_intents_the_file_with_sentences_is_named(tmp_path: Path) -> None:
    tables = {
        "a.csv": "city,inhabitants\nRome,3\nOslo,1\n",
        "b.csv": "text,nr\nWhere is it?,1\nAnd when?,2\n",
    }
    folder = folder_of(tmp_path / "data", {**BOT, **tables})
    with pytest.raises(DataError, match=r"b\.csv: no column 'intent'"):
        read_labelled(folder, reading=Reading(language="en"))
    alone = folder_of(tmp_path / "alone", {**BOT, "b.csv": tables["b.csv"]})
    assert len(read_unlabelled(alone, reading=Reading(language="en"))) == 2


def test_no_sentence_of_a_table_is_in_a_message(tmp_path: Path) -> None:
    for text in ("my secret is this?,pool\n5,6\n", "my secret is this?,my secret is this?\na,b\n"):
        with pytest.raises(DataError) as caught:
            read_labelled(saved(tmp_path, "hotel.en.csv", text))
        assert "secret" not in str(caught.value)


def test_numbers_as_intents_are_the_same_in_every_file(tmp_path: Path) -> None:
    whole = saved(tmp_path, "a.en.csv", "text,intent\na,1\nb,2\n")
    with_gap = pd.DataFrame({"text": ["c", "d", "e"], "intent": [1, None, 2]})
    with_gap.to_csv(tmp_path / "b.en.csv", index=False)
    with_gap.to_parquet(tmp_path / "c.en.parquet")
    assert "1.0" in (tmp_path / "b.en.csv").read_text("utf-8")
    for other in ("b.en.csv", "c.en.parquet"):
        labelled, audit = read_labelled([whole, tmp_path / other])
        assert labelled.intents == ("1", "2")
        assert audit.dropped["reason"].tolist() == ["no intent"]
    assert read_labelled(tmp_path / "b.en.csv")[0].intents == ("1", "2")  # as another set, which is compared
    classes = read_labelled((["a", "b", "c"], [1.0, 2.0, 1]), reading=Reading(language="en"))[0].intents
    assert classes == ("1", "2")

"""What no sample shows: files that are refused, and files that are named one by one or by their folder."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emu_core.errors import DataError
from emu_core.formats.collections import conll
from emu_core.formats.collections.document import Document
from emu_core.formats.labelled import read_labelled
from emu_core.formats.source_files import SourceFile
from tests.support.exports import Files, cells, folder_of, sample, tables_of

DAMAGED = "nlu:\n- intent: a\n  examples: |\n    - hi\n   - bye\n"
NO_YAML = r"nlu(_fr)?\.yml is not valid YAML in line "
NO_SENTENCES = "holds no sentences to read"
REFUSED: list[tuple[Files, str]] = [
    *(
        ({"x.yml": text}, "none that Emu knows")
        for text in (
            "services:\n  app:\n    image: x\n",
            "stories:\n- intent: a\n",
            "intent: a\n",
            "nlu: yes\n",
        )
    ),
    ({"nlu.yml": DAMAGED}, f"{NO_YAML}5"),
    ({"nlu_fr.yml": DAMAGED, "nlu_en.yml": sample("rasa-entities")["nlu.yml"]}, f"{NO_YAML}5"),
    ({"nlu.yml": "nlu:\n- &a\n  intent: a\n- *a\n"}, rf"{NO_YAML}4 \(an alias or too many levels\)"),
    ({"README.md": "# Title\n- a bullet\n- {x} y\n"}, "none that Emu knows"),
    ({"x.json": {"luis_schema_version": "3.2.0", "intents": [], "utterances": []}}, NO_SENTENCES),
    (
        {
            "x.json": {
                "projectFileVersion": "2023-04-01",
                "stringIndexType": "Utf16CodeUnit",
                "metadata": {"projectKind": "Conversation"},
                "assets": {"projectKind": "Conversation", "intents": [], "utterances": []},
            }
        },
        NO_SENTENCES,
    ),
    (
        {"x.json": [{"data": {"text": text}, "annotations": []} for text in ("hi", "hey")]},
        rf"x.json \(Label Studio\) {NO_SENTENCES} \(without an annotation\)",
    ),
    (
        {"Intent.json": {"name": "Fallback", "sampleUtterances": None}},
        rf"Intent.json \(Amazon Lex\) {NO_SENTENCES}; export it",
    ),
    (
        {"seq.in": "hi\nbye\n", "seq.out": "O\nO\n", "label": "greet\n"},
        r"seq.in has 2 lines, and seq.out and label beside it have 2 and 1",
    ),
    (
        {
            "intents.csv": "".join(f"{n} how are you my friend,greet\n" for n in range(899))
            + "hello, you,greet\n"
        },
        r"intents.csv: line 900 is not a sentence and an intent; put quotes",
    ),
]


@pytest.mark.parametrize(("files", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_damaged_or_empty_or_no_export_is_refused(files: Files, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tables_of(files)


def test_lu_is_known_by_its_notation() -> None:
    assert cells({"chat.txt": "# a\n- to {@city=Rome}\n"}, "text", "intent") == [("to Rome", "a")]


def phrases(*texts: str) -> list[dict[str, object]]:
    return [{"id": "1", "data": [{"text": text}], "isTemplate": False, "count": 0} for text in texts]


def test_files_of_dialogflow_that_are_named_one_by_one(tmp_path: Path) -> None:
    intent = {"id": "1", "name": "a", "auto": True, "responses": []}
    files = {
        "a_usersays_de.json": phrases("hallo"),
        "b_usersays_de.json": phrases("tschüss"),
        "a.json": intent,
    }
    folder = folder_of(tmp_path, files)

    labelled, audit = read_labelled(sorted(folder.glob("*.json")))

    assert labelled.intents == ("a", "b") and labelled.languages == ("de",)
    assert "Not read, since they hold no labelled sentences: a.json." in audit.notes
    with pytest.raises(DataError, match=r"a.json \(Dialogflow ES\) holds no sentences to read; export it"):
        read_labelled(folder / "a.json")


def test_a_file_of_dialogflow_that_is_named_alone_is_named_by_its_folders(tmp_path: Path) -> None:
    texts = {"trainingPhrases": [{"parts": [{"text": text}]} for text in ("hi", "hello")]}
    folder = folder_of(tmp_path, {f"{name}/trainingPhrases/de.json": texts for name in ("a", "b")})

    labelled, _ = read_labelled([folder / name / "trainingPhrases" / "de.json" for name in ("a", "b")])

    assert labelled.intents == ("a", "b") and labelled.languages == ("de",)


def test_the_folder_of_a_locale_of_lex(tmp_path: Path) -> None:
    files = {
        f"Intents/{name}/Intent.json": {
            "name": name,
            "sampleUtterances": [{"utterance": text} for text in texts],
            "slotPriorities": [],
        }
        for name, texts in (("A", ("eins", "zwei")), ("B", ("drei",)))
    }
    locale = {"BotLocale.json": {"name": "Deutsch", "identifier": "de_DE"}}

    assert set(cells({**files, **locale}, "language")) == {("de_DE",)}
    folder = folder_of(tmp_path / "BotLocales" / "it_IT", files)
    for sources in (folder, [folder / path for path in files]):
        labelled, _ = read_labelled(sources)
        assert labelled.languages == ("it",) and labelled.intents == ("A", "B")


def test_an_ordinary_table_is_no_conll() -> None:
    rows = "".join(f"{number}\tplay song {number}\tmusic\tO\n" for number in range(1, 5))
    [table], _ = tables_of({"x.tsv": f"id\ttext\tintent\tslot\n{rows}"})

    assert table.recognised == "" and len(table) == 4


def test_a_sentence_that_the_sample_cuts_does_not_hide_the_intents() -> None:
    sentence = "play\tO\njazz\tB-genre\nmusic\n\n"
    count = 100_000 // len(sentence)

    assert cells({"x.conll": sentence * count}, "text", "intent") == [("play jazz", "music")] * count


def test_a_long_table_is_not_read_to_see_that_it_is_no_conll(monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document(SourceFile("x.csv", b"text,intent\n" + b"play jazz,music\n" * 100_000))
    seen: list[str] = []

    def counted_lines(lines: Iterable[str]) -> Iterator[Any]:
        seen.extend(lines)
        return iter(())

    monkeypatch.setattr(conll, "_sentences", counted_lines)
    assert not conll.is_conll(document)
    assert len(seen) < 10_000

"""Data sets in the files in which they are published."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emu_core.data.reading import Reading
from emu_core.formats.collections import conll
from emu_core.formats.collections.document import Document
from emu_core.formats.labelled import read_labelled
from emu_core.formats.source_files import SourceFile, source_files
from emu_core.formats.source_tables import read_tables
from tests.support.exports import cells, folder_of, rows_of, tables_of

CLINC = {
    "val": [["what is my balance", "balance"]],
    "train": [["show my balance", "balance"], ["play jazz", "music"]],
    "oos_val": [["who won", "oos"]],
    "oos_train": [["what is love", "oos"], ["how tall is he", "oos"]],
}


def test_sentences_out_of_scope_have_the_intent_oos() -> None:
    tables, _ = tables_of({"data_small.json": CLINC})

    assert cells({"data_small.json": CLINC}, "text", "intent", "split") == [
        ("what is my balance", "balance", "val"),
        ("show my balance", "balance", "train"),
        ("play jazz", "music", "train"),
        ("who won", "oos", "val"),
        ("what is love", "oos", "train"),
        ("how tall is he", "oos", "train"),
    ]
    assert [table.recognised for table in tables] == ["CLINC150"]


def test_splits_of_clinc_become_those_of_a_labelled_set(tmp_path: Path) -> None:
    labelled, _ = read_labelled(
        folder_of(tmp_path, {"data_small.json": CLINC}), reading=Reading(language="en")
    )

    assert labelled.frame["split"].tolist() == ["dev", "train", "train"]
    assert set(labelled.intents) == {"balance", "music"}
    assert labelled.none_of_these["split"].tolist() == ["dev", "train", "train"]


def test_the_domains_beside_clinc_are_no_data() -> None:
    tables, notes = tables_of({"data_small.json": CLINC, "domains.json": {"banking": ["balance"]}})

    assert [table.path for table in tables] == ["data_small.json"]
    assert any("domains.json" in note for note in notes if note.startswith("Not read"))


@pytest.mark.parametrize("entry", ["x", ["x"], ["x", "y", "z"], {"text": "x"}, None])
def test_other_entries_of_clinc_are_counted(entry: object) -> None:
    _, notes = tables_of({"data_small.json": CLINC | {"train": [entry, ["play jazz", "music"]]}})

    assert any("entries other than a sentence and its intent: 1 sentence" in note for note in notes)


XSID = {
    "de.valid.conll": "# id = 1\n# text-en = rain in Rome?\n# text = Regen in Bad Ems?\n# intent = weather/find\n"
    "1\tRegen\tweather/find\tB-weather/attribute\n2\tin\tweather/find\tO\n3\tBad\tweather/find\tB-location\n"
    "4\tEms\tweather/find\tI-location\n5\t?\tweather/find\tO\n\n"
    "# id = 2\n# text-en = play jazz\n# text = Spiel Jazz\n# intent = PlayMusic\n"
    "1\tSpiel\tPlayMusic\tO\n2\tJazz\tPlayMusic\tB-genre\n",
    "en.valid.conll": "# text = rain in Rome?\n# intent = weather/find\n# slots: 0:4:weather/attribute\n"
    "1\train\tweather/find\tB-weather/attribute\n2\tin\tweather/find\tO\n3\tRome\tweather/find\tB-location\n"
    "4\t?\tweather/find\tO\n\n"
    "# text = play jazz\n# intent = PlayMusic\n1\tplay\tPlayMusic\tO\n2\tjazz\tPlayMusic\tB-genre\n",
    "en.test.conll": "# text = play soul\n# intent = PlayMusic\n1\tplay\tPlayMusic\tO\n2\tsoul\tPlayMusic\tB-genre\n",
}


def test_xsid_marks_slots_and_numbers_translations_within_a_split() -> None:
    assert cells(XSID, "id", "text", "intent", "annotated") == [
        (
            "valid 1",
            "Regen in Bad Ems?",
            "weather/find",
            "[weather/attribute : Regen] in [location : Bad Ems]?",
        ),
        ("valid 2", "Spiel Jazz", "PlayMusic", "Spiel [genre : Jazz]"),
        ("test 1", "play soul", "PlayMusic", "play [genre : soul]"),
        ("valid 1", "rain in Rome?", "weather/find", "[weather/attribute : rain] in [location : Rome]?"),
        ("valid 2", "play jazz", "PlayMusic", "play [genre : jazz]"),
    ]


def test_languages_and_splits_of_xsid_are_those_of_the_names(tmp_path: Path) -> None:
    labelled, _ = read_labelled(folder_of(tmp_path, XSID))

    assert labelled.frame[["language", "split"]].apply(tuple, axis=1).tolist() == [
        *[("de", "dev")] * 2,
        ("en", "test"),
        *[("en", "dev")] * 2,
    ]


def test_tokens_that_are_not_those_of_the_text_are_not_marked() -> None:
    content = "# text = Regen in Ems\n# intent = find\n1\tSonne\tfind\tB-what\n2\tin\tfind\tO\n"

    assert cells({"x.conll": content}, "text", "annotated") == [("Regen in Ems", "")]


def test_a_text_without_spaces_is_marked() -> None:
    content = "# text = 今日は雨\n# intent = find\n1\t今\tfind\tB-date\n"
    content += "2\t日\tfind\tI-date\n3\tは\tfind\tO\n4\t雨\tfind\tO\n"

    assert cells({"x.conll": content}, "annotated") == [("[date : 今日]は雨",)]


@pytest.mark.parametrize(
    "content",
    [
        "1\tplay\tmusic\tO\n2\tjazz\tmusic\tB-genre\n\n1\tbye\tbye\tO\n",
        "play\tO\tmusic\njazz\tB-genre\tmusic\n\nbye\tO\tbye\n",
        "play O\njazz B-genre\nmusic\n\nbye O\nbye\n",
    ],
)
def test_intents_without_comments(content: str) -> None:
    assert cells({"train.data": content}, "id", "text", "intent", "annotated") == [
        ("", "play jazz", "music", "play [genre : jazz]"),
        ("", "bye", "bye", ""),
    ]


@pytest.mark.parametrize(
    "content",
    [
        "EU\tNNP\tB-ORG\nrejects\tVBZ\tO\n\nGerman\tJJ\tB-MISC\ncall\tNN\tO\n",
        "# sent_id = 1\n# text = They buy\n1\tThey\tthey\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"
        "2\tbuy\tbuy\tVERB\tVB\t_\t0\troot\t_\t_\n",
    ],
)
def test_conll_without_intents_is_no_collection(content: str) -> None:
    tables, _ = tables_of({"x.tsv": "text\tintent\nhi\tgreet\n", "ner.conll": content})

    assert [table.path for table in tables] == ["x.tsv"]


def test_an_ordinary_table_is_no_conll() -> None:
    rows = "".join(f"{number}\tplay song {number}\tmusic\tO\n" for number in range(1, 5))
    tables, _ = read_tables(source_files([("x.tsv", f"id\ttext\tintent\tslot\n{rows}".encode())]))

    assert [table.recognised for table in tables] == [""]
    assert len(tables[0]) == 4


def test_broken_conll_is_read_as_far_as_it_goes() -> None:
    content = (
        "# intent = a\n\n# text = b\n\n1\n\n# intent = c\n1\tx\tc\tB-\n2\ty\n\n\n# intent\n1\tz\tc\tI-k\n"
    )

    assert rows_of({"x.conll": content})["text"].tolist() == ["b", "", "x y", "z"]


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

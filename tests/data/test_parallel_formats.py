"""Parallel text as other tools export it, recognised by its content."""

import gzip
import json
import random
from pathlib import Path

import pytest

from emu_core.data.parallel.files import read_parallel
from emu_core.errors import DataError

PO = """
# a comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: de\\n"

msgid "Open the file"
msgstr "Öffne die "
"Datei"

#, fuzzy
msgid "Close"
msgstr "Schließe"

msgid "Save"
msgstr ""

msgid "One file"
msgid_plural "%d files"
msgstr[0] "Eine Datei"
msgstr[1] "%d Dateien"

#~ msgid "Old"
#~ msgstr "Alt"
"""
XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file source-language="en-US" target-language="de" datatype="plaintext" original="x"><body>
  <trans-unit id="1"><source>Open <g id="1">the</g> file<x id="2"/></source><target>Öffne die
    Datei</target><alt-trans><source>Old</source><target>Alt</target></alt-trans></trans-unit>
  <trans-unit id="2"><source>Save</source></trans-unit>
  <trans-unit id="3"><source>Print</source><target>Drucke</target></trans-unit>
 </body></file>
</xliff>"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" trgLang="fr" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f"><unit id="u"><segment><source>Open it.</source><target>Ouvre.</target></segment>
 <segment><source>Save it.</source><target>Enregistre.</target></segment></unit></file></xliff>"""


def read(folder: Path, name: str, text: str, *languages: str) -> dict[str, tuple[str, ...]]:
    (folder / name).write_text(text, "utf-8")
    (pairs,) = read_parallel([folder / name], languages or None)
    return {pairs.source: pairs.first, pairs.target: pairs.second}


@pytest.mark.parametrize("name", ["app.po", "messages.txt", "messages"])
def test_po(tmp_path: Path, name: str) -> None:
    texts = read(tmp_path, name, PO)
    assert texts == {"en": ("Open the file", "One file"), "de": ("Öffne die Datei", "Eine Datei")}
    (pairs,) = read_parallel([tmp_path / name])
    assert pairs.notes == (f"{name}: 2 entries untranslated or fuzzy, left out.",)
    assert set(read(tmp_path, name, PO, "fr", "de")) == {"fr", "de"}
    with pytest.raises(DataError, match=r"the header states no Language; .*languages="):
        read(tmp_path, name, PO.replace("Language: de", "X-Language: de"))


@pytest.mark.parametrize("name", ["app.xlf", "app.xliff", "app.xml", "app"])
def test_xliff(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name, XLIFF_1) == {
        "en": ("Open the file", "Print"),
        "de": ("Öffne die Datei", "Drucke"),
    }
    assert read(tmp_path, name, XLIFF_2) == {"en": ("Open it. Save it.",), "fr": ("Ouvre. Enregistre.",)}
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>' + XLIFF_2
    with pytest.raises(DataError, match="declares the entity"):
        read(tmp_path, name, bomb)
    with pytest.raises(DataError, match="no language"):
        read(tmp_path, name, XLIFF_1.replace("target-language", "x"))


def test_a_gzipped_file_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "app.xlf.gz").write_bytes(gzip.compress(XLIFF_2.encode()))
    assert read_parallel([tmp_path / "app.xlf.gz"])[0].languages == ("en", "fr")


@pytest.mark.parametrize(
    ("name", "text", "languages"),
    [
        ("Sentence pairs in English-German - 2026-11-01.tsv", "1\tGo.\t77\tGeh.\n2\tHi.\t78\tHallo.\n", ()),
        ("deu.txt", "Go.\tGeh.\tCC-BY 2.0 (France) #1\nHi.\tHallo.\tCC-BY 2.0 (France) #2\n", ("en", "de")),
        ("news.en-de.tsv", "Go.\tGeh.\nHi.\tHallo.\n", ()),
        ("pairs.tsv", "Go.\tGeh.\nHi.\tHallo.\n", ("en", "de")),
        ("pairs.txt", "en\tde\nGo.\tGeh.\nHi.\tHallo.\n", ()),
    ],
)
def test_pairs_with_a_tab_between(tmp_path: Path, name: str, text: str, languages: tuple[str, ...]) -> None:
    assert read(tmp_path, name, text, *languages) == {"en": ("Go.", "Hi."), "de": ("Geh.", "Hallo.")}


def test_pairs_without_languages_say_what_to_do_and_no_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="name the languages") as caught:
        read(tmp_path, "pairs.txt", "Geheim.\tSecret.\nHi.\tHallo.\n")
    assert "Geheim" not in str(caught.value)


def test_json_lines_of_opus(tmp_path: Path) -> None:
    objects = [{"translation": {"en": "Go.", "de": "Geh."}}, {"translation": {"en": "Hi.", "de": "Hallo."}}]
    expected = {"en": ("Go.", "Hi."), "de": ("Geh.", "Hallo.")}
    assert read(tmp_path, "opus.jsonl", "\n".join(map(json.dumps, objects))) == expected
    sides = [{"src": "Go.", "tgt": "Geh."}, {"src": "Hi.", "tgt": "Hallo."}]
    assert read(tmp_path, "opus.en-de.jsonl", "\n".join(map(json.dumps, sides))) == expected
    assert read(tmp_path, "x.jsonl", "\n".join(map(json.dumps, sides)), "en", "de") == expected
    with pytest.raises(DataError, match="state no language"):
        read(tmp_path, "x.jsonl", "\n".join(map(json.dumps, sides)))


def test_tatoeba_joins_sentences_and_links(tmp_path: Path) -> None:
    (tmp_path / "sentences.csv").write_text(
        "1\teng\tGo.\n5\tdeu\tGeh.\n7\tfra\tVa.\n9\tdeu\tGehe.\n", "utf-8"
    )
    (tmp_path / "links.csv").write_text("1\t5\n5\t1\n1\t7\n5\t9\n1\t99\n", "utf-8")
    german, french = read_parallel([tmp_path / "sentences.csv", tmp_path / "links.csv"])
    assert (german.languages, german.first, german.second) == (("en", "de"), ("Go.",), ("Geh.",))
    assert (french.languages, french.second) == (("en", "fr"), ("Va.",))
    with pytest.raises(DataError, match=r"links\.csv is missing"):
        read_parallel([tmp_path / "sentences.csv"])


@pytest.mark.parametrize("text", [PO, XLIFF_1, XLIFF_2, "1\tGo.\t77\tGeh.\n2\tHi.\t78\tHallo.\n"])
def test_damaged_files_raise_nothing_but_a_data_error(tmp_path: Path, text: str) -> None:
    rng = random.Random(0)
    path = tmp_path / "x.en-de.txt"
    for _ in range(300):
        characters = list(text)
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(characters))
            characters[at : at + rng.randint(0, 4)] = rng.choice(
                ['"', "<", "\n", "\\", "é", "", "msgid ", "\t", "\0"]
            )
        path.write_text("".join(characters), "utf-8")
        try:
            read_parallel([path])
        except DataError as error:
            assert str(error)

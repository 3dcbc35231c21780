"""Parallel text as other tools export it, recognised by its content."""

import json
import random
from pathlib import Path

import pandas as pd
import pytest

from emu_core.errors import DataError
from emu_core.formats.parallel.files import read_parallel
from tests.support.exports import sample

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: de\\n"\n\n'
PO, XLIFF_1, XLIFF_2 = (
    sample(name)[path].decode()
    for name, path in (("po", "app.po"), ("xliff-1", "app.xlf"), ("xliff-2", "app.xlf"))
)
PAIRS = {"en": ("Go there.", "Hi."), "de": ("Geh hin.", "Hallo.")}


def write(folder: Path, **texts: str) -> list[Path]:
    """Write files whose names have _ for the dots, and return their paths in order."""
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text, "utf-8")
    return [folder / name.replace("_", ".") for name in texts]


def read(folder: Path, name: str, text: str, *languages: str) -> dict[str, tuple[str, ...]]:
    (folder / name).write_text(text, "utf-8")
    (pairs,) = read_parallel([folder / name], languages or None)
    return {pairs.source: pairs.first, pairs.target: pairs.second}


def entry(original: str, translation: str, before: str = "") -> str:
    return f'{before}msgid "{original}"\nmsgstr "{translation}"\n\n'


@pytest.mark.parametrize("name", ["app.po", "messages.txt", "messages"])
def test_po(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name, PO)["de"] == ("Öffne die Datei", "Eine Datei")
    (pairs,) = read_parallel([tmp_path / name])
    assert pairs.notes == (f"{name}: 3 entries untranslated, fuzzy or obsolete, left out.",)
    assert set(read(tmp_path, name, PO, "fr", "de")) == {"fr", "de"}


@pytest.mark.parametrize(
    ("name", "stated", "language"),
    [
        ("x.po", "pt_BR", "pt"),
        ("x.po", "sr@latin", "sr"),
        ("x.po", "de_DE@formal", "de"),
        ("app-it_IT.po", "", "it"),
        ("fr.po", "", "fr"),
        ("de/LC_MESSAGES/app.po", "", "de"),
    ],
)
def test_languages_of_po(tmp_path: Path, name: str, stated: str, language: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER.replace("Language: de", f"Language: {stated}") + entry("a b", "x y"), "utf-8")
    assert read_parallel([path])[0].languages == ("en", language)


def test_languages_of_po_that_are_not_stated_or_contradict(tmp_path: Path) -> None:
    unstated = HEADER.replace("Language", "X") + entry("a b", "x y")
    with pytest.raises(DataError, match=r"the header states no Language; .*languages="):
        read(tmp_path, "x.po", unstated)
    assert set(read(tmp_path, "x.po", unstated, "es")) == {"en", "es"}
    assert set(read(tmp_path, "x.po", unstated, "fr", "es")) == {"fr", "es"}
    with pytest.raises(DataError, match="is in de by its header or name, and not in es"):
        read(tmp_path, "x.po", HEADER + entry("a b", "x y"), "es")
    with pytest.raises(DataError, match="both sides are in en"):
        read(tmp_path, "x.po", HEADER.replace("Language: de", "Language: en_GB") + entry("a b", "a b"))


@pytest.mark.parametrize(
    "keys", [("menu.open", "menu.close"), ("MENU_OPEN", "MENU_CLOSE"), ("openIt", "closeIt")]
)
def test_keys_for_originals_join_po(tmp_path: Path, keys: tuple[str, str]) -> None:
    english, german, french = (
        HEADER.replace("Language: de", f"Language: {code}") + entry(keys[0], f"{code} open it")
        for code in ("en", "de", "fr")
    )
    french += entry(keys[1], "fr close it")
    paths = write(tmp_path, fr_po=french, de_po=german, en_po=english)

    first, second = read_parallel(paths)
    assert (first.languages, first.first, first.second) == (("en", "fr"), ("en open it",), ("fr open it",))
    assert (second.languages, second.second) == (("en", "de"), ("de open it",))
    assert first.notes == ("fr.po: 1 unit in only one of en and fr left out.",)
    assert [text.languages for text in read_parallel(paths[:2])] == [("fr", "de")]
    with pytest.raises(
        DataError, match=r"de\.po: the originals are keys .* name the PO file of another language"
    ):
        read_parallel(paths[1:2])


def test_an_original_that_is_nearly_a_key_is_soon_told_from_one(tmp_path: Path) -> None:
    original = f"{'a_' * 10_000}?"
    assert read(tmp_path, "x.po", HEADER + entry(original, "x")) == {"en": (original,), "de": ("x",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + 'msgid "Geheim\n', "line 6 is no line of a PO file"),
        (HEADER + "Geheim\n", "line 6 is no line of a PO file"),
        ('msgstr "Geheim"\nmsgid "b"\n', "line 1 is not where it belongs"),
        (HEADER + 'msgid "Geheim"\nmsgstr "a"\nmsgstr "b"\n', "line 8 is not where it belongs"),
        (HEADER + entry("Geheim", ""), "no entry is translated"),
        (HEADER, "no entry is translated"),
    ],
)
def test_damaged_po(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"^x\.po.*{message}") as caught:
        read(tmp_path, "x.po", text)
    assert "Geheim" not in str(caught.value)


def test_languages_of_xliff(tmp_path: Path) -> None:
    no_target = XLIFF_1.replace(' target-language="de"', "")
    assert set(read(tmp_path, "messages.de.xlf", no_target)) == {"en", "de"}
    assert set(read(tmp_path, "app.xlf", no_target, "fr", "es")) == {"en", "es"}
    assert set(read(tmp_path, "app.xlf", no_target, "es")) == {"en", "es"}
    with pytest.raises(
        DataError, match="a <target> of no language; give <file> or <xliff> the attribute target-lang"
    ):
        read(tmp_path, "app.xlf", no_target)
    with pytest.raises(DataError, match="has source and target in the same language, en"):
        read(tmp_path, "app.xlf", XLIFF_1.replace('"de"', '"en-GB"'))


def test_xliff_of_several_files_in_other_languages(tmp_path: Path) -> None:
    file = '<file source-language="en" target-language="{0}"><body><trans-unit id="1"><source>one</source>'
    file += "<target>{0} one</target></trans-unit></body></file>"
    text = f'<xliff version="1.2">{file.format("de")}{file.format("fr")}</xliff>'
    german, french = read_parallel(write(tmp_path, x_xlf=text))
    assert (german.languages, german.second) == (("en", "de"), ("de one",))
    assert (french.languages, french.second) == (("en", "fr"), ("fr one",))
    unstated = text.replace(' target-language="fr"', "")
    with pytest.raises(DataError, match="a <target> of no language"):
        read_parallel(write(tmp_path, x_xlf=unstated))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>' + XLIFF_2, "declares the entity"),
        ("<html><body>Geheim</body></html>", "begins with <html>: this is XML but not XLIFF"),
        (XLIFF_2.replace("target>", "t>"), "no unit with a translation"),
        (XLIFF_2[:-9], "is not XML"),
        ("<xliff>" + "<group>" * 200, "more than 100 nested elements"),
    ],
)
def test_damaged_xliff(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"^x\.xlf.*{message}") as caught:
        read(tmp_path, "x.xlf", text)
    assert "Geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "languages"),
    [
        (
            "x.txt",
            "Go there.\tGeh hin.\tCC-BY 2.0 (France) #1\nHi.\tHallo.\tCC-BY 2.0 (France) #2\n",
            ("de",),
        ),
        ("pairs.tsv", "Go there.\tGeh hin.\nHi.\tHallo.\n", ("en", "de")),
        ("pairs.csv", "Go there.,Geh hin.\nHi.,Hallo.\n", ("en", "de")),
    ],
)
def test_pairs_whose_languages_are_given(
    tmp_path: Path, name: str, text: str, languages: tuple[str, ...]
) -> None:
    assert read(tmp_path, name, text, *languages) == PAIRS


def test_a_name_of_words_states_no_languages(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="names no two languages"):
        read(tmp_path, "as_it_is.tsv", "Go there.\tGeh hin.\nHi.\tHallo.\n")
    assert set(read(tmp_path, "x.en-zh-TW.tsv", "Go there.\t去\nHi.\t你好\n")) == {"en", "zh-tw"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pairs.txt", "Geheim\tSecret\nHi.\tHallo.\n"),
        ("pairs.csv", "Geheim,Secret\nHi.,Hallo.\n"),
        ("pairs.txt", "Geheim\tSecret\tx\nHi.\tHallo.\ty\nHi.\tHallo.\n"),
        ("pairs.json", json.dumps([{"Geheim ist das hier.": "a"}, {"Geheim ist das hier.": "b"}])),
        ("pairs.json", json.dumps({"Geheim ist das": "a", "Nicht das": "b"})),
        ("pairs.yml", "Geheim: Secret\n"),
        ("pairs.xml", "<resources>\n<string>Geheim</string>\n</resources>"),
        ("pairs.en-de.txt.zip", "Geheim"),
    ],
)
def test_files_without_languages_say_what_to_do_and_no_sentence(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(DataError, match=rf"^{name}.*; ") as caught:
        read(tmp_path, name, text)
    assert "Geheim" not in str(caught.value)


def test_json_lines_of_opus(tmp_path: Path) -> None:
    def lines(*rows: dict[str, object]) -> str:
        return "\n".join(map(json.dumps, rows))

    pairs = list(zip(PAIRS["en"], PAIRS["de"], strict=True))
    objects = lines(*({"translation": {"en": en, "de": de}, "score": 1} for en, de in pairs))
    assert read(tmp_path, "opus.jsonl", objects) == PAIRS
    assert read(tmp_path, "opus", objects) == PAIRS
    sides = lines(*({"src": en, "tgt": de} for en, de in pairs))
    assert read(tmp_path, "opus.en-de.jsonl", sides) == PAIRS
    assert read(tmp_path, "x.jsonl", sides, "en", "de") == PAIRS
    with pytest.raises(DataError, match="name no two languages: src, tgt; rename"):
        read(tmp_path, "x.jsonl", sides)
    stated = ({"tgt_lang": "de", "src_lang": "en", "src": en, "tgt": de} for en, de in pairs)
    assert read(tmp_path, "x.jsonl", lines(*stated)) == PAIRS
    other_names = lines(*({"text": en, "translation": de} for en, de in pairs))
    assert read(tmp_path, "x.jsonl", other_names, "en", "de") == PAIRS


def test_keys_that_are_sentences_are_no_names_of_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="name no two languages; rename"):
        read(tmp_path, "x.json", json.dumps({"Open the file": "Öffne", "Close": "Zu"}), "en", "de")


def test_a_table_of_pairs_without_names_in_a_workbook(tmp_path: Path) -> None:
    pd.DataFrame(PAIRS).to_excel(tmp_path / "x.xlsx", header=False, index=False)
    (pairs,) = read_parallel([tmp_path / "x.xlsx"], ["en", "de"])
    assert (pairs.first, pairs.second) == (PAIRS["en"], PAIRS["de"])


SENTENCES = "1\teng\tGo.\n5\tdeu\tGeh.\n7\tfra\tVa.\n8\t\\N\t?\n9\tdeu\tGehe.\n"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"sentences_csv": SENTENCES}, r"sentences\.csv: Tatoeba's links\.csv is missing"),
        ({"links_csv": "1\t5\n"}, r"links\.csv: Tatoeba's sentences\.csv is missing"),
        (
            {"sentences_csv": SENTENCES, "links_csv": "5\t9\n"},
            "no link is between sentences of two languages",
        ),
        ({"sentences_csv": f"{'1' * 5000}\teng\tGo.\n"}, "names no two languages"),
    ],
)
def test_tatoeba_in_part(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_parallel(write(tmp_path, **files))


def test_one_word_pairs_of_tatoeba_are_no_sentences_with_languages(tmp_path: Path) -> None:
    assert read(tmp_path, "x.tsv", "1\tgo\t2\tgeh\n3\trun\t4\tlauf\n", "en", "de")["de"] == ("geh", "lauf")


NOISE = (*'"<\n\\é\t\0{}[,\ud800', "", "msgid ", "&a;", "1" * 20)
DAMAGED = [
    ("x.en-de.txt", PO),
    ("x.po", PO),
    ("x.txt", XLIFF_1),
    ("x.xlf", XLIFF_2),
    ("x.en-de.txt", "1\tGo.\t77\tGeh.\n2\tHi.\t78\tHallo.\n"),
    ("x.en-de.csv", "Go.,Geh.\nHi.,Hallo.\n"),
    ("deu.txt", "Go.\tGeh.\tCC-BY 2.0 #1\nHi.\tHallo.\tCC-BY 2.0 #2\n"),
    (
        "x.jsonl",
        '{"translation": {"en": "Go.", "de": "Geh."}}\n{"translation": {"en": "Hi.", "de": "Na."}}\n',
    ),
    ("x.jsonl", '{"src": "Go.", "tgt": "Geh.", "src_lang": "en", "tgt_lang": "de"}\n'),
    ("sentences.csv", SENTENCES),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), DAMAGED)
def test_damaged_files_raise_nothing_but_a_data_error(tmp_path: Path, name: str, text: str) -> None:
    rng = random.Random(0)
    (tmp_path / "links.csv").write_text("1\t5\n", "utf-8")
    for _ in range(300):
        characters = list(text)
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(characters))
            characters[at : at + rng.randint(0, 4)] = rng.choice(NOISE)
        (tmp_path / name).write_text("".join(characters), "utf-8", "surrogatepass")
        try:
            read_parallel([tmp_path / name, *([tmp_path / "links.csv"] if name == "sentences.csv" else [])])
        except DataError as error:
            assert len(str(error)) < 600
            assert str(error).isprintable()

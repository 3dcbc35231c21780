"""Parallel text from plain files and tables: what belongs together, empty lines, and files that don't fit."""

import gzip
import zipfile
from pathlib import Path

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emu_core.errors import DataError
from emu_core.formats.parallel.files import read_parallel


def write(folder: Path, **files: str | bytes) -> list[Path]:
    """Write files whose names have _ for the dots, and return their paths in order."""
    paths = []
    for name, content in files.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    return paths


def rows(
    paths: list[Path], languages: list[str] | None = None
) -> list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    return [(text.source, text.target, text.first, text.second) for text in read_parallel(paths, languages)]


def test_without_english_the_first_file_is_in_the_middle(tmp_path: Path) -> None:
    paths = write(tmp_path, train_fr="un\n", train_de="eins\n", train_es="uno\n")

    assert [text.languages for text in read_parallel(paths)] == [("fr", "de"), ("fr", "es")]


def test_gzipped_files_in_folders_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    english, german = tmp_path / "a" / "train.en.gz", tmp_path / "b" / "train.de.txt.gz"
    english.write_bytes(gzip.compress(b"one\n", mtime=0))
    german.write_bytes(gzip.compress("schön\n".encode(), mtime=0))

    assert rows([english, german]) == [("en", "de", ("one",), ("schön",))]


def test_files_of_one_name_in_two_folders_are_two_texts(tmp_path: Path) -> None:
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths += write(tmp_path / folder, train_en=f"{folder} one\n", train_de=f"{folder} eins\n")

    assert rows(paths) == [("en", "de", ("a one",), ("a eins",)), ("en", "de", ("b one",), ("b eins",))]


def test_files_that_do_not_say_their_language_have_it_from_the_call(tmp_path: Path) -> None:
    paths = write(tmp_path, left_txt="eins\n", right_txt="one\n")

    assert rows(paths, ["German", "en"]) == [("en", "de", ("one",), ("eins",))]


def test_lines_blank_on_both_sides_divide_documents(tmp_path: Path) -> None:
    paths = write(tmp_path, a_en="\n1\n2\n\n \n3\n4\n", a_de="\nA\nB\n\u3000\n\nC\nD\n\n\n")

    (text,) = read_parallel(paths)

    assert (text.first, text.second) == (("1", "2", "3", "4"), ("A", "B", "C", "D"))
    assert text.documents == (0, 2)
    assert text.notes == ()


def test_without_blank_lines_there_are_no_documents(tmp_path: Path) -> None:
    (text,) = read_parallel(write(tmp_path, a_en="1\n2\n", a_de="A\nB\n"))

    assert text.documents == ()


def test_a_line_that_is_empty_on_one_side_is_named_or_left_out(tmp_path: Path) -> None:
    paths = write(tmp_path, a_en="one\ntwo\nthree\n", a_de="eins\n \ndrei\n")

    with pytest.raises(DataError, match=r"^a\.de: line 2 is empty in de but not in en; .*drop_empty"):
        read_parallel(paths)
    (text,) = read_parallel(paths, drop_empty=True)
    assert (text.first, text.second) == (("one", "three"), ("eins", "drei"))
    assert text.documents == ()
    assert text.notes == ("a.en, a.de: 1 pair with an empty side left out.",)


@pytest.mark.parametrize(
    ("files", "languages", "message"),
    [
        ({"a_en": "1\n2\n3\n", "a_de": "A\nB\n"}, None, r"a\.en has 3 lines and a\.de 2, so line 3 has no translation"),
        ({"a_en": "1\n", "a_en_txt": "A\n"}, None, r"a\.en, a\.en\.txt: the language en is there twice"),
        ({"a_en": "1\n"}, None, r"a\.en: a text and its translation are of two languages, and this has en"),
        ({"a_en": "1\n", "a_de": "A\n", "b_fr": "A\n"}, None, r"^b\.fr: a text and its translation"),
        ({"a_txt": "1\n", "b_txt": "A\n"}, None, r"a\.txt, b\.txt do not say the language; .*\(0 given\)"),
        ({"a_txt": "1\n", "b_txt": "A\n"}, ["en"], r"2 languages for them in order \(1 given\)"),
        ({"a_txt": "1\n", "b_txt": "A\n"}, ["en", "eng"], "the language en is there twice"),
        ({"a_txt": "1\n", "b_txt": "A\n"}, ["en", "Klingon!"], "'Klingon!' is not a language"),
        ({"a_en": "1\n", "a_de": "A\n"}, ["en", "fr"], "are of en, de by their names and not of en, fr"),
        ({"a_en": "1\n", "a_de": b"\x89PNG\r\n"}, None, r"a\.de is a PNG picture"),
        ({"a_en": "1\n", "a_de": b"\x01\x02\x03\x04"}, None, r"a\.de is not a text file but binary data"),
        ({"a_en": "1\n", "a_de": "gru\u00df\n".encode() + b"gr\xfc\xdfe\n"}, None, r"a\.de mixes encodings: line 2"),
        ({"a_en": "1\n", "a_de": "  \n\n"}, None, r"a\.de is empty"),
        ({"a_en": "1\n\n", "a_de": "\nA\n"}, None, r"a\.en has 1 line and a\.de 2"),
        (
            {"a_en_gz": gzip.compress(b"1\n" * 999, mtime=0)[:-9], "a_de": "A\n"},
            None,
            r"a\.en\.gz is a damaged gzip file",
        ),
    ],
)  # fmt: skip
def test_plain_files_that_do_not_fit(
    tmp_path: Path, files: dict[str, str | bytes], languages: list[str] | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_parallel(write(tmp_path, **files), languages)


def test_no_file_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the list is empty; name files of parallel text"):
        read_parallel([])
    with pytest.raises(DataError, match=r"a\.en: no such file"):
        read_parallel([tmp_path / "a.en", tmp_path / "a.de"])


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.formats.limits.MAX_FILE_BYTES", 2**20)
    paths = write(tmp_path, a_en_gz=gzip.compress(b"x\n" * 2**20, mtime=0), a_de="A\n")

    with pytest.raises(DataError, match=r"a\.en\.gz is larger than 1 MB"):
        read_parallel(paths)


def test_too_many_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.formats.limits.MAX_ROWS", 2)

    with pytest.raises(DataError, match=r"a\.en has more than 2 rows"):
        read_parallel(write(tmp_path, a_en="1\n2\n3\n", a_de="A\nB\nC\n"))


def test_a_table_without_a_header_is_read_with_languages_only(tmp_path: Path) -> None:
    paths = write(tmp_path, t_tsv="I go.\tIch gehe.\nYou go.\tDu gehst.\n")

    assert rows(paths, ["en", "de"]) == [("en", "de", ("I go.", "You go."), ("Ich gehe.", "Du gehst."))]
    with pytest.raises(DataError, match=r"the first line names no two languages; put codes"):
        read_parallel(paths)
    with pytest.raises(DataError, match="has 2 columns of sentences and 3 languages are named"):
        read_parallel(paths, ["en", "de", "fr"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("en\tde\none\teins\tx\n", "line 2 has 3 cells but the first has 2"),
        ("en\tde\none\teins\ntwo\n", "line 3 has 1 cell but the first has 2"),
        ("en\teng\none\teins\n", "the language en is there twice"),
        ("en\tde\none\teins\ntwo\t\n", r"line 3 is empty in de but not in en"),
        ("en\tde\n", "no row has text in both en and de"),
        ("en\tde\none\tei\0ns\n", "line 2 holds a NUL byte"),
    ],
)
def test_tables_that_do_not_fit(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_parallel(write(tmp_path, t_tsv=content))


def packed(path: Path, **files: str) -> Path:
    """Write a zip archive of files whose names have _ for the dots and + for the slashes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return path


OPUS = {
    "LICENSE": "Use it.\n",
    "README": "Corpus\nwith\nlines\n",
    "Books_de-en_de": "eins\nzwei\n",
    "Books_de-en_en": "one\ntwo\n",
    "Books_de-en_ids": "a.xml\tb.xml\t1\t1\na.xml\tb.xml\t2\t2\n",
    "Books_de-en_xml": "<cesAlign></cesAlign>\n",
    "Books_de-en_scores": "1.2\n1.1\n",
}


@pytest.mark.parametrize("as_zip", [True, False])
def test_an_archive_or_a_folder_is_its_files_of_parallel_text(as_zip: bool, tmp_path: Path) -> None:
    path = packed(tmp_path / "opus.zip", **OPUS)
    if not as_zip:
        path = tmp_path / "opus"
        with zipfile.ZipFile(tmp_path / "opus.zip") as archive:
            archive.extractall(path)
    assert rows([path]) == [("en", "de", ("one", "two"), ("eins", "zwei"))]
    (text,) = read_parallel([path])
    assert "LICENSE" in text.notes[-1] and "Books.de-en.xml" in text.notes[-1]


def test_files_of_archives_belong_together_by_folder_and_name(tmp_path: Path) -> None:
    table = pd.DataFrame({"en": ["three"], "fr": ["trois"]}).to_csv(index=False)
    files = {"a__train_en": "one\n", "a__train_de": "eins\n", "b__train_en": "two\n", "b__train_de": "zwei\n"}
    path = packed(tmp_path / "both.zip", **files, pairs_csv=table)
    assert [row[2:] for row in rows([path])] == [
        (("one",), ("eins",)),
        (("two",), ("zwei",)),
        (("three",), ("trois",)),
    ]
    english, german = (
        packed(tmp_path / f"{code}.zip", **{f"talks_{code}": f"{code}\n"}) for code in ("en", "de")
    )
    assert rows([english, german]) == [("en", "de", ("en",), ("de",))]
    assert rows([packed(tmp_path / "bare.zip", a_txt="one\n", b_txt="eins\n")], ["en", "de"])[0][3] == (
        "eins",
    )


def test_an_archive_has_the_limits_of_labelled_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="none of the files is parallel text"):
        read_parallel([packed(tmp_path / "nothing.zip", README="Nothing.\n")])
    outside = packed(tmp_path / "out.zip", **{"..____..__x_en": "one\n", "..____..__x_de": "eins\n"})
    assert rows([outside]) == [("en", "de", ("one",), ("eins",))]
    assert {path.name for path in tmp_path.iterdir()} == {"nothing.zip", "out.zip"}
    large = packed(tmp_path / "large.zip", x_en="one\n" * 100_000, x_de="eins\n" * 100_000)
    monkeypatch.setattr("emu_core.formats.source_files.MAX_FILE_BYTES", 500_000)
    with pytest.raises(DataError, match=r"archive large.zip is larger than .* unpacked"):
        read_parallel([large])


def test_tables_that_python_holds_are_as_tables_in_files() -> None:
    rows = {"en": ["Where?", "Now."], "de": ["Wo?", "Jetzt."]}
    objects = [{"en": first, "de": second} for first, second in zip(*rows.values(), strict=True)]
    translated = datasets.Dataset.from_dict({"translation": objects})
    for table in (pd.DataFrame(rows), pl.DataFrame(rows), pa.table(rows), [pa.table(rows)], translated):
        (text,) = read_parallel(table)
        assert text.languages == ("en", "de") and text.second == ("Wo?", "Jetzt.")
    (text,) = read_parallel((rows["en"], rows["de"]), ["en", "de"])
    assert text.first == ("Where?", "Now.") and text.languages == ("en", "de")
    with pytest.raises(DataError, match="there are 2 sources and 1 targets"):
        read_parallel((rows["en"], rows["de"][:1]), ["en", "de"])
    with pytest.raises(DataError, match="the DataFrame: the columns name no two languages: a, b"):
        read_parallel(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(DataError, match="a dict is no table; make it one"):
        read_parallel(rows)

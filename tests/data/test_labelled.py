import hashlib
import random
import struct
from pathlib import Path

import pandas as pd
import pytest

from emu_core.data.reading import Reading
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet, UnlabelledSet, unlabelled_from
from emu_core.errors import DataError, InputError
from emu_core.formats.labelled import read_unlabelled
from tests.support.raises import raises


def labelled(*rows: str) -> LabelledSet:
    """Make a set of rows written as "id text intent language split", `-` for nothing."""
    cells = [[("" if cell == "-" else cell) for cell in row.split()] + [""] for row in rows]
    return LabelledSet(pd.DataFrame(cells, columns=list(LABELLED_COLUMNS), dtype="str"), "test")


SPLIT = labelled(
    "1 a x fr train", "1 b x en train", "2 c y fr dev", "2 d y de test", "3 e y en test", "4 f y en -"
)


def test_what_is_in_the_set() -> None:
    assert len(SPLIT) == 6
    assert SPLIT.languages == ("en", "de", "fr")
    assert SPLIT.intents == ("x", "y")
    assert SPLIT.splits == ("dev", "test", "train")


def test_select() -> None:
    assert SPLIT.select(languages=["fr"]).frame["text"].tolist() == ["a", "c"]
    assert SPLIT.select(languages=["en-GB", "de"], splits=["test"]).frame["text"].tolist() == ["d", "e"]
    assert SPLIT.select(splits=["validation"]).frame["text"].tolist() == ["c"]
    assert SPLIT.select().frame.equals(SPLIT.frame)
    assert SPLIT.select(languages=["en"]).frame.index.equals(pd.RangeIndex(3))
    with pytest.raises(DataError, match="no language 'ja' in the data; there is: en, de, fr"):
        SPLIT.select(languages=["ja"])
    with pytest.raises(DataError, match="no split 'tset' in the data; there is: dev, test, train"):
        SPLIT.select(splits=["tset"])
    with pytest.raises(DataError, match="no row in language de and split train"):
        SPLIT.select(languages=["de"], splits=["train"])


def test_parts() -> None:
    assert SPLIT.train_part().frame["text"].tolist() == ["a", "b"]
    dev = SPLIT.dev_part()
    assert dev is not None
    assert dev.frame["text"].tolist() == ["c"]
    bare = labelled("1 a x fr -", "2 b y fr -")
    assert bare.train_part() is bare
    assert bare.dev_part() is None
    with pytest.raises(DataError, match="no split 'train' in the data; there is: test"):
        labelled("1 a x fr test", "2 b y fr -").train_part()


def test_counts_equal_a_plain_loop() -> None:
    rng = random.Random(0)
    big = labelled(*(f"{i} t{i} i{rng.randint(0, 4)} {rng.choice(['en', 'de', 'ja'])} -" for i in range(60)))
    counts = big.counts()
    assert list(counts.columns) == ["en", "de", "ja"]
    assert list(counts.index) == sorted(counts.index)
    for intent in counts.index:
        for language in counts.columns:
            rows = zip(big.frame["intent"], big.frame["language"], strict=True)
            assert counts.loc[intent, language] == sum(row == (intent, language) for row in rows)


def test_hash_tells_every_cell_and_their_order() -> None:
    base = labelled("1 ab c en -", "2 d e de -")
    assert base.sha256() == labelled("1 ab c en -", "2 d e de -").sha256()
    assert base.sha256() == LabelledSet(base.frame.astype(object), "another name").sha256()
    others = [
        labelled("1 a bc en -", "2 d e de -"),
        labelled("1 a c en -", "2 bd e de -"),
        labelled("2 d e de -", "1 ab c en -"),
        labelled("1 ab c en train", "2 d e de -"),
        labelled("1 ab c en -"),
        LabelledSet(base.frame.assign(annotated=["x", ""]), "test"),
    ]
    assert len({other.sha256() for other in [base, *others]}) == 7


def test_hash_is_fixed_for_good() -> None:
    """A run's recorded hash must be found again by a later version: the same bytes, put together by hand."""
    rows = [["1", "日本", "c", "en", "", ""], ["2", "d", "e", "de", "", "x"]]
    content = struct.pack("<q", 2)
    for column in zip(*rows, strict=True):
        content += struct.pack("<2q", *map(len, column)) + "".join(column).encode()
    base = LabelledSet(pd.DataFrame(rows, columns=list(LABELLED_COLUMNS), dtype="str"), "test")
    assert base.sha256() == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="id"), "has the columns"),
        (lambda frame: frame[["text", "id", "intent", "language", "split", "annotated"]], "has the columns"),
        (lambda frame: frame.set_axis([5, 6], axis=0), "numbered from 0"),
        (lambda frame: frame.assign(text=["a", ""]), "'text' has an empty cell"),
        (lambda frame: frame.assign(id=["a", None]), "'id' has an empty cell"),
        (lambda frame: frame.assign(id=[1, 2]), "'id' is not of strings"),
    ],
)
def test_a_frame_that_is_no_labelled_set(change: object, words: str) -> None:
    assert callable(change)
    with pytest.raises(DataError, match=words):
        LabelledSet(change(labelled("1 a x en -", "2 b y en -").frame), "test")


def test_unlabelled_from_leaves_the_labels() -> None:
    other = unlabelled_from(SPLIT, ["fr", "de"])
    assert other.frame.to_dict("list") == {
        "text": ["a", "c", "d"],
        "language": ["fr", "fr", "de"],
        "id": ["1", "2", "2"],
    }
    assert other.languages == ("de", "fr")
    with pytest.raises(DataError, match="no language 'ja'"):
        unlabelled_from(SPLIT, ["ja"])


def test_read_unlabelled_tables_and_plain_files(tmp_path: Path) -> None:
    (tmp_path / "hotel.csv").write_text(
        "utt,lang,uid\nhi,en,1\nhi,en,2\nhi,de,3\n ,en,4\nx,,5\n", encoding="utf-8"
    )
    (tmp_path / "train.fr.txt").write_text("où,\n\n où, \nça\n", encoding="cp1252")
    both = read_unlabelled([tmp_path / "hotel.csv", str(tmp_path / "train.fr.txt")])
    assert isinstance(both, UnlabelledSet)
    assert both.frame.to_dict("split")["data"] == [
        ["hi", "en", "1"],
        ["hi", "de", "3"],
        ["où,", "fr", ""],
        ["ça", "fr", ""],
    ]
    assert len(both) == 4
    assert read_unlabelled([tmp_path / "train.fr.txt"], reading=Reading(language="ca")).languages == (
        "fr",
    )  # by its name


def test_read_unlabelled_refuses(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "x.txt").write_text("hello\n", encoding="utf-8")
    (tmp_path / "y.csv").write_text("text,lang\nhello,Klingonese\n", encoding="utf-8")
    (tmp_path / "z.csv").write_text("text,lang\n ,en\n", encoding="utf-8")
    for name, words in (
        ("x.csv", "no column 'text'; found: a, b"),
        ("x.txt", "does not say its language"),
        ("y.csv", "'Klingonese' is not a language"),
        ("z.csv", "no sentence"),
        ("none.csv", "no such file"),
    ):
        with pytest.raises(DataError, match=words):
            read_unlabelled([tmp_path / name])
    with raises(InputError, fix=None):
        read_unlabelled([])


def test_a_share_of_every_intent_is_held_out_with_its_translations() -> None:
    rows = [
        {"text": f"{intent} {n} in {language}", "intent": intent, "language": language, "id": f"{intent}{n}"}
        for intent, count in (("a", 10), ("b", 5), ("one", 1))
        for n in range(count)
        for language in ("en", "de")
    ]
    whole = LabelledSet(
        pd.DataFrame(rows, dtype="str").assign(split="", annotated="")[list(LABELLED_COLUMNS)], "x"
    )
    cut = whole.hold_out(0.2, seed=1)
    assert cut.frame.drop(columns="split").equals(whole.frame.drop(columns="split"))
    test = cut.select(splits=["test"]).frame
    assert test.groupby("intent")["id"].nunique().to_dict() == {"a": 2, "b": 1}
    assert (test.groupby("id")["language"].nunique() == 2).all()
    assert not set(test["id"]) & set(cut.train_part().frame["id"])
    assert cut.sha256() == whole.hold_out(0.2, seed=1).sha256() != whole.hold_out(0.2, seed=2).sha256()


def test_without_ids_repeats_stay_together_and_each_language_has_its_share() -> None:
    rows = [
        {"text": text, "intent": "a", "language": language}
        for language in ("en", "de")
        for text in ("One", "one", "two", "three", "four", "five")
    ]
    whole = LabelledSet(
        pd.DataFrame(rows, dtype="str").assign(id="", split="", annotated="")[list(LABELLED_COLUMNS)], "x"
    )
    for seed in range(8):
        cut = whole.hold_out(0.4, seed).frame.assign(text=whole.frame["text"].str.lower())
        assert (cut[cut["split"] == "test"].groupby("language")["text"].nunique() == 2).all()
        assert (cut[cut["text"] == "one"].groupby("language")["split"].nunique() == 1).all()

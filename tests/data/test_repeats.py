"""The one rule for the same sentence, and what it keeps together or leaves out."""

import random
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest

from emu_core.data.cleaning import as_seen, normal_form
from emu_core.data.repeats import is_repeat, sentence_groups, without_repeats
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.formats.labelled import read_unlabelled
from emu_core.formats.texts.documents import documents_of_labelled
from tests.support.repeats import with_repeats
from tests.support.small import small_set

SAME = [
    ("Where is the pool?", "where  is the\tpool? "),
    ("Where is the pool?", "Ｗｈｅｒｅ is\u3000the pool？"),
    ("Où est l'été", "OU\u0300 EST L'E\u0301TE\u0301"),
    ("book now", "book\u00a0\u2009now\ufeff"),
    ("book now", "\u200fbo\u200bok\u2060 n\u00adow\u202c\u2069"),
    ("ΤΕΛΟΣ", "τελος"),
    ("İptal et", "iptal et"),
    ("می‌خواهم", "میخواهم"),
    ("가격은", "\u1100\u1161\u1100\u1167\u11a8\u110b\u1173\u11ab"),
    ("ok ❤️", "OK ❤"),
]  # fmt: skip
DIFFERENT = [
    ("book now", "booknow"), ("pool?", "pool"), ("année", "annee"), ("как", "кaк!"), ("קֶבֶר", "קבר"),
    ("がっこう", "かっこう"), ("🏴\U000e0067\U000e0062\U000e007f", "🏴"), ("क्षमा", "कषमा"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_looks_the_same_is_the_same_sentence(first: str, second: str) -> None:
    assert first != second and normal_form(first) == normal_form(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_means_something_else_is_another_sentence(first: str, second: str) -> None:
    assert normal_form(first) != normal_form(second)


def test_a_name_keeps_what_can_be_seen() -> None:
    assert as_seen("re\u0301server\u00a0  une\u200b table\u200e") == "réserver une table"
    for name in ("Booking", "ｂook", "می‌خواهم", "क्‍ष", "a_b"):
        assert as_seen(name) == name


def frame(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=["text", "language", "id"], dtype="str")


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_what_ids_and_sentences_connect(seed: int) -> None:
    rng = random.Random(seed)
    choices = ("abcdefgh", ["", " ", "\u200b"], ["en", "de"], ["", "1", "2", "3", "4"])
    drawn = ([rng.choice(values) for values in choices] for _ in range(rng.randint(1, 30)))
    table = frame(*((letter + blank, language, key) for letter, blank, language, key in drawn))
    rows = list(table.itertuples(index=False))
    group = list(range(len(rows)))
    for _ in rows:  # as many rounds as the longest chain could take
        for a, b in combinations(range(len(rows)), 2):
            one, other = rows[a], rows[b]
            same = normal_form(one.text) == normal_form(other.text) and one.language == other.language
            if same or one.id == other.id != "":
                group[a] = group[b] = min(group[a], group[b])
    names = sentence_groups(table)
    for a, b in combinations(range(len(rows)), 2):
        assert (names[a] == names[b] != "") == (group[a] == group[b])
    assert all(
        (name == "") == (not row.id and group.count(g) == 1)
        for name, row, g in zip(names, rows, group, strict=True)
    )


def test_without_repeats_the_groups_are_the_ids() -> None:
    table = small_set().frame
    assert sentence_groups(table) == table["id"].tolist()
    assert sentence_groups(table.assign(id="")) == [""] * len(table)


def test_repeats_are_left_out_by_language() -> None:
    table = frame(("Pool?", "en", "1"), ("pool?\u200e", "en", "2"), ("pool?", "de", ""), ("Pool ?", "en", ""))
    assert without_repeats(table)["id"].tolist() == ["1", "", ""]
    assert is_repeat(frame(("POOL?", "de", "9"), ("POOL?", "fr", "1")), table).tolist() == [True, False]


@pytest.mark.parametrize("seed", range(4))
def test_a_repeat_with_another_id_is_held_out_with_its_sentence(seed: int) -> None:
    cut = with_repeats(small_set(("en", "de"))).hold_out(0.25, seed).frame
    sides = cut.groupby([cut["text"].map(normal_form), "language"])["split"].nunique()
    assert (sides == 1).all()
    assert (cut.groupby("id")["split"].nunique() == 1).all()
    assert cut["split"].eq("test").mean() == pytest.approx(0.25, abs=0.03)


def test_no_intent_loses_its_only_sentence_to_the_test_split() -> None:
    rows = [(f"sentence {n}", "often") for n in range(9)] + [("Sentence 3", "rare"), ("Sentence 4", "scarce")]
    table = pd.DataFrame(rows, columns=["text", "intent"]).assign(
        language="en", id="", split="", annotated=""
    )
    labelled = LabelledSet(table[list(LABELLED_COLUMNS)].astype("str"), "x")
    for seed in range(10):
        assert set(labelled.hold_out(0.4, seed).train_part().intents) == {"often", "rare", "scarce"}


def test_documents_are_divided_with_their_repeats() -> None:
    labelled = small_set(("en", "de"))
    bare = LabelledSet(labelled.frame.assign(split=""), "x")
    for train, test in documents_of_labelled(with_repeats(bare), ["en", "de"]).values():
        assert not set(map(normal_form, train.texts)) & set(map(normal_form, test.texts))


def test_unlabelled_sentences_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "mails.en.txt"
    path.write_text("Where is it?\nwhere  is it?\u200b\nＷhere is it?\nWhere is it\n", "utf-8")
    assert read_unlabelled([path]).frame["text"].tolist() == ["Where is it?", "Where is it"]


def test_ids_of_unlabelled_sentences_compare_as_those_of_labelled_ones(tmp_path: Path) -> None:
    path = tmp_path / "mails.de.csv"
    path.write_text("id,text\n1.0,eins\n２.0,zwei\n", "utf-8")
    assert read_unlabelled([path]).frame["id"].tolist() == ["1", "2"]

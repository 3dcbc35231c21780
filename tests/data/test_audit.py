import random

import pandas as pd
import pytest

from emu_core.data.audit import Audit, audit_rows, labelled_from_frame, located
from emu_core.data.reading import Reading
from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.errors import DataError

Row = tuple[str, str, str, str, str]  # id, text, intent, language, split


def audited(*rows: Row, source: str = "x.csv") -> tuple[pd.DataFrame, Audit]:
    frame = pd.DataFrame([[*row, ""] for row in rows], columns=list(LABELLED_COLUMNS), dtype="str")
    return audit_rows(located(frame, source))


def merged(difference: str, *rows: Row) -> tuple[pd.DataFrame, Audit]:
    frame = pd.DataFrame([[*row, ""] for row in rows], columns=list(LABELLED_COLUMNS), dtype="str")
    return audit_rows(located(frame, "x.csv"), (), Reading(merge_intents=[difference]))


def twice(count: int, different: int) -> list[Row]:
    """Ids of sentences in two languages, some of which have another intent in the second."""
    return [
        (str(n), f"{language} {n}", f"other {n}" if language == "de" and n < different else "x", language, "")
        for language in ("en", "de")
        for n in range(count)
    ]


def found(table: pd.DataFrame) -> list[int]:
    assert list(table.columns) == ["row", "source", "text", "language", "explanation"]
    assert table.index.equals(pd.RangeIndex(len(table)))
    assert (table["explanation"].str.len() > 5).all()
    return table["row"].tolist()


def test_what_is_dropped_and_why() -> None:
    kept, audit = audited(
        ("", " a ", "x", "en", ""),
        ("", "a", "x", "en", ""),
        ("", "", "x", "en", ""),
        ("", "b", "\u200b ", "en", ""),
        ("", "b", "y", "", ""),
        ("", "b", "y", "Klingonese", ""),
        ("", "A", "x", "en", ""),
        ("", "a", "x", "de", ""),
        ("", "a", "x", "German", ""),
        ("", "\u3000\ufeff", "", "", ""),
    )
    assert kept.to_dict("list")["text"] == ["a", "A", "a"]
    assert kept["language"].tolist() == ["en", "en", "de"]
    assert kept.index.equals(pd.RangeIndex(3))
    assert (audit.rows_read, audit.rows_kept) == (10, 3)
    assert list(audit.dropped.columns) == ["row", "source", "reason", "text"]
    assert list(zip(audit.dropped["row"], audit.dropped["reason"], strict=True)) == [
        (2, "an exact repeat of row 1"),
        (3, "no text"),
        (4, "no intent"),
        (5, "no language"),
        (6, "not a language: 'Klingonese'"),
        (9, "an exact repeat of row 8"),
        (10, "no text"),
    ]
    assert audit.counts.to_dict() == {"en": {"x": 2}, "de": {"x": 1}}


def test_repeats_with_other_ids_are_kept_and_told() -> None:
    _, audit = audited(
        ("1", "a", "x", "en", ""),
        ("1", "a", "x", "en", ""),
        ("2", "a", "x", "en", ""),
        ("3", "Ａ", "x", "en", ""),
        ("4", "a", "x", "de", ""),
        ("5", "b", "x", "en", ""),
    )
    assert audit.dropped["row"].tolist() == [2]
    assert found(audit.duplicates) == [3, 4]
    assert audit.duplicates["explanation"].str.contains("row 1").all()


def test_conflicts() -> None:
    _, audit = audited(
        ("", "open?", "pool", "en", ""),
        ("", "OPEN? ", "shop", "en", ""),
        ("", "open?", "shop", "de", ""),
        ("", "closed?", "shop", "en", ""),
        ("", "open?", "pool", "en", "test"),
    )
    assert found(audit.conflicts) == [1, 2]
    assert audit.conflicts["explanation"].tolist() == ["this text has the intents pool, shop"] * 2


def test_leaks_by_id_and_by_text() -> None:
    _, audit = audited(
        ("1", "a", "x", "en", "train"),
        ("1", "b", "x", "de", "test"),
        ("2", "c", "x", "en", "train"),
        ("2", "d", "x", "de", "train"),
        ("3", "e", "x", "en", "train"),
        ("4", "E", "y", "en", "dev"),
        ("5", "e", "y", "de", "test"),
        ("", "f", "x", "en", "train"),
        ("", "g", "x", "en", "test"),
        ("6", "h", "x", "en", "train"),
        ("6", "i", "x", "de", ""),
    )
    assert found(audit.leaks) == [1, 2, 5, 6]
    assert audit.leaks["explanation"].tolist() == [
        "id 1 is in the splits test, train",
        "id 1 is in the splits test, train",
        "this text is in the splits dev, train",
        "this text is in the splits dev, train",
    ]


def test_a_leak_is_told_though_its_copy_is_dropped() -> None:
    kept, audit = audited(
        ("", "a", "x", "en", "train"), ("", "a", "x", "en", "test"), ("", "b", "y", "en", "test")
    )
    assert len(kept) == 2
    assert found(audit.leaks) == [1, 2]


FITS = [
    ("ja", "プールはどこ？"), ("ja", "NetflixでStranger Thingsを再生して"),
    ("ja", "Netflix"), ("ja", "Wi-Fi"),
    ("ja", "営業時間"), ("ja", "24/7?"), ("ja", "OK Google"),
    ("zh", "有Wi-Fi吗"), ("zh", "优の良品店在哪里"),
    ("zh-tw", "游泳池在哪裡"), ("ko", "수영장 大"),
    ("de", "Wo ist das 中文 Restaurant mit Sushi?"), ("de", "7?"), ("ru", "Где Spa?"),
    ("sr", "Gde je bazen?"), ("sr", "Где је базен?"),
    ("qq", "что угодно"), ("el", "Πού είναι το α;"), ("ar", "أين المسبح؟"),
]  # fmt: skip
MISFITS = [
    ("ja", "where is the pool?", "Latin"), ("ja", "hello", "Latin"), ("ja", "Где бассейн?", "Cyrillic"),
    ("ja", "수영장이 어디예요?", "Hangul"), ("zh", "プールはどこですか", "Kana"),
    ("zh", "营业时间は何時ですか", "Kana"),
    ("de", "Где бассейн?", "Cyrillic"), ("en", "游泳池在哪里", "Han"), ("ru", "gde bassein", "Latin"),
    ("ar", "wo ist der Pool", "Latin"), ("el", "что это", "Cyrillic"), ("ko", "プールはどこ", "Kana"),
]  # fmt: skip


def test_script_misfits_and_what_is_tolerated() -> None:
    rows = [("", text, "x", language, "") for language, text in FITS]
    assert audited(*rows)[1].script_misfits.empty
    rows = [("", text, "x", language, "") for language, text, _ in MISFITS]
    _, audit = audited(*rows)
    assert found(audit.script_misfits) == list(range(1, len(MISFITS) + 1))
    for explanation, (_, _, script) in zip(audit.script_misfits["explanation"], MISFITS, strict=True):
        assert explanation.startswith(f"{script} letters, but ")


def test_thin_and_long() -> None:
    _, audit = audited(
        ("", "a", "x", "en", ""),
        ("", "b", "x", "en", ""),
        ("", "c", "x", "de", ""),
        ("", "d" * 2000, "y", "en", ""),
        ("", "e" * 2001, "y", "en", ""),
    )
    assert found(audit.thin) == [3]
    assert audit.thin["explanation"].tolist() == ["the only German sentence of x"]
    assert found(audit.long_texts) == [5]


def test_summary_is_plain_sentences() -> None:
    _, audit = audited(
        ("1", "open?", "x", "en", "train"),
        ("1", "open?", "y", "en", "test"),
        ("2", "", "y", "en", "test"),
        ("3", "где", "y", "ja", "test"),
        ("4", "где", "y", "Elvish 1", "test"),
        ("4", "где", "y", "Elvish 2", "test"),
    )
    assert audit.summary() == [
        "3 of 6 rows kept: 2 intents in 2 languages.",
        "Dropped, not a language: 2 rows.",
        "Dropped, no text: 1 row.",
        "The same text with two or more intents: 2 rows.",
        "The same id with two or more intents: 2 rows.",
        "The same id or the same text in two splits: 2 rows.",
        "Text in a script that does not fit its language: 1 row.",
        "An intent's only sentence in a language: 3 rows.",
        "1 of 1 id that several rows have are of different intents: ids number rows here, and are not used as "
        "translations.",
    ]


def test_nothing_left_and_nothing_wrong() -> None:
    kept, audit = audited(("", "", "", "", ""))
    assert kept.empty
    assert audit.counts.shape == (0, 0)
    assert audit.summary()[0] == "0 of 1 row kept: 0 intents in 0 languages."
    _, audit = audited(("", "a", "x", "en", ""), ("", "b", "x", "en", ""))
    assert audit.summary() == ["2 of 2 rows kept: 1 intent in 1 language."]


@pytest.mark.parametrize("seed", range(5))
def test_findings_equal_plain_loops(seed: int) -> None:
    rng = random.Random(seed)
    rows = [
        (rng.choice(["", "1", "2", "3"]), rng.choice("abcAB"), rng.choice("xy"), rng.choice(["en", "de"]),
         rng.choice(["", "train", "test"]))
        for _ in range(rng.randint(5, 40))
    ]  # fmt: skip
    _, audit = audited(*rows)
    by_id: dict[str, set[Row]] = {}
    for row in rows:
        by_id.setdefault(row[0], set()).add(("", *row[1:4], ""))
    shared = [alike_rows for key, alike_rows in by_id.items() if key and len(alike_rows) > 1]
    different = sum(len({row[2] for row in alike_rows}) > 1 for alike_rows in shared)
    if different > 0.05 * len(shared):  # then ids only number rows
        rows = [("", *row[1:]) for row in rows]
    numbered = list(enumerate(rows, start=1))
    copies = [n for n, (i, t, c, lang, _) in numbered if any(r[:4] == (i, t, c, lang) for r in rows[: n - 1])]
    assert audit.dropped["row"].tolist() == copies
    kept = [(n, row) for n, row in numbered if n not in copies]

    def alike(one: Row, other: Row) -> bool:
        return one[1].lower() == other[1].lower() and one[3] == other[3]

    conflicts = [n for n, row in kept if any(alike(row, other) and row[2] != other[2] for _, other in kept)]
    duplicates = [n for n, row in kept if any(alike(row, o) and row[2] == o[2] for m, o in kept if m < n)]
    leaks = [
        n
        for n, row in numbered
        if any(
            row[4] and other[4] and row[4] != other[4] and (alike(row, other) or row[0] == other[0] != "")
            for other in rows
        )
    ]
    thin = [n for n, row in kept if sum(o[2:4] == row[2:4] for _, o in kept) == 1]
    assert audit.conflicts["row"].tolist() == conflicts
    assert audit.duplicates["row"].tolist() == duplicates
    assert audit.leaks["row"].tolist() == leaks
    assert audit.thin["row"].tolist() == thin


@pytest.mark.parametrize(("different", "is_used"), [(0, True), (2, True), (3, False), (36, False)])
def test_ids_with_different_intents_are_told_and_then_no_translations(different: int, is_used: bool) -> None:
    kept, audit = audited(*twice(40, different))
    assert len(audit.id_conflicts) == 2 * different
    assert set(audit.id_conflicts["explanation"]) == {
        f"id {n} has the intents other {n}, x" for n in range(different)
    }
    assert kept["id"].tolist() == ([str(n) for n in range(40)] * 2 if is_used else [""] * 80)
    told = [line for line in audit.summary() if "not used as translations" in line]
    assert told == ([] if is_used else [
        f"{different} of 40 ids that several rows have are of different intents: ids number rows here, and are not "
        "used as translations."
    ])  # fmt: skip


def test_ids_of_translations_are_not_lost_by_the_spelling_of_intents() -> None:
    kept, audit = audited(
        ("1", "a", "Book-en", "en", ""), ("1", "b", "book-fr", "fr", ""),
        ("2", "c", "ask-en", "en", ""), ("2", "d", "ASK-fr", "fr", ""),
    )  # fmt: skip
    assert kept["id"].tolist() == ["1", "1", "2", "2"] and audit.id_conflicts.empty


def test_ids_compare_as_they_look() -> None:
    kept, _ = audited(
        ("1", "a", "x", "en", ""), ("１", "b", "x", "de", ""), ("1.0", "c", "x", "fr", ""),
        ("caf\u00e9", "d", "x", "en", ""), ("cafe\u0301\u200b", "e", "x", "de", ""),
        ("A", "f", "x", "en", ""), ("a", "g", "x", "de", ""),
    )  # fmt: skip
    assert kept["id"].tolist() == ["1", "1", "1", "café", "café", "A", "a"]
    kept, _ = audited(("1.0", "a", "x", "en", ""), ("1.1", "b", "x", "en", ""), ("1", "c", "x", "en", ""))
    assert kept["id"].tolist() == ["1.0", "1.1", "1"]  # numbers of sections


def test_intents_that_look_the_same_are_one_and_it_is_said() -> None:
    kept, audit = audited(
        ("", "a", "r\u00e9server  une table", "fr", ""),
        ("", "b", "re\u0301server\u00a0une table", "fr", ""),
        ("", "c", "réserver une\u200b table\u200e", "fr", ""),
        ("", "d", "other\u00a0one", "fr", ""),
    )
    assert kept["intent"].tolist() == ["réserver une table"] * 3 + ["other one"]
    assert audit.remarks == ("Intents that look the same in several spellings are one: réserver une table.",)
    assert audit.case_variants.empty


@pytest.mark.parametrize(
    ("read", "compared"),
    [
        ("1.0 1 2.0 2", "1 1 2 2"),
        ("1.0 2.0 book", "1 2 book"),
        ("-1.0 -1 ０.０ 0", "-1 -1 0 0"),
        ("1.00 10.0 010.0", "1 10 010"),
        ("1.0 1 1.1", "1.0 1 1.1"),  # numbers of sections
        ("v1.0 v1 1.0.0 1.", "v1.0 v1 1.0.0 1."),
        ("1,0 1 2,0 2", "1 1 2 2"),  # with a decimal comma
        ("1,000 1 2,000", "1,000 1 2,000"),  # thousands
        ("1,0 1 0,1", "1,0 1 0,1"),  # lists of two numbers
    ],
)
def test_intents_that_are_numbers_compare_as_ids_do(read: str, compared: str) -> None:
    rows = [("", f"text {at}", intent, "en", "") for at, intent in enumerate(read.split())]
    kept, audit = audited(*rows)
    assert kept["intent"].tolist() == compared.split()
    assert bool(audit.remarks) is (len(set(compared.split())) < len(read.split()))


def test_intents_that_are_numbers_are_named_in_either_way() -> None:
    rows = [("", f"text {at}", intent, "en", "") for at, intent in enumerate(["1.0", "1", "2.0", "3", "3.0"])]
    frame = pd.DataFrame([[*row, ""] for row in rows], columns=list(LABELLED_COLUMNS), dtype="str")
    for name in ("3", "3.0"):
        _, audit = audit_rows(located(frame, "x.csv"), (), Reading(no_intents=[name]))
        assert audit.none_of_these == ("3",) and not any("was named" in remark for remark in audit.remarks)
    labelled, _ = labelled_from_frame(frame, "numbers")
    assert labelled.with_no_intents(["3.0"]).intents == ("1", "2")
    assert labelled.relabel([0], "2.0").frame["intent"].tolist()[0] == "2"


CASED = [
    ("", "a", "booking", "en", ""), ("", "b", "Booking", "en", ""), ("", "c", "booking", "en", ""),
    ("", "d", "ＢOOKING", "de", ""), ("", "e", "bookings", "de", ""),
]  # fmt: skip


def test_intents_that_differ_in_case_are_told_and_can_be_merged() -> None:
    kept, audit = audited(*CASED)
    assert kept["intent"].tolist() == [row[2] for row in CASED]
    assert found(audit.case_variants) == [2, 4]
    assert (
        audit.case_variants["explanation"].tolist()[0]
        == "Booking differs from the intent booking only in case"
    )
    assert "An intent that differs from another only in case: 2 rows." in audit.summary()
    kept, audit = merged("case", *CASED)
    assert kept["intent"].tolist() == ["booking"] * 4 + ["bookings"]
    assert audit.case_variants.empty
    assert audit.remarks[0] == "Intents merged by case: 2 instead of 4."


BOT = [
    ("", "a", "book-en", "en", ""), ("", "b", "réserver_fr-FR", "fr", ""), ("", "c", "book.fr", "fr", ""),
    ("", "d", "book (German)", "de", ""), ("", "e", "ask-de", "en", ""),
]  # fmt: skip


def test_intents_that_end_in_their_language_are_told_and_can_drop_it() -> None:
    _, audit = audited(*BOT)
    assert found(audit.language_variants) == [1, 2, 3, 4]
    assert (
        audit.language_variants["explanation"].tolist()[1]
        == "réserver_fr-FR without its language is réserver"
    )
    assert audit.remarks == (
        "No intent occurs in two languages; without the language at the end of 4 names, some do.",
    )
    kept, audit = merged("language", *BOT)
    assert kept["intent"].tolist() == ["book", "réserver", "book", "book", "ask-de"]
    assert audit.language_variants.empty and len(audit.remarks) == 1


def test_a_language_at_the_end_of_an_intent_may_be_a_word() -> None:
    _, audit = audited(
        ("", "a", "order_it", "it", ""), ("", "b", "order_it", "en", ""), ("", "c", "translate-en", "en", "")
    )
    assert audit.language_variants.empty and audit.remarks == ()


def test_languages_without_a_common_intent_are_told() -> None:
    _, audit = audited(("", "a", "x", "en", ""), ("", "b", "y", "de", ""))
    assert audit.remarks == ("No intent occurs in two languages.",)
    _, audit = audited(("", "a", "x", "en", ""), ("", "b", "y", "en", ""))
    assert audit.remarks == ()


def test_rows_of_unknown_splits_and_of_none_are_told() -> None:
    kept, audit = audited(
        ("", "a", "x", "en", "train-00000-of-00002"), ("", "b", "x", "en", "oos_test"), ("", "c", "x", "en", "holdout"),
        ("", "d", "x", "en", "eval"), ("", "e", "x", "en", "train_0"), ("", "f", "x", "en", "gold"),
        ("", "g", "x", "en", ""), ("", "h", "x", "en", "Gold"),
    )  # fmt: skip
    assert kept["split"].tolist() == ["train", "test", "test", "dev", "train", "gold", "", "gold"]
    assert found(audit.unused) == [6, 7, 8]
    assert audit.summary()[1:] == [
        "2 rows are of the unknown split 'gold', and are neither trained on nor measured.",
        "1 row has no split where others have one, and is neither trained on nor measured.",
    ]
    _, audit = audited(("", "a", "x", "en", ""), ("", "b", "x", "en", ""))
    assert audit.unused.empty


def test_an_unknown_difference_is_refused() -> None:
    with pytest.raises(DataError, match="can't be merged by 'colour'; choose from case, language"):
        merged("colour", *CASED)

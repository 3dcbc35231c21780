import random

import pandas as pd
import pytest

from emu_core.data.labelled.audit import Audit, audit_rows
from emu_core.data.labelled.columns import LABELLED_COLUMNS
from emu_core.data.labelled.load import located

Row = tuple[str, str, str, str, str]  # id, text, intent, language, split


def audited(*rows: Row, source: str = "x.csv") -> tuple[pd.DataFrame, Audit]:
    frame = pd.DataFrame([[*row, ""] for row in rows], columns=list(LABELLED_COLUMNS), dtype="str")
    return audit_rows(located(frame, source))


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
        "The same id or the same text in two splits: 2 rows.",
        "Text in a script that does not fit its language: 1 row.",
        "An intent's only sentence in a language: 3 rows.",
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

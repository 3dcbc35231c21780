"""Pairs held out of several texts at once, and pairs of languages joined by a third."""

import pytest

from emu_core.data.cleaning import normalised
from emu_core.data.texts.held_out import hold_out, joined_by_pivot
from emu_core.data.texts.parallel import ParallelText
from emu_core.errors import DataError


def text(target: str, rows: range, *, again: bool = False) -> ParallelText:
    first = tuple(f"sentence {row}" for row in rows) + (("sentence 0",) if again else ())
    second = tuple(f"{target} {row}" for row in rows) + ((f"{target} other",) if again else ())
    return ParallelText("en", target, first, second, f"en-{target}")


def test_no_sentence_is_on_both_sides_in_any_language_pair() -> None:
    texts = [text("de", range(60), again=True), text("fr", range(20, 80))]
    train, held = hold_out(texts, 10, seed=0)
    assert [t.languages for t in held] == [("en", "de"), ("en", "fr")]
    out = {sentence for t in held for sentence in t.first}
    left = {sentence for t in train for sentence in t.first}
    assert not out & left
    assert len(held[0]) == 10
    for before, kept, away in zip(texts, train, held, strict=True):
        assert set(kept.first) | set(away.first) <= set(before.first)
    # A pair that neither side keeps shares a sentence with one held out elsewhere.
    lost = set(texts[0].first) - set(train[0].first) - set(held[0].first)
    assert lost <= out


def test_texts_without_a_shared_sentence_are_drawn_apart() -> None:
    texts = [text("de", range(30)), text("fr", range(100, 130))]
    train, held = hold_out(texts, 5, seed=1)
    assert [len(t) for t in held] == [5, 5] and [len(t) for t in train] == [25, 25]
    again, _ = hold_out(texts, 5, seed=1)
    assert again == train
    other, _ = hold_out(texts, 5, seed=2)
    assert other != train


def test_a_text_within_the_pairs_held_out_is_refused() -> None:
    whole = text("de", range(40))
    _, (held,) = hold_out([whole], 5, seed=0)
    inside = ParallelText("en", "fr", held.first, tuple(f"fr {s}" for s in held.first), "small.fr")
    with pytest.raises(DataError, match=r"small\.fr: every pair shares a sentence .* with dev$"):
        hold_out([whole, inside], 5, seed=0)


def test_languages_are_joined_by_their_common_one() -> None:
    (joined,) = joined_by_pivot([text("de", range(10)), text("fr", range(5, 15)).turned()])
    assert joined.languages == ("de", "fr")
    assert joined.first == tuple(f"de {row}" for row in range(5, 10))
    assert joined.second == tuple(f"fr {row}" for row in range(5, 10))


def test_nothing_is_joined_without_a_common_sentence_or_where_a_pair_is_there() -> None:
    assert joined_by_pivot([text("de", range(5)), text("fr", range(5, 9))]) == []
    de_fr = ParallelText("de", "fr", ("de 1",), ("fr 1",), "de-fr")
    assert joined_by_pivot([text("de", range(5)), text("fr", range(5)), de_fr]) == []


def test_a_sentence_in_another_spelling_is_the_same_on_both_sides_and_in_a_common_language() -> None:
    again = ParallelText(
        "en",
        "fr",
        tuple(f" Sentence\u00a0{row}\u200b" for row in range(60)),
        text("fr", range(60)).second,
        "x",
    )
    train, held = hold_out([text("de", range(60)), again], 10, seed=0)
    out = {sentence for t in held for sentence in normalised(t.first)}
    assert len(out) == 10 and not out & {sentence for t in train for sentence in normalised(t.first)}
    (joined,) = joined_by_pivot([text("de", range(60)), again])
    assert len(joined) == 60

"""Parallel text: its checks, and a split that no sentence stands on both sides of."""

import numpy as np
import pytest

from emu_core.data.texts.parallel import ParallelText
from emu_core.errors import DataError


def text(first: list[str], second: list[str], documents: tuple[int, ...] = ()) -> ParallelText:
    return ParallelText("en", "de", tuple(first), tuple(second), "talks", documents)


def numbered(n: int) -> ParallelText:
    return text([f"sentence {i}" for i in range(n)], [f"Satz {i}" for i in range(n)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ParallelText("en", "en", ("a",), ("b",), "talks"), "both sides are 'en'"),
        (lambda: text(["a", "b"], ["c"]), "2 sentences in en and 1 in de"),
        (lambda: text([], []), "0 sentences in en"),
        (lambda: text(["a", "b"], ["c", " "]), "sentence 2 in de is empty"),
        (lambda: text(["a", "b"], ["c", "d"], (1,)), "documents begin at row 0"),
        (lambda: text(["a", "b"], ["c", "d"], (0, 2)), "documents begin at row 0"),
        (lambda: text(["a", "b"], ["c", "d"], (0, 0)), "documents begin at row 0"),
    ],
)
def test_what_is_no_parallel_text_is_refused(make: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()  # type: ignore[operator]


def test_turned_is_the_other_way_round() -> None:
    turned = text(["a", "b"], ["c", "d"], (0, 1)).turned()

    assert turned.languages == ("de", "en")
    assert (turned.first, turned.second, turned.documents) == (("c", "d"), ("a", "b"), (0, 1))


def test_rows_that_are_taken_keep_their_documents() -> None:
    whole = text(list("abcdefg"), list("ABCDEFG"), (0, 2, 3, 5))  # ab c de fg

    taken = whole.take([1, 3, 4, 6])

    assert taken.first == ("b", "d", "e", "g")
    assert taken.documents == (0, 1, 3)  # b, de, g


@pytest.mark.parametrize(("held_out", "count"), [(7, 7), (np.int64(7), 7), (0.25, 10)])
def test_a_split_holds_out_as_many_as_asked_and_loses_none(held_out: float, count: int) -> None:
    whole = numbered(40)

    train, dev = whole.split(held_out, seed=3)

    assert (len(train), len(dev)) == (40 - count, count)
    assert {*zip(train.first, train.second, strict=True), *zip(dev.first, dev.second, strict=True)} == {
        *zip(whole.first, whole.second, strict=True)
    }
    assert list(dev.first) == [sentence for sentence in whole.first if sentence in dev.first]  # in order
    assert whole.split(held_out, seed=3)[1] == dev
    assert whole.split(held_out, seed=4)[1] != dev


def test_no_sentence_is_on_both_sides_of_a_split() -> None:
    # A chain through either language, by case and width, and one of a word that is the same in both.
    first = ["One", "one ", "two", "three", "Hotel", "x", *[f"s{i}" for i in range(14)]]
    second = ["eins", "Einer", "EINER", "drei", "hotel a", "Ｈｏｔｅｌ", *[f"t{i}" for i in range(14)]]
    whole = text(first, second)

    for seed in range(30):
        train, dev = whole.split(8, seed=seed)
        assert len(dev) == 8
        linked = [{"One", "one ", "two"}, {"Hotel", "x"}]
        for group in linked:
            assert len(group & set(dev.first)) in (0, len(group))
            assert len(group & set(train.first)) in (0, len(group))
    assert any("One" in whole.split(8, seed=seed)[1].first for seed in range(30))


@pytest.mark.parametrize("held_out", [0, -1, 4, 5, 0.0, 1.0, 1.5, float("nan"), 0.1])
def test_a_split_that_leaves_a_side_empty_is_refused(held_out: float) -> None:
    with pytest.raises(DataError, match="of 4 pairs can't be held out"):
        numbered(4).split(held_out)


def test_a_split_of_pairs_that_all_share_a_sentence_is_refused() -> None:
    with pytest.raises(DataError, match="they share sentences"):
        text(["a", "a", "a"], ["x", "y", "z"]).split(1)

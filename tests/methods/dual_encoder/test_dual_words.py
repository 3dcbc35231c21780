"""Words and n-grams of the dual encoder: where they are hashed to, and how batches of them are put together."""

import subprocess
import sys

import numpy as np
import pytest

from emu_core.methods.dual_encoder.batch import SentenceBatch, joined
from emu_core.methods.dual_encoder.hashing import MAX_LETTERS, NO_WORD, Hashing, split_words

HASHING = Hashing(words=1000, ngrams=500, shortest=3, longest=4)


def crc(text: str) -> int:
    """CRC-32 bit by bit, as ISO 3309 defines it."""
    register = 0xFFFFFFFF
    for byte in text.encode():
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0xEDB88320 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def by_hand(word: str) -> list[int]:
    marked = "<" + word + ">"
    grams = [marked[i : i + n] for n in (3, 4) for i in range(len(marked)) if i + n <= len(marked)]
    return [1 + crc(word) % 999, *(1000 + crc(gram) % 500 for gram in grams)]


def test_buckets_are_those_of_crc32() -> None:
    assert HASHING.token_ids("Der Hund", 9) == by_hand("der") + by_hand("hund")
    assert by_hand("hund")[1:] == [
        1000 + crc(g) % 500 for g in ("<hu", "hun", "und", "nd>", "<hun", "hund", "und>")
    ]
    assert HASHING.token_ids("猫", 9) == [1 + crc("猫") % 999, 1000 + crc("<猫>") % 500]
    assert crc("123456789") == 0xCBF43926  # the check value that the standard gives


def test_another_process_finds_the_same_buckets() -> None:
    code = (
        "from emu_core.methods.dual_encoder.hashing import Hashing; "
        "print(Hashing(1000, 500, 3, 4).token_ids('Ein Hund', 9))"
    )
    for salt in ("1", "2"):  # of Python's own hash
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        )
        assert out.stdout.strip() == str(HASHING.token_ids("Ein Hund", 9))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("l'homme,2-fach!", ["l", "'", "homme", ",", "2", "-", "fach", "!"]),
        ("東京tower", ["東", "京", "tower"]),
        ("हिन्दी", ["हिन्दी"]),  # vowel signs are marks, not letters
        ("привет?", ["привет", "?"]),
        ("カメラ", ["カ", "メ", "ラ"]),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_case_width_and_spaces_do_not_matter() -> None:
    assert HASHING.token_ids("  ＤＥＲ\u3000Hund\n", 9) == HASHING.token_ids("der hund", 9)


def test_texts_are_cut_by_words_and_none_is_empty() -> None:
    ids = HASHING.token_ids("a b, c", 3)
    assert [i for i in ids if i < 1000] == [by_hand(word)[0] for word in ("a", "b", ",")]
    for blank in ("", " \n\t", "\u3000"):
        assert HASHING.token_ids(blank, 3) == [NO_WORD]
    long = HASHING.token_ids("x" * 1000, 99)
    assert sum(i < 1000 for i in long) == -(-1000 // MAX_LETTERS)
    assert HASHING.token_ids("\ud800", 9)[0] > 0  # half a surrogate pair, as a broken file can give


def test_bucket_zero_is_no_words_own() -> None:
    small = Hashing(words=2, ngrams=1, shortest=3, longest=3)
    assert {small.token_ids(word, 1)[0] for word in ("a", "b", "c", "dog")} == {1}


def test_words_without_ngrams() -> None:
    assert Hashing(1000, 500, 3, 0).token_ids("der hund", 9) == [by_hand("der")[0], by_hand("hund")[0]]


def test_a_batch_holds_each_word_and_ngram_once() -> None:
    texts = ["der hund", "", "der der kater und der hund", "hunde"]
    ids = [HASHING.token_ids(text, 9) for text in texts]
    batch = {name: tensor.numpy() for name, tensor in SentenceBatch.of(ids).batch(1000).items()}
    assert len(batch["words"]) == 6  # no word at all, der, hund, kater, und, hunde
    assert len(set(batch["ngram_rows"])) == len(batch["ngram_rows"])
    ends = [*batch["ngram_begins"][1:], len(batch["ngrams"])]
    for row, sentence in enumerate(ids):
        rebuilt: list[int] = []
        for word in batch["input_ids"][row][batch["attention_mask"][row]]:
            own = batch["ngrams"][batch["ngram_begins"][word] : ends[word]]
            rebuilt += [batch["words"][word], *(1000 + batch["ngram_rows"][own])]
        assert rebuilt == sentence


def test_words_of_one_bucket_stay_apart() -> None:
    one = Hashing(words=2, ngrams=500, shortest=3, longest=4)
    batch = SentenceBatch.of([one.token_ids("dog cat", 9)]).batch(2)
    assert batch["words"].tolist() == [1, 1]


def test_rows_are_taken_and_joined_in_order() -> None:
    ids = [[3, 1001], [4], [5, 1002, 1003], [6]]
    taken = SentenceBatch.of(ids).take(np.array([2, 0, 2]))
    both = joined([taken, SentenceBatch.of(ids).take(np.array([3]))])
    assert both.ids.tolist() == [5, 1002, 1003, 3, 1001, 5, 1002, 1003, 6]
    assert both.ends.tolist() == [3, 5, 8, 9]


def test_dropped_words_are_gone_unless_they_are_all_there_is() -> None:
    ids = [[3, 1001], [4], [5, 1002, 6]]  # words 3 | 4 | 5 6
    batch = SentenceBatch.of(ids).batch(1000, np.array([True, False, True, False]))
    kept = [
        batch["words"][row[mask]].tolist()
        for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)
    ]
    assert kept == [[3], [4], [6]]

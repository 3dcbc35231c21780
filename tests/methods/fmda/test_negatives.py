import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import emu_core.methods.fmda.batches as module
from emu_core.errors import DataError
from emu_core.methods.fmda.batches import draw_negatives

WAKE = "wake me up at nine am on friday"
COMMANDS = [
    WAKE,
    "wake me up at five am this week",
    "please wake me up at nine on friday",
    "quiet",
    "play some jazz",
    "what is the weather like in paris",
    "turn off every light",
    "switch on the light",  # 0.16 smoothed by exp, 0.08 by floor
    "play jazz",  # two words have no three in a row
]


def bleu(candidate: list[str], reference: list[str]) -> float:
    """Sentence BLEU by plain loops: orders up to the candidate's length, misses counted as 1/2, 1/4, ... of a match."""
    if not set(candidate) & set(reference):
        return 0.0
    logs, halves = [], 1.0
    for n in range(1, min(4, len(candidate)) + 1):
        mine = Counter(tuple(candidate[i : i + n]) for i in range(len(candidate) - n + 1))
        theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
        matches = float(sum(min(count, theirs[gram]) for gram, count in mine.items()))
        if not matches:
            halves *= 2
            matches = 1 / halves
        logs.append(math.log(matches / sum(mine.values())))
    brevity = min(1.0, math.exp(1 - len(reference) / len(candidate)))
    return brevity * math.exp(sum(logs) / len(logs))


def allowed(texts: list[str], row: int, *, characters: bool = False) -> set[int]:
    def split(text: str) -> list[str]:
        return list(text) if characters else text.lower().split()

    return {
        other
        for other, text in enumerate(texts)
        if text.strip().lower() != texts[row].strip().lower() and bleu(split(text), split(texts[row])) < 0.1
    }


def test_a_paraphrase_is_never_drawn_and_everything_below_the_limit_is() -> None:
    drawn: dict[int, set[int]] = {row: set() for row in range(len(COMMANDS))}
    for seed in range(200):
        for row, negative in enumerate(draw_negatives(COMMANDS, "en", seed=seed)[:, 0].tolist()):
            drawn[row].add(negative)
    for row in range(len(COMMANDS)):
        assert drawn[row] == allowed(COMMANDS, row)
    assert 1 not in drawn[0] and 2 not in drawn[0] and 3 in drawn[0]


def test_japanese_is_compared_by_characters() -> None:
    texts = ["金曜日の朝九時に起こして", "朝五時に起こして", "音楽を止めて", "静かにして"]
    assert allowed(texts, 0, characters=True) == {2, 3}
    drawn = {int(draw_negatives(texts[:], "ja", seed=seed)[0, 0]) for seed in range(60)}
    assert drawn == {2, 3}
    # As words, each sentence is one that no other shares.
    assert {int(draw_negatives(texts[:], "xx", seed=seed)[0, 0]) for seed in range(60)} == {1, 2, 3}


def test_case_does_not_hide_a_paraphrase() -> None:
    texts = ["Play Some Jazz", "PLAY SOME JAZZ NOW", "open the door"]
    assert {int(draw_negatives(texts, "en", seed=seed)[0, 0]) for seed in range(30)} == {2}


def test_equal_texts_are_not_negatives_of_each_other_and_several_differ() -> None:
    texts = ["quiet", " Quiet ", "play some jazz", "play some jazz", "open every door", "good night"]
    rows = draw_negatives(texts, "en", seed=3, per_text=3)
    assert rows.shape == (6, 3) and rows.dtype == np.int64
    for row, negatives in enumerate(rows.tolist()):
        folded = [texts[negative].strip().lower() for negative in negatives]
        assert len(set(folded)) == 3 and texts[row].strip().lower() not in folded


@pytest.mark.slow
def test_a_sentence_deep_among_paraphrases_finds_the_only_negative() -> None:
    texts = [f"turn on the light in room {number}" for number in range(400)] + ["good night"]
    rows = draw_negatives(texts, "en", seed=0)
    assert set(rows[:-1, 0].tolist()) == {400}


def test_where_nothing_passes_the_row_is_named() -> None:
    texts = ["play some jazz", "play some jazz now", "quiet", "turn it off"]
    with pytest.raises(
        DataError, match=r"row 1, 'play some jazz', has 2 sentences of 3 .* 'en' .* below 0\.1"
    ):
        draw_negatives(texts, "en", seed=0, per_text=3)
    with pytest.raises(DataError, match="has 0 sentences of 1"):
        draw_negatives(["quiet"], "en", seed=0)
    for wrong in ({"seed": -1}, {"seed": 0, "per_text": 0}):
        with pytest.raises(DataError, match="give sentences, and numbers that are not negative"):
            draw_negatives(COMMANDS, "en", **wrong)  # type: ignore[arg-type]


def test_the_cache_is_read_only_for_the_same_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = draw_negatives(COMMANDS, "en", seed=5, cache=tmp_path / "new")
    np.testing.assert_array_equal(first, draw_negatives(COMMANDS, "en", seed=5))
    (kept,) = (tmp_path / "new").iterdir()
    np.testing.assert_array_equal(np.load(kept, allow_pickle=False), first)
    calls = []

    def counting(*asked: object) -> np.ndarray:
        calls.append(asked)
        return np.zeros((len(COMMANDS), 1), dtype=np.int64)

    monkeypatch.setattr(module, "_draw", counting)
    np.testing.assert_array_equal(draw_negatives(COMMANDS, "en", seed=5, cache=tmp_path / "new"), first)
    assert calls == []
    draw_negatives(COMMANDS, "en", seed=6, cache=tmp_path / "new")
    draw_negatives(COMMANDS, "de", seed=5, cache=tmp_path / "new")
    draw_negatives(
        [COMMANDS[0] + COMMANDS[1][0], COMMANDS[1][1:], *COMMANDS[2:]], "en", seed=5, cache=tmp_path / "new"
    )
    assert len(calls) == 3 and len(list((tmp_path / "new").iterdir())) == 4


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY half", b"PK\x03\x04", np.int64(1).tobytes()])
def test_a_damaged_cache_is_drawn_again(tmp_path: Path, content: bytes) -> None:
    first = draw_negatives(COMMANDS, "en", seed=5, cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(content)
    np.testing.assert_array_equal(draw_negatives(COMMANDS, "en", seed=5, cache=tmp_path), first)
    for wrong in (first + 100, first.astype(np.float64), first[:3], np.array([{"a": 1}], dtype=object)):
        np.save(kept, wrong, allow_pickle=True)
        np.testing.assert_array_equal(draw_negatives(COMMANDS, "en", seed=5, cache=tmp_path), first)
    np.testing.assert_array_equal(np.load(kept, allow_pickle=False), first)

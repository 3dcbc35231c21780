"""Negatives by BLEU: sentences that share so little with another that they can't mean the same (FMDA, section 4.2)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emu_core.data.cleaning import texts_hash
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.files import whole_file

MOST_BLEU = 10.0
"""A negative's BLEU against its sentence is below this; sacrebleu's scale ends at 100, so the paper's 0.1."""

CHARACTERS = frozenset({"ja", "zh", "zh-tw", "yue", "wuu", "th", "lo", "km", "my", "bo"})
"""Languages written without spaces between words, whose n-grams are of characters."""

# The rule that decides the rows beside the arguments: another must not read the files of this one.
_RULE = "sacrebleu 2 exp effective lowercase <10, draws 1"
_FIRST_DRAWS = 16  # drawn for all sentences at once; most need one or two


def draw_negatives(
    texts: Sequence[str], language: str, *, seed: int, each: int = 1, cache: Path | None = None
) -> NDArray[np.int64]:
    """Draw for every sentence others of the same language whose BLEU against it is below 0.1.

    Random sentences are drawn until enough pass; where the first draws do not give them, all others are tried in random
    order. A sentence is never its own negative, nor is one of the same text (whatever its case and outer spaces), and
    the negatives of one sentence differ from one another.

    BLEU is sacrebleu's sentence score of the candidate against the sentence: n-grams up to 4, or up to the candidate's
    length where that is shorter (effective order); a precision of 0 smoothed by `exp` (counted as 1/2, 1/4, ... of a
    match); lower case; words as tokenizer 13a splits them, or characters for `CHARACTERS`. Two sentences without a
    common word have 0; "wake me up at five am this week" has 0.37 against "wake me up at nine am on friday".

    Args:
        texts: N sentences of one language.
        language: its code, which decides between words and characters.
        seed: of the draws, 0 or more.
        each: negatives a sentence.
        cache: folder where the rows are stored, and read from when texts, language, seed and each are the same.

    Returns:
        Row numbers (N, each) of `texts`.

    Raises:
        DataError: there is no sentence, a number is out of range, or a sentence has fewer than `each` negatives among
            all others.
    """
    if not len(texts) or each < 1 or seed < 0:
        raise DataError(
            f"can't draw {each} negatives with seed {seed} for {counted(len(texts), 'sentence')}; give sentences, and "
            "numbers that are not negative"
        )
    if cache is None:
        return _draw(texts, language, seed, each)
    path = cache / f"negatives-{_key(texts, language, seed, each)}.npy"
    rows = _read(path, (len(texts), each))
    if rows is None:
        rows = _draw(texts, language, seed, each)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as partial, partial.open("wb") as file:
            np.save(file, rows, allow_pickle=False)
    return rows


def _draw(texts: Sequence[str], language: str, seed: int, each: int) -> NDArray[np.int64]:
    from sacrebleu.metrics import BLEU

    bleu = BLEU(
        tokenize="char" if language in CHARACTERS else "13a",
        lowercase=True,
        smooth_method="exp",
        effective_order=True,
    )
    n = len(texts)
    numbers: dict[str, int] = {}
    same = [numbers.setdefault(text.strip().casefold(), len(numbers)) for text in texts]
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, (n, _FIRST_DRAWS)).tolist()
    rows = np.empty((n, each), dtype=np.int64)
    for row, text in enumerate(texts):
        refused = {same[row]}  # tried already, chosen already, or the sentence itself
        reference, chosen = [text], 0
        for candidate in _candidates(first[row], n, rng):
            if same[candidate] in refused:
                continue
            refused.add(same[candidate])
            if bleu.sentence_score(texts[candidate], reference).score < MOST_BLEU:
                rows[row, chosen] = candidate
                chosen += 1
                if chosen == each:
                    break
        else:
            raise DataError(
                f"row {row + 1:,}, '{shown(text)}', has {counted(chosen, 'sentence')} of {each} among all others in "
                f"'{language}' whose BLEU against it is below {MOST_BLEU / 100}; add sentences of another sort, or "
                "leave this one out"
            )
    return rows


def _candidates(first: list[int], n: int, rng: np.random.Generator) -> Iterator[int]:
    yield from first
    yield from rng.permutation(n).tolist()


def _key(texts: Sequence[str], language: str, seed: int, each: int) -> str:
    prefix = f"{_RULE}\0{language}\0{seed}\0{each}\0{len(texts)}\0".encode()
    return texts_hash(prefix, texts)[:32]


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.int64] | None:
    """Return the cached rows; None where there are none, or none usable."""
    try:
        with path.open("rb") as file:  # np.load would take a zip archive too
            rows = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    usable = rows.dtype == np.int64 and rows.shape == shape
    return rows if usable and rows.min() >= 0 and rows.max() < shape[0] else None

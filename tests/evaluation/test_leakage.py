"""The leakage meter on vectors whose leakage is known, and its neighbours against plain loops."""

import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation import leakage
from emu_core.evaluation.leakage import Leakage, language_leakage
from tests.support.sentences import cosine, random_sentences

CODES = ("en", "de", "ja")


def parallel(
    meanings: int, mark: float, seed: int = 0, dim: int = 12
) -> tuple[np.ndarray, list[str], list[str]]:
    """Vectors of `meanings` sentences in three languages: own meaning, noise, and `mark` times the language's own."""
    rng = np.random.default_rng(seed)
    own, of_language = rng.normal(size=(meanings, dim)), rng.normal(size=(3, dim))
    noise = rng.normal(size=(meanings, 3, dim))
    vectors = (own[:, None] + 0.5 * noise + mark * of_language).reshape(-1, dim)
    return vectors, list(CODES) * meanings, [str(i) for i in range(meanings) for _ in CODES]


def test_marked_vectors_leak_and_unmarked_do_not() -> None:
    clean, marked = (language_leakage(*parallel(150, mark)) for mark in (0.0, 3.0))
    assert clean.probe_chance == marked.probe_chance == pytest.approx(100 / 3)
    assert abs(clean.probe - clean.probe_chance) < 9
    assert abs(clean.neighbours - clean.neighbours_chance) < 4
    assert marked.probe > 97 and marked.neighbours > 90
    assert marked.neighbours_chance == pytest.approx(100 * 149 / (3 * 149))
    assert (marked.sentences, marked.languages) == (450, 3)
    assert language_leakage(*parallel(150, 0.5)).probe > clean.probe + 9


def test_the_length_of_vectors_tells_nothing() -> None:
    vectors, languages, ids = parallel(60, 0.7)
    longer = vectors * np.array([5.0 if code == "de" else 1.0 for code in languages])[:, None]
    plain, stretched = (language_leakage(v, languages, ids) for v in (vectors, longer))
    assert stretched.probe == pytest.approx(plain.probe, abs=1)
    assert stretched.neighbours == pytest.approx(plain.neighbours)


def test_a_probe_never_learns_from_a_translation_of_what_it_is_tried_on() -> None:
    # Each meaning's vectors are all alike, and most meanings are there in one language only, several times: who knows
    # the meaning knows the language. Across meanings there is nothing to know.
    rng = np.random.default_rng(2)
    meanings = rng.normal(size=(90, 400))
    vectors = np.repeat(meanings, 4, axis=0) + 1e-3 * rng.normal(size=(360, 400))
    languages = np.repeat(np.array(CODES)[np.arange(90) % 3], 4).tolist()
    grouped = language_leakage(vectors, languages, np.repeat(np.arange(90), 4).astype(str).tolist())
    apart = language_leakage(vectors, languages, [""] * 360)
    assert apart.probe > 95
    assert grouped.probe < 55
    assert apart.neighbours > grouped.neighbours + 15


def test_neighbours_are_those_of_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage, "LEAKAGE_NEIGHBOURS", 4)
    some = random_sentences(45, CODES, seed=6)
    measured = language_leakage(some.vectors, some.languages, some.ids)
    shares, chances = [], []
    for row in range(45):
        others = [
            o for o in range(45) if o != row and (not some.ids[o] or some.ids[o] != some.ids[row])
        ]  # fmt: skip
        nearest = sorted(others, key=lambda o: -cosine(some.vectors[row], some.vectors[o]))[:4]
        shares.append(sum(some.languages[o] == some.languages[row] for o in nearest) / 4)
        chances.append(sum(some.languages[o] == some.languages[row] for o in others) / len(others))
    assert measured.neighbours == pytest.approx(100 * sum(shares) / 45)
    assert measured.neighbours_chance == pytest.approx(100 * sum(chances) / 45)


def test_a_rare_language_counts_as_much_as_a_common_one() -> None:
    vectors, languages, ids = parallel(120, 3.0)
    rare = [row for row, code in enumerate(languages) if code != "ja" or row < 30]
    few = language_leakage(vectors[rare], [languages[r] for r in rare], [ids[r] for r in rare])
    assert few.probe > 90 and few.probe_chance == pytest.approx(100 / 3)


def test_a_large_set_is_measured_on_the_same_sample_for_every_encoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leakage, "LEAKAGE_MAX_SENTENCES", 90)
    vectors, languages, ids = parallel(100, 1.0)
    first, again = (language_leakage(vectors, languages, ids) for _ in range(2))
    assert first == again and first.sentences == 90 and first.languages == 3
    assert first != language_leakage(vectors, languages, ids, seed=1)


def test_two_sentences_a_language_are_enough() -> None:
    tiny = language_leakage(np.eye(4), ["en", "de", "en", "de"], ["a", "a", "b", "b"])
    assert isinstance(tiny, Leakage) and 0 <= tiny.probe <= 100 and tiny.neighbours_chance == 50
    assert tiny.languages == 2


@pytest.mark.parametrize(
    ("languages", "ids", "message"),
    [
        (["en"] * 4, ["", "", "", ""], "one language"),
        (["en", "en", "en", "de"], ["", "", "", ""], "'de' has sentences of one id only"),
        (["en", "en", "de", "de"], ["a", "b", "a", "a"], "'de' has sentences of one id only"),
        (["en", "de"], ["a", "b"], "languages for 4"),
    ],
)
def test_what_can_not_be_measured_is_said(languages: list[str], ids: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        language_leakage(np.eye(4), languages, ids)

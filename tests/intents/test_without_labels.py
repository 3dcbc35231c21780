"""Names that move towards the sentences that seem to be about them."""

import math

import numpy as np
import pytest

from emu_core.evaluation.arrays import Vectors, unit_vectors
from emu_core.intents.space import centred
from emu_core.intents.without_labels import fit_names, moved

DIM, INTENTS, EACH = 24, 5, 20


@pytest.fixture
def sentences() -> tuple[dict[str, Vectors], Vectors, np.ndarray]:
    """Names, and sentences about them that lie around other directions, as names are no sentences."""
    rng = np.random.default_rng(0)
    names = unit_vectors(rng.normal(size=(INTENTS, DIM)).astype(np.float32))
    centres = unit_vectors(names + 1.3 * unit_vectors(rng.normal(size=(INTENTS, DIM)).astype(np.float32)))
    truth = np.repeat(np.arange(INTENTS), EACH)
    around = centres[truth] + 0.18 * rng.normal(size=(len(truth), DIM))
    return dict(zip("abcde", names, strict=True)), unit_vectors(around.astype(np.float32)), truth


def texts_of(vectors: Vectors) -> list[str]:
    return [f"sentence {number}" for number in range(len(vectors))]


def right(names: dict[str, Vectors], vectors: Vectors, truth: np.ndarray) -> float:
    model, asked = fit_names(names, vectors, texts_of(vectors), [""] * len(vectors))
    named = np.array(list(model.intents_))[model.predict(asked, 1).labels]
    return float((named == np.array(list(names))[truth]).mean())


def test_a_name_moves_by_the_formula() -> None:
    rng = np.random.default_rng(1)
    names = unit_vectors(rng.normal(size=(3, 4)).astype(np.float32))
    vectors = unit_vectors(rng.normal(size=(7, 4)).astype(np.float32))
    expected = []
    for c, name in enumerate(names):
        total, count = np.zeros(4), 0.0
        for x in vectors:
            weights = [math.exp(float(np.dot(x, other)) / 0.05) for other in names]
            total += weights[c] / sum(weights) * x
            count += weights[c] / sum(weights)
        expected.append(name + count / (count + 3) * total / math.sqrt(float(np.dot(total, total))))
    np.testing.assert_allclose(moved(names, vectors), expected, rtol=1e-4, atol=1e-5)


def test_moved_names_name_more_intents_right(
    sentences: tuple[dict[str, Vectors], Vectors, np.ndarray],
) -> None:
    names, vectors, truth = sentences
    as_they_are = centred(np.stack(list(names.values())))
    nearest = ((vectors - vectors.mean(axis=0)) @ unit_vectors(as_they_are).T).argmax(axis=1)
    assert right(names, vectors, truth) > float((nearest == truth).mean()) + 0.05


def test_the_order_of_the_sentences_does_not_matter(
    sentences: tuple[dict[str, Vectors], Vectors, np.ndarray],
) -> None:
    names, vectors, _ = sentences
    order = np.random.default_rng(2).permutation(len(vectors))
    texts = texts_of(vectors)
    found = [
        fit_names(names, vectors[rows], [texts[row] for row in rows], ["en"] * len(rows))
        for rows in (np.sort(order), order)
    ]
    one, other = (model.probabilities(asked) for model, asked in found)
    np.testing.assert_allclose(one[order], other, atol=1e-4)


def test_a_name_that_no_sentence_is_about_stays() -> None:
    names = np.eye(3, dtype=np.float32)
    vectors = np.tile(names[:1], (40, 1))
    there = moved(names, vectors)
    np.testing.assert_allclose(there[1:], names[1:], atol=1e-6)
    np.testing.assert_allclose(there[0], names[0] * (1 + 40 / 43), atol=1e-6)


def test_few_sentences_are_answered_alone(sentences: tuple[dict[str, Vectors], Vectors, np.ndarray]) -> None:
    names, vectors, _ = sentences
    alone, together = (
        fit_names(names, of, texts_of(of), [""] * len(of)) for of in (vectors[:1], vectors[:29])
    )
    np.testing.assert_array_equal(alone[1], together[1][:1])
    np.testing.assert_allclose(
        alone[0].probabilities(alone[1]), together[0].probabilities(together[1])[:1], atol=1e-6
    )


def test_repeats_and_texts_without_a_letter_move_nothing(
    sentences: tuple[dict[str, Vectors], Vectors, np.ndarray],
) -> None:
    names, vectors, _ = sentences
    texts, count = texts_of(vectors), len(vectors)
    model, asked = fit_names(names, vectors, texts, ["en"] * count)
    more = np.concatenate([vectors, np.tile(vectors[:2], (200, 1))])
    texts += ["sentence 0", "12345"] * 200
    again, of_more = fit_names(names, more, texts, ["en"] * len(more))
    np.testing.assert_allclose(of_more[:count], asked, atol=1e-6)
    np.testing.assert_allclose(again.probabilities(of_more[:count]), model.probabilities(asked), atol=1e-4)

"""The space of sentences: parts that count alike, no directions of languages, and the same from its arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.intents.space import CENTERING, LANGUAGE_DIRECTIONS, LEAST_OF_A_DIRECTION, SentenceSpace

DIMS, D = (100, 140), 240
FIRST = DIMS[0]
SHORT = 15  # too short for a direction
Floats = NDArray[np.float32]


def parallel(languages: int, apart: float = 1.0) -> dict[str, Floats]:
    """The same 20 sentences in some languages, each of which is moved somewhere."""
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(20, D)) + 1.0
    return {
        f"l{n}": (meaning + apart * rng.normal(size=D) + 0.05 * rng.normal(size=(20, D))).astype(np.float32)
        for n in range(languages)
    }


def sentences(n: int = 40, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, D)).astype(np.float32)


@pytest.mark.parametrize("languages", [0, 3, 8])
def test_parts_count_alike_however_long_they_are(languages: int) -> None:
    space = SentenceSpace.fit(D, dims=DIMS, reference=parallel(languages))
    x = sentences()
    longer = x * np.r_[np.full(FIRST, 50.0), np.full(DIMS[1], 0.01)].astype(np.float32)
    neutral = space.neutral(longer)
    np.testing.assert_allclose(neutral, space.neutral(x), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(neutral[:, :FIRST], axis=1), np.sqrt(0.5), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(neutral[:, FIRST:], axis=1), np.sqrt(0.5), atol=1e-6)


def test_a_part_is_mapped_as_it_is_alone() -> None:
    reference, x = parallel(4), sentences()
    joined = SentenceSpace.fit(D, dims=DIMS, reference=reference).neutral(x)
    of_first = {code: part[:, :FIRST] for code, part in reference.items()}
    alone = SentenceSpace.fit(FIRST, reference=of_first).neutral(x[:, :FIRST])
    np.testing.assert_allclose(joined[:, :FIRST] * np.sqrt(2), alone, atol=1e-5)


def test_without_languages_a_vector_is_scaled_and_nothing_else() -> None:
    x = sentences()
    np.testing.assert_allclose(
        SentenceSpace.fit(D).neutral(x), x / np.linalg.norm(x, axis=1, keepdims=True), atol=1e-6
    )


def test_directions_are_orthonormal_and_of_one_part_each() -> None:
    directions = SentenceSpace.fit(D, dims=DIMS, reference=parallel(8)).directions
    assert directions.shape == (2 * LANGUAGE_DIRECTIONS, D)
    np.testing.assert_allclose(directions @ directions.T, np.eye(2 * LANGUAGE_DIRECTIONS), atol=1e-5)
    assert (
        not directions[:LANGUAGE_DIRECTIONS, FIRST:].any()
        and not directions[LANGUAGE_DIRECTIONS:, :FIRST].any()
    )
    assert len(SentenceSpace.fit(D, reference=parallel(3)).directions) == 2, "fewer than there are languages"


def test_a_short_vector_keeps_its_directions() -> None:
    """There, the languages' means differ in most of the directions that say what a sentence means."""
    of_short = {code: part[:, :SHORT] for code, part in parallel(8).items()}
    assert SentenceSpace.fit(SHORT, reference=of_short).directions.shape == (0, SHORT)
    of_medium = {code: part[:, : 2 * LEAST_OF_A_DIRECTION] for code, part in parallel(8).items()}
    assert len(SentenceSpace.fit(2 * LEAST_OF_A_DIRECTION, reference=of_medium).directions) == 2


def test_a_direction_in_which_languages_differ_is_left_out() -> None:
    reference = parallel(3, apart=2.0)
    space, bare = SentenceSpace.fit(D, reference=reference), SentenceSpace.fit(D)

    def spread(of: SentenceSpace) -> float:
        means = np.stack([of.neutral(part).mean(axis=0) for part in reference.values()])
        return float(np.linalg.norm(means - means.mean(axis=0)))

    assert spread(space) < 0.2 * spread(bare)


def test_a_share_of_the_common_mean_is_left_out() -> None:
    """By plain arithmetic, for one language, which has no directions."""
    reference, x = parallel(1), sentences(3)
    wide = reference["l0"].astype(float)
    mean = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).mean(axis=0)
    for row, found in zip(x.astype(float), SentenceSpace.fit(D, reference=reference).neutral(x), strict=True):
        moved = row / np.linalg.norm(row) - CENTERING * mean
        np.testing.assert_allclose(found, moved / np.linalg.norm(moved), atol=1e-5)


def evened() -> tuple[SentenceSpace, Floats, NDArray[np.int64]]:
    """A space of four intents, whose sentences differ much in one direction."""
    classes = np.arange(400) % 4
    x = np.eye(SHORT)[classes] + np.random.default_rng(2).normal(size=(400, SHORT)) * (
        [0.1] * (SHORT - 1) + [2.0]
    )
    space = SentenceSpace.fit(SHORT)
    neutral = space.neutral(x.astype(np.float32))
    return space.evening(neutral, classes, np.arange(400)), neutral, classes


def test_the_variance_within_intents_is_evened_out() -> None:
    space, neutral, classes = evened()
    mapped = space.evened(neutral)
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1, atol=1e-6)

    def share(of: Floats) -> float:
        """The share of the widest direction in the variance within intents."""
        apart = of - np.stack([of[classes == c].mean(axis=0) for c in range(4)])[classes]
        return float(apart[:, -1].var() / apart.var(axis=0).sum())

    assert share(mapped) < share(neutral) - 0.05
    assert space.spread.tobytes() == space.spread.astype(np.float16).astype(np.float32).tobytes()


def test_intents_of_a_single_sentence_are_left_as_they_are() -> None:
    space, x = SentenceSpace.fit(D), sentences(4)
    alone = space.evening(space.neutral(x), np.arange(4), np.arange(4))
    assert alone.spread.shape == (0, D)
    np.testing.assert_array_equal(alone.evened(space.neutral(x)), space.neutral(x))


def test_a_space_is_the_same_from_its_arrays() -> None:
    fitted, (short, neutral, _) = SentenceSpace.fit(D, dims=DIMS, reference=parallel(4)), evened()
    for space, x in ((fitted, sentences()), (short, neutral)):
        again = SentenceSpace.from_arrays(space.arrays(), x.shape[1])
        assert again.dims == space.dims
        np.testing.assert_array_equal(again.neutral(x), space.neutral(x))
        np.testing.assert_array_equal(again.evened(again.neutral(x)), space.evened(space.neutral(x)))


@pytest.mark.parametrize(
    "other",
    [
        {"dims": np.array([100, 139])},
        {"dims": np.array([240, 0])},
        {"dims": np.array([-1, 241])},
        {"dims": np.array([100.0, 140.0])},
        {"dims": np.array([[100, 140]])},
        {"directions": np.zeros((2, 239), np.float32)},
        {"directions": np.zeros(240, np.float32)},
        {"directions": np.full((2, 240), np.nan, np.float32)},
        {"directions": np.zeros((2, 240), np.int64)},
        {"center": np.zeros(239, np.float32)},
        {"center": np.full(240, np.inf, np.float32)},
        {"spread": np.zeros((239, 240), np.float16)},
        {"spread": np.full((240, 240), np.nan, np.float16)},
    ],
)
def test_arrays_of_no_space_are_refused(other: Mapping[str, NDArray[Any]]) -> None:
    with pytest.raises(ValueError):
        SentenceSpace.from_arrays(
            {**SentenceSpace.fit(D, dims=DIMS, reference=parallel(4)).arrays(), **other}, D
        )


@pytest.mark.parametrize("missing", ["dims", "directions", "center", "spread"])
def test_a_missing_array_is_missed(missing: str) -> None:
    arrays = SentenceSpace.fit(D).arrays()
    del arrays[missing]
    with pytest.raises(KeyError, match=missing):
        SentenceSpace.from_arrays(arrays, D)

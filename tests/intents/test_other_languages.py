"""Languages without labels: what built-in sentences say of them, and whether sentences are about the same."""

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.intents import model as intent_model
from emu_core.intents.calibration_by_language import labelled_languages
from emu_core.intents.languages import Subject, as_if_translated
from emu_core.intents.model import IntentModel
from emu_core.intents.space import SentenceSpace

Floats = NDArray[np.float32]
DIM, INTENTS, OF_EACH = 64, 12, 40


def unit(x: NDArray[np.floating]) -> NDArray[np.floating]:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


class World:
    """Intents around centres, sentences about something else, and languages that move all vectors in their own way."""

    def __init__(self) -> None:
        self.draws = np.random.default_rng(5)
        self.subject, self.other = 2 * self.draws.standard_normal((2, DIM))
        self.centres = self.subject + 2 * self.draws.standard_normal((INTENTS, DIM))
        self.moves = {code: self.draws.standard_normal(DIM) for code in ("en", "de", "fr")}
        sense = self.draws.standard_normal((90, DIM))
        self.reference = {code: self.said(sense, code) for code in self.moves}

    def said(self, sense: NDArray[np.floating], code: str) -> Floats:
        """What an encoder makes of senses (N, d) in a language: English keeps more of them."""
        noise = 0 if code == "en" else 1.5
        return (sense + self.moves[code] + noise * self.draws.standard_normal(sense.shape)).astype(np.float32)

    def known(self, code: str) -> tuple[Floats, list[str]]:
        numbers = np.repeat(np.arange(INTENTS), OF_EACH)
        sense = self.centres[numbers] + 3 * self.draws.standard_normal((len(numbers), DIM))
        return self.said(sense, code), [f"intent {number}" for number in numbers]

    def strangers(self, code: str) -> Floats:
        return self.said(self.other + self.draws.standard_normal((200, DIM)), code)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def english(world: World) -> IntentModel:
    world.draws = np.random.default_rng(6)
    vectors, intents = world.known("en")
    size = len(intents)
    return IntentModel().fit(
        vectors, intents, [""] * size, languages=["en"] * size, reference=world.reference
    )


@pytest.fixture(autouse=True)
def same_draws(world: World, english: IntentModel) -> None:
    """Draw the same for a test, whichever others were run before."""
    world.draws = np.random.default_rng(7)


def rejected(model: IntentModel, vectors: Floats, intents: list[str], code: str) -> float:
    """Percent of the right answers."""
    answers = model.predict(vectors, 1, [code] * len(vectors))
    right = np.array(model.intents_)[answers.labels] == intents
    assert right.mean() > 0.8
    return 100 * float((~answers.is_known[right]).mean())


def test_translations_move_by_what_built_in_sentences_move(world: World) -> None:
    units = unit(world.known("en")[0][:50]).astype(np.float32)
    known = {code: unit(vectors) for code, vectors in world.reference.items()}
    rows = np.random.default_rng(0).integers(90, size=50)
    expected = unit(units + known["de"][rows] - known["en"][rows])
    moved = as_if_translated(units, ["en"] * 50, world.reference, "de")
    np.testing.assert_allclose(moved, expected, atol=1e-6)
    # A language without built-in sentences is taken for their mean.
    mean = np.mean(list(known.values()), axis=0)
    moved = as_if_translated(units, ["pl"] * 50, world.reference, "de")
    np.testing.assert_allclose(moved, unit(units + known["de"][rows] - mean[rows]), atol=1e-6)


def test_likeness_is_the_direction_of_the_mean_and_the_share_of_the_variance(world: World) -> None:
    vectors, intents = world.known("en")
    classes, groups = np.unique(intents, return_inverse=True)[1], np.arange(len(intents))
    space = SentenceSpace.fit(DIM, reference=world.reference)
    x = space.neutral(vectors)
    subject = Subject.of(x, classes, groups, ["en"] * len(x), space, world.reference)
    asked = space.neutral(world.known("de")[0])
    away = asked.mean(axis=0) - space.neutral(world.reference["de"]).mean(axis=0)
    wanted = x.mean(axis=0) - space.neutral(world.reference["en"]).mean(axis=0)
    of_mean = away @ wanted / np.linalg.norm(away) / np.linalg.norm(wanted)
    means = np.stack([x[classes == number].mean(axis=0) for number in range(INTENTS)])
    axes = np.linalg.svd(means - means.mean(axis=0))[2][: INTENTS - 1]
    deviations = asked - asked.mean(axis=0)
    share = np.square(deviations @ axes.T).sum() / np.square(deviations).sum()
    expected = np.clip((of_mean + share / subject.share - 1.0) / 0.2, 0, 1)
    assert subject.likeness(asked, "de") == pytest.approx(expected, abs=1e-4) and expected > 0.9
    strangers = space.neutral(world.strangers("de"))
    assert subject.likeness(strangers, "de") == 0
    again = Subject.from_arrays(subject.languages, subject.arrays(), DIM)
    assert again.likeness(asked, "de") == subject.likeness(asked, "de")


@pytest.mark.parametrize("damage", ["means", "direction", "axes", "share"])
def test_a_damaged_subject_is_refused(damage: str, english: IntentModel) -> None:
    facts, arrays = english.state()
    for changed in (arrays[f"subject_{damage}"][..., :-1], arrays[f"subject_{damage}"] * np.nan):
        with pytest.raises(ValueError):
            IntentModel.from_state(facts, {**arrays, f"subject_{damage}": changed})
    with pytest.raises(KeyError):
        IntentModel.from_state(
            facts, {name: of for name, of in arrays.items() if name != f"subject_{damage}"}
        )


def test_right_answers_in_a_language_that_was_never_seen_are_kept(world: World, english: IntentModel) -> None:
    """Without the built-in sentences, more are rejected than is promised."""
    vectors, intents = world.known("en")
    size = len(intents)
    plain = IntentModel().fit(vectors, intents, [""] * size, languages=["en"] * size)
    for code in ("de", "fr", "pl"):  # there are no built-in sentences in the last
        asked, truth = world.known("de" if code == "pl" else code)
        assert rejected(plain, asked, truth, code) > 5 > rejected(english, asked, truth, code)
    # Neither English ones, which labels calibrate, nor those of an unknown language are any different.
    for code in ("en", ""):
        np.testing.assert_array_equal(
            english.predict(vectors, 1, [code] * size).is_known, english.predict(vectors, 1).is_known
        )


def test_nothing_is_expected_where_the_language_of_the_labels_is_unknown_or_a_threshold_given(
    world: World,
) -> None:
    vectors, intents = world.known("en")
    size = len(intents)
    asked = world.known("de")[0]
    for model in (
        IntentModel().fit(vectors, intents, [""] * size, reference=world.reference),
        IntentModel().fit(
            vectors, intents, [""] * size, languages=["en"] * size, reference=world.reference, threshold=0.8
        ),
    ):
        np.testing.assert_array_equal(
            model.predict(asked, 1, ["de"] * len(asked)).is_known, model.predict(asked, 1).is_known
        )


@pytest.mark.parametrize("code", ["de", "pl"])
def test_a_batch_of_strangers_does_not_open_the_gate(
    code: str, world: World, english: IntentModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    strangers, (asked, truth) = world.strangers("de"), world.known("de")
    codes = [code] * len(strangers)
    assert rejected(english.adapted({code: asked}), asked, truth, code) < 8
    assert english.adapted({code: strangers}).predict(strangers, 1, codes).is_known.mean() < 0.1
    # It would open if they were taken for sentences on the same subject.
    monkeypatch.setattr(intent_model.Subject, "likeness", lambda *_arguments: 1.0)
    assert english.adapted({code: strangers}).predict(strangers, 1, codes).is_known.mean() > 0.5


def test_a_stored_model_expects_the_same(world: World, english: IntentModel) -> None:
    again = IntentModel.from_state(*english.state())
    asked = world.known("fr")[0]
    for code in ("fr", "pl", "en", ""):
        np.testing.assert_array_equal(
            again.predict(asked, 1, [code] * len(asked)).is_known,
            english.predict(asked, 1, [code] * len(asked)).is_known,
        )


@pytest.mark.parametrize(
    ("languages", "labelled"),
    [
        (["en"] * 300 + ["de"] * 29 + ["fr"] * 30 + [""] * 40, ("en", "fr")),
        (["en"] * 8 + ["de"] * 8, ("de", "en")),
        (["en"] * 8 + ["de"] * 7, ("en",)),
        (["", ""], ()),
        ([], ()),
    ],
)
def test_a_language_with_a_few_labels_has_none_of_its_own(
    languages: list[str], labelled: tuple[str, ...]
) -> None:
    assert labelled_languages(languages) == labelled

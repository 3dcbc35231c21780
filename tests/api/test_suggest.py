"""What to label next: uncertainty, shares and choice by independent arithmetic, and the loop on real sentences."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu_core import Suggester, load_encoder, suggest_labels
from emu_core.data.sets import LabelledSet, UnlabelledSet, unlabelled_from
from emu_core.errors import DataError, TrainingError
from emu_core.evaluation import active_learning
from emu_core.evaluation.active_learning import (
    Uncertainty,
    choose_sentences,
    fair_shares,
    mostly_right_from,
    uncertainty,
)
from emu_core.methods.head.fit import fit_head
from emu_core.methods.head.head import IntentHead
from tests.support.raises import raises
from tests.support.small import small_set

PROBABILITIES = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.6, 0.3, 0.1], [1 / 3, 1 / 3, 1 / 3]]


def test_uncertainty_is_a_small_margin_or_a_high_entropy() -> None:
    margins = [1 - (sorted(row)[-1] - sorted(row)[-2]) for row in PROBABILITIES]
    np.testing.assert_allclose(uncertainty(np.array(PROBABILITIES)), margins, atol=1e-12)
    entropies = [-sum(p * math.log(p) for p in row if p) / math.log(3) for row in PROBABILITIES]
    found = uncertainty(np.array(PROBABILITIES), Uncertainty.ENTROPY)
    np.testing.assert_allclose(found, entropies, atol=1e-12)
    assert found[0] == 0 and found[3] == pytest.approx(1)
    with pytest.raises(DataError, match="fewer than two"):
        uncertainty(np.ones((3, 1)))


def test_languages_are_evened_out_as_far_as_there_are_sentences() -> None:
    labelled, unlabelled = ["en"] * 9 + ["de"] * 2, ["en"] * 20 + ["de"] * 20 + ["fr"] * 3
    # fr to 2, then de and fr in turn; fr has no more than 3, and so de goes on until it has as many as en.
    assert fair_shares(labelled, unlabelled, 4) == {"fr": 3, "de": 1}
    assert fair_shares(labelled, unlabelled, 12) == {"fr": 3, "de": 8, "en": 1}
    assert fair_shares(labelled, unlabelled, 99) == {"fr": 3, "de": 20, "en": 20}


def on_circle(*degrees: float) -> np.ndarray:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def weighted_choice(vectors: np.ndarray, weights: np.ndarray, groups: list[list[int]]) -> set[int]:
    """Of each group the point nearest the weighted mean."""
    chosen = set()
    for group in groups:
        total = sum(float(weights[row]) for row in group)
        mean = [sum(float(weights[row] * vectors[row, axis]) for row in group) / total for axis in (0, 1)]
        chosen.add(min(group, key=lambda row: math.dist(vectors[row], mean)))
    return chosen


def test_of_each_cluster_the_sentence_nearest_its_weighted_centre_is_chosen() -> None:
    vectors = on_circle(0, 4, 10, 12, 120, 125, 131, 240, 248)
    groups = [[0, 1, 2, 3], [4, 5, 6], [7, 8]]
    choices = []
    for weights in (np.ones(9), np.array([9, 1, 0.1, 0.1, 1, 1, 9, 0.1, 1])):
        found = choose_sentences(vectors, weights, ["en"] * 9, 3)
        assert set(found.tolist()) == weighted_choice(vectors, weights, groups)
        assert list(weights[found]) == sorted(weights[found], reverse=True)
        choices.append(set(found.tolist()))
    assert choices[0] != choices[1], "the weights count"


def test_a_choice_has_its_shares_and_no_sentence_twice() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        vectors, unsure = rng.normal(size=(60, 5)), rng.random(60)
        languages = rng.choice(["de", "en", "fr"], 60, p=[0.1, 0.8, 0.1]).tolist()
        found = choose_sentences(vectors, unsure, languages, 12, ["en"] * 5)
        chosen = [languages[row] for row in found]
        shares = fair_shares(["en"] * 5, languages, 12)
        assert len(set(found.tolist())) == 12 and {code: chosen.count(code) for code in shares} == shares
    assert sorted(choose_sentences(vectors, unsure, languages, 99)) == list(range(60))


def test_repeats_leave_no_gap_in_a_choice() -> None:
    found = choose_sentences(np.ones((6, 3)), np.arange(6), ["en"] * 3 + ["de"] * 3, 4)
    assert len(set(found.tolist())) == 4


def test_of_many_sentences_the_most_uncertain_are_clustered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_learning, "ACTIVE_LEARNING_MAX_SENTENCES", 8)
    rng = np.random.default_rng(1)
    unsure = rng.permutation(40) / 40
    found = choose_sentences(rng.normal(size=(40, 3)), unsure, ["en", "de"] * 20, 4)
    best = {code: sorted(unsure[at::2])[-4] for at, code in enumerate(("en", "de"))}
    assert all(unsure[row] >= best[("en", "de")[row % 2]] for row in found)


def test_what_can_not_be_chosen_from_is_said() -> None:
    with raises(DataError, fix=None, match=" 0 sentences"):
        choose_sentences(np.ones((2, 2)), np.ones(2), ["en", "en"], 0)
    with raises(DataError, fix=None, match="3 uncertainties for 2 "):
        choose_sentences(np.ones((2, 2)), np.ones(3), ["en", "en"], 1)


def started() -> tuple[LabelledSet, UnlabelledSet]:
    """Three sentences an intent with labels, all others of the train rows without, and the test rows."""
    data = small_set(("en", "de"))
    train = np.flatnonzero(data.frame["split"] == "train")
    first = data.frame.iloc[train].groupby(["intent", "language"]).head(3).index
    kept = np.sort(np.concatenate([first, np.flatnonzero(data.frame["split"] == "test")]))
    labelled = LabelledSet(data.frame.iloc[kept].reset_index(drop=True), "some")
    return labelled, unlabelled_from(data.train_part(), ["en", "de"])


def test_suggestions_are_new_sentences_with_the_posterior_of_the_default_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heads: list[IntentHead] = []

    def recorded(*arguments: Any) -> IntentHead:
        heads.append(fit_head(*arguments))
        return heads[-1]

    monkeypatch.setattr("emu_core.methods.head.fit.fit_head", recorded)
    labelled, unlabelled = started()
    encode = load_encoder("use").encode
    suggester = Suggester("use", encode=encode).fit(labelled)
    found = suggester.suggest(unlabelled, 8)
    known = set(labelled.train_part().frame["text"])
    assert len(found) == 8 and not known & set(found["text"])
    assert found["language"].value_counts().to_dict() == {"en": 4, "de": 4}
    assert found["text"].tolist() == unlabelled.frame["text"].iloc[found["row"]].tolist()
    (head,) = heads
    x = encode(found["text"].tolist()).astype(float)
    x = x / np.linalg.norm(x, axis=1, keepdims=True) - head.center.numpy()
    x = x / np.linalg.norm(x, axis=1, keepdims=True) @ head.spread.numpy()
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    logits = x @ head.weight.numpy().T + head.bias.numpy()
    kernel = np.exp((x @ head.anchors.numpy().T - 1) / head.temperature) @ head.members.numpy()
    p = np.exp((logits + np.log(kernel)) / head.softening)
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found["probability"], p.max(axis=1), atol=1e-4)
    assert found["intent"].tolist() == [labelled.intents[place] for place in p.argmax(axis=1)]
    p.sort(axis=1)
    np.testing.assert_allclose(found["uncertainty"], 1 - p[:, -1] + p[:, -2], atol=1e-4)
    assert found["uncertainty"].is_monotonic_decreasing


@pytest.mark.slow
def test_the_score_is_the_nearest_labelled_sentence_by_language() -> None:
    labelled, _ = started()
    encode = load_encoder("use").encode
    suggester = Suggester("use", encode=encode).fit(labelled)
    pool, asked = labelled.train_part().frame, labelled.select(splits=["test"]).frame
    right = {"en": list[bool](), "de": list[bool]()}
    vectors = encode(pool["text"].tolist())
    for vector, row in zip(encode(asked["text"].tolist()), asked.itertuples(), strict=True):
        cosines = [
            -2
            if own == row.id
            else float(vector @ other) / float(np.linalg.norm(vector) * np.linalg.norm(other))
            for own, other in zip(pool["id"], vectors, strict=True)
        ]
        right[row.language].append(pool["intent"].iloc[int(np.argmax(cosines))] == row.intent)
    score = suggester.score(labelled.select(splits=["test"]))
    assert score["base"] == pytest.approx(50 * sum(np.mean(of) for of in right.values()))
    assert score["fitted"] > score["base"]


@pytest.mark.slow
def test_files_of_sentences_are_ranked_and_labelled_ones_are_left_out(tmp_path: Path) -> None:
    labelled, _ = started()
    file = tmp_path / "mails.en.txt"
    own = labelled.select(languages=["en"], splits=["train"]).frame["text"].iloc[0]
    file.write_text(f"{own}\nCan I swim here?\nIs there a dog in my room?\n", encoding="utf-8")
    found = suggest_labels(file, labelled, 5, by="entropy")
    assert sorted(found["text"]) == ["Can I swim here?", "Is there a dog in my room?"]
    file.write_text(own, encoding="utf-8")
    assert suggest_labels(file, labelled).empty
    with pytest.raises(TrainingError):
        suggest_labels(
            file,
            LabelledSet(labelled.frame[labelled.frame["intent"] == "pool"].reset_index(drop=True), "one"),
        )


def test_guesses_are_right_more_often_than_not_from_where_half_of_them_are() -> None:
    confidences = np.linspace(0.1, 0.9, 40)
    is_right = np.arange(40) >= 22
    assert mostly_right_from(confidences, is_right) == pytest.approx(confidences[22])
    one_early = is_right | (np.arange(40) == 5)  # one lucky guess is no reason to believe those like it
    assert mostly_right_from(confidences, one_early) == pytest.approx(confidences[22])
    assert mostly_right_from(confidences[::-1], is_right[::-1]) == pytest.approx(confidences[22])
    assert mostly_right_from(confidences, np.ones(40, dtype=bool)) == pytest.approx(0.1)
    assert mostly_right_from(confidences, np.zeros(40, dtype=bool)) > 1
    assert mostly_right_from(confidences[:19], is_right[:19]) == 0.5
    with pytest.raises(DataError):
        mostly_right_from(confidences, is_right[:3])


@pytest.mark.slow
def test_labelled_sentences_of_a_language_without_held_out_ones_are_guessed_without_them() -> None:
    labelled, _ = started()
    frame = labelled.frame[(labelled.frame["language"] == "en") | (labelled.frame["split"] == "train")]
    partly = LabelledSet(frame.reset_index(drop=True), "partly")
    held_out, encode = partly.select(splits=["test"]), load_encoder("use").encode
    suggester = Suggester("use", encode=encode).fit(partly)
    guesses = suggester.guesses(held_out)
    german = partly.train_part().frame["language"] == "de"
    assert guesses["language"].value_counts().to_dict() == {"en": len(held_out), "de": int(german.sum())}
    of_english = guesses[guesses["language"] == "en"]
    found = suggester.fitted_.probabilities(encode(held_out.frame["text"].tolist()))
    np.testing.assert_allclose(of_english["probability"], found.max(axis=1))
    # The method would know them all: with the translations of a sentence, or itself, among the labels.
    seen = suggester.fitted_.probabilities(encode(partly.train_part().frame["text"][german].tolist()))
    assert guesses.loc[guesses["language"] == "de", "probability"].mean() < seen.max(axis=1).mean()

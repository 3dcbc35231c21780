"""A sentence that is there twice, with other ids and spellings, is never measured by itself."""

from pathlib import Path

import pandas as pd
import pytest

from emu_core import IntentClassifier, Suggester, compare, evaluate, load_encoder, train
from emu_core.data.cleaning import normal_form
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet, UnlabelledSet
from emu_core.encoders.base import FloatArray
from emu_core.evaluation import comparison
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.run_metrics import measure_accuracy
from emu_core.methods.head import fit as head_fit
from tests.support.repeats import with_repeats, written_again
from tests.support.small import small_set

ONCE = small_set(("en", "de"))
TWICE = with_repeats(ONCE)


def encode(texts: list[str]) -> FloatArray:
    """The vectors of `use`, which reads case and width, of each sentence as it is written first."""
    written = {normal_form(text): text for text in ONCE.frame["text"]}
    return load_encoder("use").encode([written.get(normal_form(text), text) for text in texts])


def test_leave_one_out_is_that_of_the_set_without_repeats() -> None:
    once, twice = measure_accuracy(ONCE, encode), measure_accuracy(TWICE, encode)
    assert twice.accuracy == pytest.approx(once.accuracy)
    assert twice.counts == {pair: 2 * count for pair, count in once.counts.items()}


def test_neither_neighbours_nor_triples_nor_leakage_meet_a_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    leakage = comparison.language_leakage
    monkeypatch.setattr(comparison, "language_leakage", lambda *args: asked.append(args[2]) or leakage(*args))
    vectors = encode(TWICE.frame["text"].tolist())
    compared = Comparison(TWICE.frame, vectors, vectors[:, ::-1].copy())
    changes = compared.changes()
    assert (changes["sentence"].map(normal_form) != changes["base_neighbour"].map(normal_form)).all()
    triples = pd.concat([compared.triples(), compared.triples(across_languages=True)])
    assert len(triples)
    for one, other in (("s1", "s2"), ("s1", "s3"), ("s2", "s3")):
        assert (triples[one].map(normal_form) != triples[other].map(normal_form)).all()
    half = len(ONCE)
    assert asked and all(groups[:half] == groups[half:] for groups in asked)


@pytest.mark.slow
def test_a_set_against_itself_as_pool_is_not_right_by_heart() -> None:
    bare = LabelledSet(ONCE.frame.assign(id=""), "bare")
    again = bare.frame.assign(text=[written_again(text, row) for row, text in enumerate(bare.frame["text"])])
    against_itself = evaluate(bare, pool=bare, device="cpu")
    alone = evaluate(bare, device="cpu")
    assert against_itself["accuracy"] == pytest.approx(alone["accuracy"]) and against_itself["mean"] < 95
    assert against_itself["classifier"] is None  # nothing is left in the pool to learn from
    assert any(
        note.startswith(f"{len(bare)} of {len(bare)} queries are in the pool")
        for note in against_itself["notes"]
    )
    disguised = evaluate(LabelledSet(again, "again"), pool=bare, device="cpu")
    assert disguised["mean"] < 95
    pool = bare.select(splits=["train"])
    apart = evaluate(bare.select(splits=["test"]), pool=pool, device="cpu")
    assert not any("are in the pool" in note for note in apart["notes"])


@pytest.mark.slow
def test_a_pool_with_repeats_still_finds_new_intents() -> None:
    pools = (ONCE, with_repeats(ONCE, disguised=False))
    once, twice = (IntentClassifier().fit(pool).facts for pool in pools)
    assert twice["threshold"] < 0.99 and twice["accuracy"] == pytest.approx(once["accuracy"], abs=1)
    assert twice["new_found"] == pytest.approx(once["new_found"], abs=10)
    assert twice["threshold"] == pytest.approx(once["threshold"], abs=0.05)


def test_a_repeat_of_a_labelled_sentence_is_not_suggested() -> None:
    known = ONCE.frame.head(40)
    rest = ONCE.frame.iloc[40:44]
    texts = [*known["text"].str.upper(), *rest["text"], *("\u200b" + rest["text"])]
    unlabelled = pd.DataFrame(
        {"text": texts, "language": [*known["language"], *rest["language"], *rest["language"]]}
    )
    suggester = Suggester().fit(LabelledSet(known.assign(split="").reset_index(drop=True), "known"))
    table = suggester.suggest(UnlabelledSet(unlabelled.assign(id="").astype("str"), "new"), 20)
    assert sorted(table["row"]) == [40, 41, 42, 43]


@pytest.mark.slow
def test_repeats_are_in_one_fold_when_the_default_method_is_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[list[str]] = []
    examples = head_fit.Examples
    monkeypatch.setattr(head_fit, "Examples", lambda *args: fitted.append(list(args[3])) or examples(*args))
    english = LabelledSet(ONCE.select(languages=["en"]).frame.assign(split="", annotated=""), "en")
    twice = with_repeats(english, disguised=False)
    Suggester().fit(twice)
    run = train(twice, out=tmp_path / "run", device="cpu")
    assert len(fitted) == 2 and all(groups[: len(english)] == groups[len(english) :] for groups in fitted)
    held_out = run.metrics().cross_validation
    assert held_out is not None and held_out.base < 95


@pytest.mark.slow
def test_the_classifier_does_not_learn_from_the_queries() -> None:
    queries = ONCE.select(splits=["test"])
    without = evaluate(queries, pool=ONCE.select(splits=["train"]), device="cpu")
    again = queries.frame.assign(id="", text=[f"{text}\u200b" for text in queries.frame["text"]])
    pool = pd.concat([ONCE.select(splits=["train"]).frame, again], ignore_index=True)[list(LABELLED_COLUMNS)]
    measured = evaluate(queries, pool=LabelledSet(pool, "pool"), device="cpu")
    assert measured["classifier"]["by_language"] == pytest.approx(without["classifier"]["by_language"])


@pytest.mark.slow
def test_a_comparison_counts_repeats_as_one_sentence() -> None:
    compared = compare(TWICE, encoder=["use", "e5-small"], split="all", languages=["en"], device="cpu")
    changes = compared.changes()
    assert (changes["sentence"].map(normal_form) != changes["other_neighbour"].map(normal_form)).all()

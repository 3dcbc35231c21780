"""Predictions from a labelled pool: the classifier by independent arithmetic, the command and the library."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.isotonic import IsotonicRegression

from emu_core import Predictor, predict
from emu_core.api.predict import NO_INTENT
from emu_core.cli import main
from emu_core.data.labelled import LabelledSet
from emu_core.errors import DataError
from emu_core.evaluation import nearest_intent, retrieval
from emu_core.evaluation.nearest_intent import VOTES, NearestIntent
from tests.support.sentences import Sentences, random_sentences
from tests.support.small import small_file, small_set
from tests.support.small_run import small_run


def plain_answer(
    query: np.ndarray, data: Sentences, met: list[int], votes: int
) -> tuple[str, float, list[tuple[float, int]]]:
    """The elected intent, its margin, and (cosine, row) of all that is met, the nearest first."""

    def cosine(row: int) -> float:
        other = data.vectors[row].astype(float)
        return float(query @ other) / math.sqrt(float(query @ query) * float(other @ other))

    near = sorted(((cosine(row), row) for row in met), key=lambda pair: (-pair[0], pair[1]))
    totals: dict[str, float] = {}
    for value, row in near[:votes]:
        totals[data.intents[row]] = totals.get(data.intents[row], 0.0) + max(0.0, value)
    elected = max(totals, key=lambda intent: totals[intent])
    own = max(value for value, row in near if data.intents[row] == elected)
    others = [value for value, row in near if data.intents[row] != elected]
    return elected, own - max(others) if others else math.nan, near


def strangers(data: Sentences, query: int) -> list[int]:
    """Rows that leave-one-out lets a row meet: neither itself nor a translation."""
    own = data.ids[query]
    return [row for row in range(len(data.ids)) if row != query and not (own and data.ids[row] == own)]


@pytest.fixture(scope="module")
def data() -> Sentences:
    return random_sentences(90, ("fr", "en", "zh-tw"), seed=1)


@pytest.fixture(scope="module")
def fitted(data: Sentences) -> NearestIntent:
    return NearestIntent().fit(data.vectors, data.intents, data.ids)


@pytest.mark.parametrize("block", [7, 2**22])
def test_votes_margins_and_neighbours_are_those_of_plain_loops(
    block: int, data: Sentences, fitted: NearestIntent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "BLOCK", block)  # 7: one query at a time
    queries = np.random.default_rng(5).standard_normal((20, data.vectors.shape[1])).astype(np.float32)
    for fitted.votes_ in VOTES:  # whatever leave-one-out chose
        answers = fitted.predict(queries, 4)
        for query, label, margin, rows, cosines in zip(
            queries.astype(float),
            answers.labels,
            answers.margins,
            answers.rows,
            answers.cosines,
            strict=True,
        ):
            intent, gap, near = plain_answer(query, data, list(range(90)), fitted.votes_)
            assert fitted.intents_[label] == intent
            assert margin == pytest.approx(gap, abs=1e-5)
            assert rows.tolist() == [row for _, row in near[:4]]
            assert cosines == pytest.approx([value for value, _ in near[:4]], abs=1e-5)


def test_leave_one_out_chooses_votes_threshold_and_confidence(data: Sentences) -> None:
    fitted = NearestIntent().fit(data.vectors, data.intents, data.ids)
    outcomes = {
        votes: [
            plain_answer(data.vectors[row].astype(float), data, strangers(data, row), votes)
            for row in range(90)
        ]
        for votes in VOTES
    }
    right = {
        votes: np.array([found[0] == data.intents[row] for row, found in enumerate(answers)])
        for votes, answers in outcomes.items()
    }
    best = max(VOTES, key=lambda votes: (right[votes].sum(), -votes))
    assert fitted.votes_ == best
    assert fitted.accuracy_ == pytest.approx(100 * right[best].mean())
    nearest = sorted(
        found[2][0][0] for found, is_right in zip(outcomes[best], right[best], strict=True) if is_right
    )
    assert fitted.threshold_ == pytest.approx(nearest[math.floor(0.05 * (len(nearest) - 1))], abs=1e-6)
    left_out = [
        plain_answer(
            data.vectors[row].astype(float),
            data,
            [other for other in range(90) if data.intents[other] != data.intents[row]],
            1,
        )[2][0][0]
        for row in range(90)
    ]
    assert fitted.new_found_ == pytest.approx(100 * np.mean(np.array(left_out) < fitted.threshold_), abs=1e-6)
    margins = [found[1] for found in outcomes[best]]
    expected = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(margins, right[best])
    answers = fitted.predict(data.vectors + 0.3, 1)
    np.testing.assert_allclose(fitted.confidence(answers), expected.predict(answers.margins), atol=1e-3)


def test_a_translation_does_not_vote_for_its_sentence() -> None:
    """Pairs of equal vectors: with the ids, each meets the other intent only; without, its own translation."""
    vectors = np.repeat(np.eye(40, dtype=np.float32) + 0.01, 2, axis=0)
    intents = [f"intent {row // 2}" for row in range(80)]
    ids = [str(row // 2) for row in range(80)]
    assert NearestIntent().fit(vectors, intents, ids).accuracy_ == 0
    assert NearestIntent().fit(vectors, intents, [""] * 80).accuracy_ == 100


def test_only_rows_that_may_be_asked_are_asked(data: Sentences) -> None:
    few = NearestIntent().fit(data.vectors, data.intents, data.ids, asked=np.arange(3))
    assert (few.accuracy_, few.threshold_, few.calibration_, few.votes_) == (None, None, None, 3)
    answers = few.predict(data.vectors[:2], 1)
    assert np.isnan(few.confidence(answers)).all() and few.is_known(answers).all()


def test_a_pool_of_one_intent_or_of_one_sentence_answers(data: Sentences) -> None:
    one = NearestIntent().fit(data.vectors, ["only"] * 90, data.ids)
    answers = one.predict(data.vectors[:3], 2)
    assert np.isnan(answers.margins).all() and one.calibration_ is None and one.accuracy_ == 100
    single = NearestIntent().fit(data.vectors[:1], ["only"], ["1"]).predict(data.vectors[:3], 5)
    assert single.rows.tolist() == [[0]] * 3
    with pytest.raises(DataError, match="ask for 1 or more"):
        one.predict(data.vectors[:3], 0)


@pytest.fixture(scope="module")
def pool() -> LabelledSet:
    return small_set()


@pytest.fixture(scope="module")
def predictor(pool: LabelledSet) -> Predictor:
    return Predictor(device="cpu").fit(pool)


def test_a_sentence_of_the_pool_is_its_own_reason(predictor: Predictor, pool: LabelledSet) -> None:
    texts = pool.frame["text"].iloc[[0, 50]].tolist()
    table = predictor.predict(texts)
    assert table["text"].tolist() == texts
    assert table["nearest_1"].tolist() == texts
    assert table["nearest_1_cosine"].to_numpy() == pytest.approx(1, abs=1e-5)
    assert table["confidence"].between(0, 1).all()
    assert list(table.columns[4:8]) == [
        "nearest_1",
        "nearest_1_intent",
        "nearest_1_language",
        "nearest_1_cosine",
    ]
    assert "nearest_3" in table and "nearest_4" not in table


def test_the_threshold_can_be_set(pool: LabelledSet) -> None:
    asked = ["Can I bring my dog?"]
    never, always = (Predictor(threshold=cut, device="cpu").fit(pool).predict(asked) for cut in (-1, 1))
    assert never["intent"].item() == "pets"
    assert always["intent"].item() == NO_INTENT and math.isnan(always["confidence"].item())
    with pytest.raises(DataError, match="no cosine"):
        Predictor(threshold=60)


def test_rows_that_a_run_was_trained_on_calibrate_nothing(tmp_path: Path) -> None:
    run, labelled, _ = small_run(tmp_path / "runs")
    spec = f"run:{run.folder}"
    whole = Predictor(spec, device="cpu").fit(labelled)
    assert whole.facts["accuracy"] is not None
    assert "trained on 216 of the 324 labelled sentences" in whole.notes_[-1]
    # The same sentences in another file, without ids and splits, in another case and order.
    frame = labelled.select(splits=["train"], languages=["en"]).frame.iloc[::-1].reset_index(drop=True)
    again = LabelledSet(frame.assign(text=" " + frame["text"].str.upper(), id="", split=""), "again")
    alone = Predictor(spec, device="cpu").fit(again)
    assert alone.facts["accuracy"] is None and alone.facts["threshold"] is None
    assert "trained on these labelled sentences" in alone.notes_[0]
    base = Predictor(device="cpu").fit(again)
    assert base.facts["accuracy"] is not None and not any("trained on" in note for note in base.notes_)
    found = predict(["Where can I swim?"], pool=labelled, run=run.folder, device="cpu")
    assert found["nearest_1_intent"].item() in labelled.intents


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    path = tmp_path / "mails.csv"
    rows = ["Where is the pool?", "=1+1", "Wo ist das Schwimmbad?", "", "Can I bring my dog?"]
    pd.DataFrame({"text": rows, "id": [f"m{n}" for n in range(5)]}).to_csv(path, index=False)
    return path


def test_files_are_written_a_part_at_a_time(
    predictor: Predictor, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.api.embed.PART", 3)
    for ending in ("csv", "tsv", "jsonl", "parquet"):
        assert predictor.predict_file(mails, tmp_path / f"out.{ending}") == 4
    separated = {
        ending: list(csv.DictReader((tmp_path / f"out.{ending}").open(encoding="utf-8-sig"), delimiter=mark))
        for ending, mark in (("csv", ","), ("tsv", "\t"))
    }
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    expected = predictor.predict([row["text"] for row in rows])
    assert [row["id"] for row in rows] == ["m0", "m1", "m2", "m4"]
    assert [row["text"] for row in lines] == [row["text"] for row in rows]
    for found in (*separated.values(), lines, rows):
        assert [row["intent"] for row in found] == expected["intent"].tolist()
        margins = [float(row["margin"]) for row in found]
        assert margins == pytest.approx(expected["margin"].tolist(), abs=1e-5)
    assert separated["csv"] == separated["tsv"] and separated["csv"][1]["text"] == "'=1+1"
    with pytest.raises(DataError, match="end its name in"):
        predictor.predict_file(mails, tmp_path / "out.xlsx")


def test_a_file_that_fails_half_way_is_absent(
    predictor: Predictor, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.api.embed.PART", 3)

    def stop(done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predictor.predict_file(mails, tmp_path / "out.csv", on_progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mails.csv"]


def test_the_command_predicts_sentences_and_files(
    mails: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = small_file(tmp_path)
    given = ["--pool", str(pool), "--device", "cpu", "--threshold", "-1"]
    assert main(["predict", "Can I bring my dog?", *given, "-k", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (one,) = told["predictions"]
    assert one["intent"] == "pets" and "nearest_2" in one and "nearest_3" not in one
    assert told["threshold"] == -1 and told["pool"] == len(small_set())
    assert main(["predict", str(mails), *given]) == 0
    shown = capsys.readouterr().out
    assert "Wo ist das Schwimmbad?" in shown and "leave-one-out accuracy on the pool" in shown
    out = tmp_path / "deep" / "out.jsonl"
    assert main(["predict", str(mails), *given, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 4 == len(out.read_text("utf-8").splitlines())
    assert main(["predict", "missing.csv", *given]) == 2
    assert "missing.csv" in capsys.readouterr().err


def test_many_sentences_need_a_file(mails: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.cli.predict.MOST_PRINTED", 3)
    assert main(["predict", str(mails), "--pool", "demo"]) == 2


def test_a_larger_pool_is_asked_in_a_sample(data: Sentences, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_intent, "MOST_ASKED", 40)
    fitted = NearestIntent().fit(data.vectors, data.intents, data.ids)
    assert fitted.accuracy_ is not None
    assert (fitted.accuracy_ / 100 * 40) == pytest.approx(round(fitted.accuracy_ / 100 * 40))

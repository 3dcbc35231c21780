import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from emu_core.api.train import train
from emu_core.bench.fmda import worker
from emu_core.bench.fmda.bench import bench_fmda
from emu_core.bench.fmda.cells import ABLATION, BASE, FmdaCell, System
from emu_core.bench.fmda.data import FmdaData, fmda_data, read_pairs
from emu_core.bench.fmda.measure import Measured
from emu_core.bench.fmda.paper import paper_figure, paper_numbers, paper_table
from emu_core.bench.fmda.plan import FmdaPart, fmda_plan
from emu_core.bench.fmda.probes import probes_table
from emu_core.bench.fmda.request import FmdaRequest
from emu_core.bench.fmda.result import FmdaResult, View
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.fmda.run_cell import run_cell
from emu_core.bench.fmda.setting import FmdaSetting
from emu_core.bench.fmda.tables import table_2, table_3, table_4, table_5, table_6, table_9
from emu_core.bench.score import Score
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import DataError, EncoderError, RunError, TrainingError
from emu_core.evaluation.significance import mean_interval
from emu_core.evaluation.translation_retrieval import translation_retrieval
from emu_core.methods.registry import configure
from emu_core.models.parts import Part
from tests.fmda_set import TEST_FROM, VALUES, drawn_cell, fmda_set
from tests.tiny_transformer import tiny_transformer

ROOT = Path(__file__).parent.parent
PAIRS = (("en", "de"), ("en", "es"))


def fake(request: FmdaRequest) -> FmdaResult:
    return drawn_cell(request.cell, request.setting.pairs)


def bench(out: Path, data: LabelledSet | None = None, **changes: Any) -> Any:
    options = {"out": out, "device": "cpu", "run": fake, "parts": ["2"], **changes}
    return bench_fmda(fmda_set() if data is None else data, **options)


# What is planned


def test_each_cell_is_planned_once() -> None:
    cells = fmda_plan(FmdaPart, PAIRS, (0, 1))
    assert cells[0] == BASE and len(cells) == len(set(cells)) == 1 + 2 * (3 * 2 + len(ABLATION) + 1)
    assert [c for c in cells if c.system in ABLATION and c.pairs != (PAIRS[0],)] == []
    assert sum(cell.pairs == PAIRS for cell in cells) == 2
    assert len({cell.key for cell in cells}) == len(cells)
    assert fmda_plan([FmdaPart.TABLE_9], PAIRS[:1], (0,)) == fmda_plan([FmdaPart.TABLE_2], PAIRS[:1], (0,))


def test_a_cells_file_can_not_leave_its_folder() -> None:
    key = FmdaCell(System.FMDA, (("../../x", "de"),)).key
    assert "/" not in key and key != FmdaCell(System.FMDA, (("../../y", "de"),)).key


@pytest.mark.parametrize(
    ("system", "off"),
    [
        (System.FMDA, set()),
        (System.WITHOUT_UTTERANCE, {"utterance_weight", "utterance_cross_weight"}),
        (System.EQUATION_5, {"utterance_cross_weight"}),
        (System.WITHOUT_TEMPLATE, {"template_weight", "template_cross_weight"}),
        (System.WITHOUT_RESIDUAL, {"residual_weight", "residual_cross_weight"}),
        (System.WITHOUT_CONTRAST, {"template_contrast_weight", "meaning_contrast_weight"}),
        (
            System.WITHOUT_RECONSTRUCTION,
            {"utterance_weight", "utterance_cross_weight", "template_weight", "template_cross_weight",
             "residual_weight", "residual_cross_weight"},
        ),
    ],
)  # fmt: skip
def test_an_ablation_is_fmda_without_what_it_names(system: System, off: set[str]) -> None:
    setting = FmdaSetting("e5-small", "cpu", "x", "y", PAIRS, epochs=7)
    whole = setting.hyperparameters(FmdaCell(System.FMDA, PAIRS))
    other = setting.hyperparameters(FmdaCell(system, PAIRS))
    assert {name for name in whole if other[name] != whole[name]} == off
    assert all(other[name] == 0 for name in off) and other["epochs"] == 7
    two_stage = setting.hyperparameters(FmdaCell(System.TWO_STAGE, PAIRS))
    assert two_stage["two_stage"] and not whole["two_stage"]
    assert {name for name in whole if two_stage[name] != whole[name]} <= {
        "two_stage",
        "template_weight",
        "template_cross_weight",
    }
    assert setting.hyperparameters(FmdaCell(System.BASELINE, PAIRS))["epochs"] == 7


# Its data


def test_train_trains_dev_chooses_and_test_is_measured() -> None:
    extra = fmda_set().frame
    extra.loc[len(extra)] = ["odd", "odd", "odd", "en", "other", ""]
    data = fmda_data(LabelledSet(extra, "tiny"), PAIRS[:1])
    assert data.whole.languages == ("en", "de")
    assert set(data.learnt.splits) == {"train", "dev"} and data.test.splits == ("test",)
    assert len(data.test) == 2 * 4 * (len(VALUES) - TEST_FROM)
    (pair,) = data.test_pairs(PAIRS[:1])
    assert [one.id for one in pair.first] == [one.id for one in pair.second]
    assert {one.id for one in pair.first} == set(data.test.frame["id"])
    made = data.templates("en", 5)
    assert len(made) == 4 and len({one.template for one in made.sources}) == 4
    tested = set(VALUES[TEST_FROM:])
    assert {slot.value for targets in made.targets for one in targets for slot in one.slots} <= tested


def test_a_set_that_can_not_be_measured_is_refused() -> None:
    frame = fmda_set().frame
    with pytest.raises(DataError, match="tiny has no splits; add a column 'split' with train, dev and test"):
        fmda_data(LabelledSet(frame.assign(split=""), "tiny"), PAIRS)
    only = frame[frame["split"] != "test"].reset_index(drop=True)
    with pytest.raises(DataError, match="has dev, train; add"):
        fmda_data(LabelledSet(only, "tiny"), PAIRS)
    torn = frame.copy()
    torn.loc[(torn["id"] == "0-3") & (torn["language"] == "de"), "split"] = "test"
    with pytest.raises(DataError, match="the id '0-3' stands in two splits"):
        fmda_data(LabelledSet(torn, "tiny"), PAIRS)
    alone = frame[~((frame["id"] == "1-2") & (frame["language"] == "es"))].reset_index(drop=True)
    with pytest.raises(DataError, match="'1-2' has no es sentence"):
        fmda_data(LabelledSet(alone, "tiny"), PAIRS)


def test_pairs_are_read() -> None:
    codes = ("en", "de", "zh-tw", "es")
    assert read_pairs(None, codes) == (("en", "de"), ("en", "zh-tw"), ("en", "es"))
    assert read_pairs(["en-zh-tw", "zh-tw-de", ("German", "es")], codes) == (
        ("en", "zh-tw"), ("zh-tw", "de"), ("de", "es"),
    )  # fmt: skip
    for wrong in ("en-fr", "en-en", "en", "ende"):
        with pytest.raises(
            DataError, match=f"'{wrong}' is no pair of languages of the set; there are: en, de"
        ):
            read_pairs([wrong], codes)
    with pytest.raises(DataError, match="takes two languages"):
        read_pairs(None, ("en",))


# What a cell measures


def vectors_of(texts: Sequence[str], part: Part) -> np.ndarray:
    """A vector a text: its letters' counts, and noise of its own for each embedding."""
    rows = []
    for text in texts:
        noise = np.random.default_rng([len(part), *text.encode()]).normal(size=26) * 0.4
        rows.append([text.count(chr(97 + i)) for i in range(26)] + noise)
    return np.array(rows)


def test_a_cell_measures_what_plain_loops_measure() -> None:
    data = fmda_data(fmda_set(), PAIRS)
    asked: list[list[str]] = []

    def parts(texts: Sequence[str]) -> dict[Part, np.ndarray]:
        asked.append(list(texts))
        return {part: vectors_of(texts, part) for part in Part}

    measured = Measured(FmdaCell(System.FMDA, PAIRS[1:]), PAIRS, data, parts)
    assert len(asked) == 1 and len(asked[0]) == len(set(asked[0]))
    right, templates, precisions = (
        measured.translations(),
        measured.template_accuracy(),
        measured.template_precision(),
    )
    own = [Part.TEMPLATE, Part.RESIDUAL, Part.MEANING]
    assert list(right) == list(templates) == list(precisions) == own
    assert list(right[Part.MEANING]) == ["en-es", "es-en"] and list(templates[Part.MEANING]) == ["en", "es"]

    def units(texts: Sequence[str], part: Part) -> np.ndarray:
        rows = vectors_of(texts, part)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    texts = data.test.frame.set_index(["language", "id"])["text"]
    english, spanish = ([texts[code][key] for key in texts["en"].index] for code in ("en", "es"))
    for part in own:
        for name, queries, pool in (("en-es", english, spanish), ("es-en", spanish, english)):
            cosines = units(queries, part) @ units(pool, part).T
            found = [int(row.argmax()) == i for i, row in enumerate(cosines)]
            assert right[part][name].tolist() == found and 0 < sum(found) < len(found)
        for code in ("en", "es"):
            one, five = data.templates(code, 1), data.templates(code, 5)
            cosines = units(one.source_texts, part) @ units(one.target_texts, part).T
            assert templates[part][code].tolist() == [int(row.argmax()) == i for i, row in enumerate(cosines)]
            cosines = units(five.source_texts, part) @ units(five.target_texts, part).T
            for i, row in enumerate(cosines):
                order = np.argsort(-row).tolist()
                ranks = sorted(order.index(5 * i + j) + 1 for j in range(5))
                expected = sum((k + 1) / rank for k, rank in enumerate(ranks)) / 5
                assert precisions[part][code][i] == pytest.approx(expected)
    probes = measured.probes()
    assert set(probes) == {*own, Part.LANGUAGE} and probes[Part.MEANING]["en-es"]["probe_chance"] == 50
    views = measured.views()
    assert views["a"].labels == ("en",) * 28 + ("es",) * 28 and len(views["b"].points) == 56
    assert len(views["c"].labels) == 10 and len(set(views["c"].labels)) == 2  # two templates of one intent


def test_a_neighbour_of_the_translations_text_is_right() -> None:
    frame = fmda_set().frame
    for template in range(4):  # two English sentences have one Spanish translation
        same, other = (
            (frame["language"] == "es") & (frame["id"] == f"{template}-{value}") for value in (9, 10)
        )
        for column in ("text", "annotated"):
            frame.loc[other, column] = frame.loc[same, column].item()
    data = fmda_data(LabelledSet(frame, "tiny"), PAIRS[1:])
    texts = data.test.frame.set_index(["language", "id"])["text"]
    to_spanish = {texts["en"][key]: texts["es"][key] for key in texts["en"].index}

    def parts(asked: Sequence[str]) -> dict[Part, np.ndarray]:
        # A sentence and its translation have one vector.
        return {part: vectors_of([to_spanish.get(text, text) for text in asked], Part.CLS) for part in Part}

    right = Measured(FmdaCell(System.BASELINE, PAIRS[1:]), PAIRS, data, parts).translations()[Part.MEANING]
    assert right["en-es"].sum() == 28 and right["es-en"].sum() == 24


def test_the_frozen_encoder_is_measured_on_every_pair() -> None:
    data = fmda_data(fmda_set(), PAIRS)
    measured = Measured(
        BASE, PAIRS, data, lambda texts: {part: vectors_of(texts, part) for part in (Part.CLS, Part.MEAN)}
    )
    assert list(measured.translations()[Part.CLS]) == ["en-de", "de-en", "en-es", "es-en"]
    assert list(measured.template_accuracy()[Part.MEAN]) == ["en", "de", "es"]


def test_a_result_is_read_back() -> None:
    result = drawn_cell(FmdaCell(System.FMDA, PAIRS, 3), PAIRS)
    again = FmdaResult.from_json(json.loads(json.dumps(result.to_json())))
    assert again.to_json() == result.to_json()
    assert again.translations[Part.MEANING]["en-de"].dtype == bool
    for name, wrong in (
        ("translations", {"meaning": {"en-de": "012"}}),
        ("precisions", {"meaning": {"en": [1.5]}}),
    ):
        with pytest.raises(ValueError, match="0 "):
            FmdaResult.from_json({**result.to_json(), name: wrong})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"


def request_of(cell: FmdaCell, folder: Path, encoder: str) -> FmdaRequest:
    data = fmda_data(fmda_set(), PAIRS)
    data.whole.frame.to_parquet(folder / "data.parquet")
    setting = FmdaSetting(encoder, "cpu", "tiny", data.whole.sha256(), PAIRS, epochs=1)
    pictured = cell.system is System.TWO_STAGE
    return FmdaRequest(cell, setting, str(folder / "data.parquet"), str(folder / "cache"), in_figure=pictured)


def test_the_frozen_encoder_in_its_own_process(tiny: str, tmp_path: Path) -> None:
    request = request_of(BASE, tmp_path, tiny)
    result = worker.in_process(request)
    assert result.not_measured == "" and result.seconds == 0 < result.seconds_whole
    base = require_transformer(load_encoder(tiny, device="cpu"))
    (pair, _) = request.data().test_pairs(PAIRS)
    vectors = {}
    for side, given in (("en", pair.first), ("de", pair.second)):
        with torch.no_grad():
            states = [base.states(base.collate(base.token_ids([one.text])))[0].numpy() for one in given]
        vectors[side, Part.CLS] = np.array([own[0] for own in states])
        vectors[side, Part.MEAN] = np.array([own.mean(axis=0) for own in states])
    texts = [one.text for one in pair.second]
    for part in (Part.CLS, Part.MEAN):
        expected = translation_retrieval(vectors["en", part], vectors["de", part], texts).correct
        assert result.translations[part]["en-de"].tolist() == expected.tolist()


@pytest.mark.parametrize("system", [System.BASELINE, System.TWO_STAGE])
def test_a_system_is_trained_by_the_library(tiny: str, tmp_path: Path, system: System) -> None:
    cell = FmdaCell(system, PAIRS[:1], 1)
    request = request_of(cell, tmp_path, tiny)
    result = run_cell(request)
    run = train(
        request.data().learnt,
        out=tmp_path / "run",
        method="meaning-language" if system is System.BASELINE else "fmda",
        encoder=tiny,
        pairs=PAIRS[:1],
        seed=1,
        device="cpu",
        config=configure("meaning-language", tiny, epochs=1)
        if system is System.BASELINE
        else configure("fmda", tiny, epochs=1, two_stage=True),
    )
    encoder = load_encoder(f"run:{run.folder}", device="cpu")
    assert isinstance(encoder, DisentangledEncoder)
    (pair,) = request.data().test_pairs(PAIRS[:1])
    first, second = ([one.text for one in side] for side in (pair.first, pair.second))
    for part in (part for part in system.parts if part is not Part.LANGUAGE):
        expected = translation_retrieval(encoder.parts(first)[part], encoder.parts(second)[part], second)
        assert result.translations[part]["en-de"].tolist() == expected.correct.tolist()
    assert set(result.translations) == set(system.parts) - {Part.LANGUAGE} and set(result.probes) == set(
        system.parts
    )
    assert 0 < result.seconds < result.seconds_whole and result.peak_mb > 100
    assert set(result.views) == (set("abc") if system is System.TWO_STAGE else set())


def test_what_can_not_be_trained_says_why(tmp_path: Path) -> None:
    request = request_of(BASE, tmp_path, f"hf:{tmp_path / 'nothing'}")
    result = FmdaResult.from_json(worker._run(request.to_json()))
    assert "nothing" in result.not_measured and result.translations == {}


# Tables


def results_of(seeds: tuple[int, ...] = (0, 1, 2)) -> FmdaResults:
    cells = fmda_plan(FmdaPart, PAIRS, seeds)
    return FmdaResults({cell: drawn_cell(cell, PAIRS) for cell in cells}, PAIRS, seeds)


def percent(values: list[np.ndarray]) -> tuple[float, float]:
    means = [100 * sum(map(float, one)) / len(one) for one in values]
    mean = sum(means) / len(means)
    return mean, (sum((one - mean) ** 2 for one in means) / (len(means) - 1)) ** 0.5 if len(
        means
    ) > 1 else 0.0


def test_tables_2_3_and_6_hold_means_over_seeds_of_the_right_cells() -> None:
    results = results_of()
    for make, field in ((table_2, "translations"), (table_3, "templates"), (table_6, "precisions")):
        table = make(results)
        for system, part in (
            (System.BASELINE, Part.MEANING),
            (System.FMDA, Part.TEMPLATE),
            (System.BASE, Part.MEAN),
        ):
            for column, score in table.data[f"{system} {part}"].items():
                name, _, pair = column.partition(" (")
                source, target = (pair.rstrip(")") or column).split("-")
                trained = (("en", target if source == "en" else source),)
                cells = (
                    [results.cells[BASE]]
                    if system is System.BASE
                    else [results.cells[FmdaCell(system, trained, seed)] for seed in results.seeds]
                )
                values = [getattr(cell, field)[part][name] for cell in cells]
                mean, deviation = percent(values)
                assert (score["mean"], score["deviation"]) == pytest.approx((mean, deviation))
                interval = mean_interval(np.mean(values, axis=0))
                assert (score["low"], score["high"]) == (interval.low, interval.high)
                row = next(
                    r
                    for r in table.rows
                    if r[1] == {"mean": "mean pooling"}.get(part, part) and cells_of(r, system)
                )
                shown = f"{mean:.1f}" + ("" if system is System.BASE else f" ±{deviation:.1f}")
                assert row[table.head.index(column)] == shown
    assert table_2(results).head[2:6] == ("en-de", "de-en", "en-es", "es-en")
    assert table_3(results).head[2:6] == ("en (en-de)", "en (en-es)", "de (en-de)", "es (en-es)")


def cells_of(row: tuple[str, ...], system: System) -> bool:
    from emu_core.bench.fmda.cells import LABELS

    return row[0] == LABELS[system]


def test_the_papers_figures_stand_in_the_same_row() -> None:
    table = table_2(results_of((0,)))
    row = next(row for row in table.rows if row[:2] == ("FMDA", "residual"))
    printed = dict(zip(table.head, row, strict=True))
    assert printed["paper: en-es"] == "36.9" and printed["paper: de-en"] == "26.8"
    mean = next(row for row in table.rows if row[1] == "mean pooling")
    assert set(mean[6:]) == {""}
    table = table_5(results_of((0,)))
    printed = dict(
        zip(
            table.head,
            next(row for row in table.rows if row[:2] == ("FMDA, two stages", "template")),
            strict=True,
        )
    )
    assert printed["paper: de (en-de)"] == "80.2" and "paper: es-en" not in printed
    table = table_4(results_of((0,)))
    assert [row[-1] for row in table.rows] == [
        "20.3",
        "57.5",
        "60.5",
        "60.3",
        "58.6",
        "60.0",
        "61.0",
        "23.4",
        "",
    ]
    assert table.head == ("model", "embedding", "en-de", "de-en", "paper: en-de", "paper: de-en")


def test_table_9_means_over_the_models_of_a_language() -> None:
    results = results_of((0, 1))
    table = table_9(results)
    assert [row[0] for row in table.rows] == ["de-en", "es-en", "en", "de", "es"]

    def value(system: System, pairs: Any, part: Part, field: str, name: str) -> float:
        cells = [results.cells[FmdaCell(system, pairs, seed)] for seed in (0, 1)]
        return float(np.mean([100 * getattr(cell, field)[part][name].mean() for cell in cells]))

    dual = np.mean([value(System.FMDA, (pair,), Part.TEMPLATE, "templates", "en") for pair in PAIRS])
    theirs = np.mean([value(System.BASELINE, (pair,), Part.MEANING, "templates", "en") for pair in PAIRS])
    every = value(System.FMDA, PAIRS, Part.TEMPLATE, "templates", "en")
    english = {name: score["mean"] for name, score in table.data["en"].items()}
    assert english == pytest.approx({"baseline": theirs, "one pair": dual, "all pairs": every})
    spanish = {name: score["mean"] for name, score in table.data["es-en"].items()}
    assert spanish == pytest.approx(
        {
            "baseline": value(System.BASELINE, PAIRS[1:], Part.MEANING, "translations", "es-en"),
            "one pair": value(System.FMDA, PAIRS[1:], Part.MEANING, "translations", "es-en"),
            "all pairs": value(System.FMDA, PAIRS, Part.MEANING, "translations", "es-en"),
        }
    )
    assert table.rows[0][4:] == ("57.5", "60.5", "57.2")


def test_verdicts_say_what_the_numbers_say() -> None:
    def cell(shares: dict[Part, float], template: float = 0.0) -> FmdaResult:
        rights = {
            part: {way: np.arange(100) < share for way in ("en-de", "de-en")}
            for part, share in shares.items()
        }
        rights_of = {
            part: {code: np.arange(100) < share + template for code in ("en", "de")}
            for part, share in shares.items()
        }
        return FmdaResult(translations=rights, templates=rights_of)

    fmda = {Part.MEANING: 80.0, Part.TEMPLATE: 70.0, Part.RESIDUAL: 30.0}
    one = (("en", "de"),)
    cells = {
        BASE: cell({Part.CLS: 20.0, Part.MEAN: 75.0}),
        FmdaCell(System.BASELINE, one): cell({Part.MEANING: 78.0}),
        FmdaCell(System.FMDA, one): cell(fmda),
        FmdaCell(System.TWO_STAGE, one): cell({**fmda, Part.TEMPLATE: 70.0}, 12.0),
    }
    results = FmdaResults(cells, one, (0,))
    said = table_2(results).verdict
    assert said[0].startswith(
        "FMDA's meaning against frozen encoder, [CLS]: +60.0 points over the directions"
    )
    assert "mean pooling: +5.0 points over the directions, at least +5.0 (en-de, 95 % interval " in said[1]
    assert "Tiyajamorn et al. (2021), meaning: +2.0 points" in said[2]
    assert (
        said[3]
        == "Of FMDA's embeddings of sense the residual one is the worst of the three in every direction."
    )
    leads = table_5(results).verdict[0]
    # 82 of the two-stage template against 92 of the two-stage meaning.
    assert leads.endswith(
        "en (en-de) -10.0 (FMDA, two stages, meaning); de (en-de) -10.0 (FMDA, two stages, meaning)."
    )
    worse = cells | {FmdaCell(System.FMDA, one): cell({**fmda, Part.RESIDUAL: 71.0})}
    assert "not the worst of the three in en-de, de-en" in table_2(FmdaResults(worse, one, (0,))).verdict[3]


def test_probes_are_means_over_seeds() -> None:
    results = results_of((0, 1))
    table = probes_table(results)
    values = [
        results.cells[FmdaCell(System.FMDA, PAIRS[:1], seed)].probes[Part.LANGUAGE]["en-de"]["probe"]
        for seed in (0, 1)
    ]
    found = table.data["fmda language"]["en-de probe"]
    assert found["mean"] == pytest.approx(sum(values) / 2) and found["low"] is None
    assert found["deviation"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5)
    cls = results.cells[BASE].probes[Part.CLS]["en-es"]["probe"]
    meaning = table.data["fmda meaning"]["en-es probe"]["mean"]
    assert f"{cls - meaning:.1f} points fewer than on [CLS]" in table.verdict[1]


def test_what_is_missing_is_said() -> None:
    results = results_of((0, 1))
    cells = dict(results.cells)
    for seed in (0, 1):
        cells[FmdaCell(System.FMDA, PAIRS[1:], seed)] = FmdaResult(not_measured="no luck")
    cells[FmdaCell(System.BASELINE, PAIRS[:1], 1)] = FmdaResult(not_measured="gone")
    table = table_2(FmdaResults(cells, PAIRS, (0, 1)))
    row = next(row for row in table.rows if row[:2] == ("FMDA", "meaning"))
    assert row[4:6] == ("not measured", "not measured") and row[2] != "not measured"
    assert "FMDA on en-es, not measured: no luck" in table.notes
    assert "Tiyajamorn et al. (2021) on en-de, not measured: gone" in table.notes
    assert (
        table_9(FmdaResults(cells, PAIRS, (0, 1))).rows[2][2] == "not measured"
    )  # English needs both its models
    assert not any("FMDA's meaning against" in said for said in table.verdict)


def test_the_papers_tables_are_whole() -> None:
    sizes = {"2": (5, 6), "3": (5, 6), "4": (8, 2), "5": (4, 4), "6": (5, 6), "9": (7, 3)}
    numbers = paper_numbers()
    for name, (rows, columns) in sizes.items():
        table = numbers[f"table{name}"]
        assert len(table["rows"]) == rows and len(table["columns"]) == columns
        assert all(
            len(row) == columns and all(0 < value < 1 for value in row) for row in table["rows"].values()
        )
        assert len(paper_table(name).rows) == rows
    # The tables repeat each other's figures.
    for row in ("base cls", "baseline meaning", "fmda meaning"):
        for way in ("en-de", "de-en"):
            assert paper_figure("4", row, way) == paper_figure("2", row, way) != ""
    for row in ("fmda meaning", "fmda template"):
        for column in ("en (en-de)", "de (en-de)"):
            assert paper_figure("5", row, column) == paper_figure("3", row, column) != ""
    for code in ("de", "es", "ja"):
        assert paper_figure("9", f"{code}-en", "one pair") == paper_figure("2", "fmda meaning", f"{code}-en")
        assert paper_figure("9", code, "one pair") == paper_figure(
            "3", "fmda template", f"{code} (en-{code})"
        )
    assert paper_figure("2", "fmda meaning", "en-fr") == paper_figure("2", "base mean", "en-de") == ""


def test_a_score_of_one_seed_has_no_spread() -> None:
    score = Score.of(np.array([[1.0, 0.0, 1.0, 1.0]]))
    assert (score.mean, score.deviation, score.text, score.seeds) == (75.0, 0.0, "75.0", 1)
    assert score.low is not None and score.high is not None and score.low < 75 < score.high


# The whole


def test_a_killed_benchmark_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tests.killed_fmda_bench", str(out), "4"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    done = {path.name: path.read_bytes() for path in (out / "cells").iterdir()}
    assert set(done) == {"base.s0.json", "fmda.en-de.s0.json", "fmda.en-de.s1.json"}
    asked: list[str] = []

    def counting(request: FmdaRequest) -> FmdaResult:
        asked.append(request.cell.key)
        return fake(request)

    resumed = bench(out, parts=["5"], seeds=(0, 1), run=counting)
    assert asked == [
        "fmda.en-es.s0", "fmda.en-es.s1", "fmda-two-stage.en-de.s0", "fmda-two-stage.en-de.s1",
        "fmda-two-stage.en-es.s0", "fmda-two-stage.en-es.s1",
    ]  # fmt: skip
    assert {name: (out / "cells" / name).read_bytes() for name in done} == done
    assert bench(tmp_path / "other", parts=["5"], seeds=(0, 1)).tables == resumed.tables
    asked.clear()
    bench(out, parts=["5", "2"], seeds=(0, 1, 2), run=counting)
    assert len(asked) == 4 + 2 * 3  # a further seed of both, and the baseline


def test_cells_of_another_setting_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench(out, pairs=["en-de"])
    with pytest.raises(RunError, match=r"differ in the encoder \(e5-small, not hf:x\)"):
        bench(out, pairs=["en-de"], encoder="hf:x")
    with pytest.raises(RunError, match="differ in the language pairs"):
        bench(out, pairs=["de-en"])
    with pytest.raises(RunError, match="differ in the data"):
        bench(out)
    bench(out, pairs=["en-de"])


def test_a_wrong_call_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="there are: 2, 3, 4, 5, 6, 9, probes, figure4"):
        bench(tmp_path / "out", parts=["7"])
    with pytest.raises(TrainingError, match="a seed is a whole number"):
        bench(tmp_path / "out", seeds=())
    with pytest.raises(EncoderError, match="the frozen encoder can't be measured: no file"):
        bench(tmp_path / "out", run=lambda request: FmdaResult(not_measured="no file"))


def test_the_report_holds_every_part(tmp_path: Path) -> None:
    report = bench(
        tmp_path / "out", fmda_set(name="evil | <img src=x>\n# head"), parts=list(FmdaPart), seeds=(0, 1)
    )
    values = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert list(values["tables"]) == [
        "table2",
        "table3",
        "table4",
        "table5",
        "table6",
        "table9",
        "probes",
        "costs",
    ]
    assert values["pictures"] == ["figure_table2", "figure_table3", "figure4"]
    assert (
        values["pairs_measured"] == {"en-de": "28", "en-es": "28"}
        and values["templates_measured"]["de"] == "4"
    )
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert page.count("<svg") == 3 and "<img" not in page and "59.4" in page
    assert "\n# head" not in (tmp_path / "out" / "report.md").read_text("utf-8")
    for table in (*report.tables, *report.paper):
        frame = pd.read_csv(tmp_path / "out" / f"{table.name}.csv", dtype=str, keep_default_na=False)
        assert len(frame) == len(table.rows)
    assert [table.name for table in report.paper] == [f"paper_table{n}" for n in (2, 3, 4, 5, 6, 9)]
    single = bench(tmp_path / "one", pairs=["en-de"], parts=list(FmdaPart))
    assert "table9" not in single.to_json()["tables"]


def test_a_hostile_label_in_a_view_is_only_text() -> None:
    from emu_core.bench.fmda.figure4 import figure_4

    svg = figure_4({"c": View(("<script>$x$", "b"), ((0.0, 0.0), (1.0, 1.0)))})
    assert "<script" not in svg and "$x$" in svg


def test_a_request_is_read_back(tmp_path: Path) -> None:
    data = fmda_data(fmda_set(), PAIRS)
    data.whole.frame.to_parquet(tmp_path / "data.parquet")
    setting = FmdaSetting("e5-small", "cpu", "tiny", data.whole.sha256(), PAIRS, 2)
    request = FmdaRequest(
        FmdaCell(System.TWO_STAGE, PAIRS, 4), setting, str(tmp_path / "data.parquet"), "cache", True
    )
    again = FmdaRequest.from_json(request.to_json())
    assert again == request and isinstance(again.data(), FmdaData)
    assert again.data().whole.sha256() == data.whole.sha256()
    assert again.setting.fingerprint(again.cell) == setting.fingerprint(request.cell)

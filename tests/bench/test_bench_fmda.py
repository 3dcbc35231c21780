"""`emu bench fmda`: its cells, its data, what a cell measures, and its tables against plain loops."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from emu_core import train
from emu_core.bench.drawing import svg_of
from emu_core.bench.experiment import measure_cell
from emu_core.bench.fmda.experiment import ABLATION, FmdaExperiment, FmdaSystem, fmda_data, measured
from emu_core.bench.fmda.report import LABELS, FmdaTables, printed_fmda_table
from emu_core.bench.paper import paper_figure, paper_numbers
from emu_core.bench.pictures import GroupMaps, View
from emu_core.bench.results import Cell, CellResult, Results, Score, numbers, pair_names
from emu_core.bench.tables import Table
from emu_core.data.sets import LabelledSet
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.errors import DataError
from emu_core.evaluation.retrieval import translation_retrieval
from emu_core.evaluation.significance import mean_interval
from emu_core.methods.fmda.encoder import DisentangledEncoder
from emu_core.methods.fmda.parts import Part
from emu_core.methods.fmda.settings import FmdaConfig, MeaningLanguageConfig
from emu_core.methods.registry import configure
from tests.support.bench_cells import planned, results_of, run
from tests.support.fmda_set import TEST_FROM, VALUES, fmda_set
from tests.support.tiny_transformer import tiny_transformer

PAIRS = (("en", "de"), ("en", "es"))
NAMES = pair_names(PAIRS)
BASE = Cell("base")


def experiment(**options: Any) -> FmdaExperiment:
    found = planned("fmda", **options)
    assert isinstance(found, FmdaExperiment)
    return found


# What is planned


def test_each_cell_is_planned_once() -> None:
    cells = experiment(seeds=(0, 1)).cells()
    assert cells[0] == BASE and len(cells) == len(set(cells)) == 1 + 2 * (3 * 2 + len(ABLATION) + 1)
    assert [cell for cell in cells if cell.system in ABLATION and cell.on != NAMES[:1]] == []
    assert sum(cell.on == NAMES for cell in cells) == 2
    assert len({cell.key for cell in cells}) == len(cells)
    one = {"pairs": ["en-de"]}
    assert experiment(parts=["9"], **one).cells() == experiment(parts=["2"], **one).cells()


@pytest.mark.parametrize(
    ("system", "off"),
    [
        (FmdaSystem.FMDA, set()),
        (FmdaSystem.WITHOUT_UTTERANCE, {"utterance_weight", "utterance_cross_weight"}),
        (FmdaSystem.WITHOUT_UTTERANCE_CROSS, {"utterance_cross_weight"}),
        (FmdaSystem.WITHOUT_TEMPLATE, {"template_weight", "template_cross_weight"}),
        (FmdaSystem.WITHOUT_RESIDUAL, {"residual_weight", "residual_cross_weight"}),
        (FmdaSystem.WITHOUT_CONTRAST, {"template_contrast_weight", "meaning_contrast_weight"}),
        (
            FmdaSystem.WITHOUT_RECONSTRUCTION,
            {"utterance_weight", "utterance_cross_weight", "template_weight", "template_cross_weight",
             "residual_weight", "residual_cross_weight"},
        ),
    ],
)  # fmt: skip
def test_an_ablation_is_fmda_without_what_it_names(system: FmdaSystem, off: set[str]) -> None:
    made = experiment(encoder="e5-small", epochs=7)

    def settings(of: FmdaSystem) -> dict[str, Any]:
        return made.hyperparameters(Cell(of, NAMES[:1]))

    whole, other = settings(FmdaSystem.FMDA), settings(system)
    assert {name for name in whole if other[name] != whole[name]} == off
    assert all(other[name] == 0 for name in off) and other["epochs"] == 7
    two_stage = settings(FmdaSystem.TWO_STAGE)
    assert two_stage["two_stage"] and not whole["two_stage"]
    changed = {name for name in whole if two_stage[name] != whole[name]}
    assert changed <= {"two_stage", "template_weight", "template_cross_weight"}
    assert settings(FmdaSystem.BASELINE)["epochs"] == 7 and settings(FmdaSystem.BASE) == {}


def test_every_seed_has_the_same_budget() -> None:
    made = experiment(encoder="e5-small", seeds=(0, 1, 2))
    for system in set(FmdaSystem) - {FmdaSystem.BASE}:
        seeds = [made.hyperparameters(Cell(system, NAMES[:1], seed)) for seed in made.seeds]
        assert seeds[0] == seeds[1] == seeds[2] and seeds[0]["epochs"] == 20 and seeds[0]["patience"] == 5


def test_equation_5_adds_up_the_papers_losses_and_the_papers_settings_are_its_own() -> None:
    made = experiment(encoder="e5-small", preset="paper", parts=["2", "4"])
    whole, printed = (
        made.hyperparameters(Cell(system, NAMES[:1])) for system in (FmdaSystem.FMDA, FmdaSystem.EQUATION_5)
    )
    weights = {name: value for name, value in printed.items() if name.endswith("_weight")}
    assert weights.pop("utterance_cross_weight") == 0 and set(weights.values()) == {1.0} and len(weights) == 8
    assert {name for name in whole if whole[name] != printed[name]} <= {*weights, "utterance_cross_weight"}
    own = made.hyperparameters(Cell(FmdaSystem.FMDA_PAPER, NAMES[:1]))
    assert own == asdict(FmdaConfig()) and not own["standardised"] and whole["standardised"]
    assert made.hyperparameters(Cell(FmdaSystem.BASELINE_PAPER, NAMES[:1])) == asdict(MeaningLanguageConfig())
    tables = FmdaTables(results_of(made), made.pairs)
    assert texts_of(tables.table("2"), LABELS[FmdaSystem.FMDA_PAPER], "meaning")[-4:-2] == ("59.4", "60.5")
    plain = experiment(parts=["2"])
    assert not {cell.system for cell in plain.cells()} & {FmdaSystem.FMDA_PAPER, FmdaSystem.BASELINE_PAPER}
    assert len(FmdaTables(results_of(plain), plain.pairs).table("2").rows) == len(tables.table("2").rows) - 4


# Its data


def test_train_trains_dev_chooses_and_test_is_measured() -> None:
    extra = fmda_set().frame
    extra.loc[len(extra)] = ["odd", "odd", "odd", "en", "other", ""]
    data = fmda_data(LabelledSet(extra, "tiny"), PAIRS[:1])
    assert data.labelled.languages == ("en", "de")
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
    with pytest.raises(DataError, match="the id '0-3' is in two splits"):
        fmda_data(LabelledSet(torn, "tiny"), PAIRS)
    alone = frame[~((frame["id"] == "1-2") & (frame["language"] == "es"))].reset_index(drop=True)
    with pytest.raises(DataError, match="'1-2' has no es sentence"):
        fmda_data(LabelledSet(alone, "tiny"), PAIRS)


# What a cell measures


def vectors_of(texts: Sequence[str], part: Part) -> np.ndarray:
    """A vector a text: its letters' counts, and noise of its own for each embedding."""
    rows = []
    for text in texts:
        noise = np.random.default_rng([len(part), *text.encode()]).normal(size=26) * 0.4
        rows.append([text.count(chr(97 + i)) for i in range(26)] + noise)
    return np.array(rows)


def test_queries_whose_templates_were_learnt_from_are_told_from_others() -> None:
    frame = fmda_set(("en", "de")).frame
    # Two templates of English, and one of these two of German, stand in test alone.
    learnt = frame["split"] != "test"
    own = frame["id"].str[0]
    alone = learnt & (own.eq("0") | (own.eq("1") & frame["language"].eq("en")))
    other = frame["annotated"].str.replace("where", "find").str.replace("open", "when")
    bare = other.str.replace(r"\[place : (.*?)\]", r"\1", regex=True)
    frame.loc[alone, "annotated"], frame.loc[alone, "text"] = other[alone], bare[alone]
    data = fmda_data(LabelledSet(frame, "tiny"), PAIRS[:1])
    (pair,) = data.test_pairs(PAIRS[:1])
    assert [bool(new) for new in data.is_new(pair.first)] == [one.id[0] in "01" for one in pair.first]
    assert [bool(new) for new in data.is_new(pair.second)] == [one.id[0] == "0" for one in pair.second]
    values = CellResult(
        measured(
            data, PAIRS[:1], lambda texts: {part: vectors_of(texts, part) for part in Part}, [Part.MEANING]
        )[0]
    )
    every = values.values["translation", "meaning", "en-de"]
    new = [row for row, one in enumerate(pair.first) if one.id[0] == "0"]  # in both languages
    assert values.values["translation new", "meaning", "en-de"].tolist() == every[new].tolist()
    assert len(values.values["template new", "meaning", "en"]) == 2
    assert len(values.values["template new", "meaning", "de"]) == 1
    cells = {Cell("baseline", NAMES[:1]): values}
    table = FmdaTables(Results(cells, (0,)), PAIRS[:1]).table("2", new=True)
    assert table.name == "table2_new"
    assert table.data["baseline meaning"]["en-de"]["mean"] == pytest.approx(100 * every[new].mean())


def test_a_cell_measures_what_plain_loops_measure() -> None:
    data = fmda_data(fmda_set(), PAIRS)
    asked: list[list[str]] = []

    def parts(texts: Sequence[str]) -> dict[Part, np.ndarray]:
        asked.append(list(texts))
        return {part: vectors_of(texts, part) for part in Part}

    values, draw = measured(data, PAIRS[1:], parts, FmdaSystem.FMDA.parts)
    result = CellResult(values)
    assert len(asked) == 1 and len(asked[0]) == len(set(asked[0]))
    own = [Part.TEMPLATE, Part.RESIDUAL, Part.MEANING]
    for measure, wheres in (
        ("translation", ["en-es", "es-en"]),
        ("retrieved", ["en-es", "es-en"]),
        ("template", ["en", "es"]),
        ("precision", ["en", "es"]),
    ):
        assert result.keys(measure) == [(part.value, where) for part in own for where in wheres]

    def units(texts: Sequence[str], part: Part) -> np.ndarray:
        rows = vectors_of(texts, part)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    texts = data.test.frame.set_index(["language", "id"])["text"]
    english, spanish = ([texts[code][key] for key in texts["en"].index] for code in ("en", "es"))
    for part in own:
        for name, queries, pool in (("en-es", english, spanish), ("es-en", spanish, english)):
            cosines = units(queries, part) @ units(pool, part).T
            nearest = [int(row.argmax()) for row in cosines]
            assert values["retrieved", part, name].tolist() == nearest
            found = [row == i for i, row in enumerate(nearest)]
            assert values["translation", part, name].tolist() == found and 0 < sum(found) < len(found)
        for code in ("en", "es"):
            one, five = data.templates(code, 1), data.templates(code, 5)
            cosines = units(one.source_texts, part) @ units(one.target_texts, part).T
            assert values["template", part, code].tolist() == [
                int(row.argmax()) == i for i, row in enumerate(cosines)
            ]
            cosines = units(five.source_texts, part) @ units(five.target_texts, part).T
            for i, row in enumerate(cosines):
                order = np.argsort(-row).tolist()
                ranks = sorted(order.index(5 * i + j) + 1 for j in range(5))
                expected = sum((k + 1) / rank for k, rank in enumerate(ranks)) / 5
                assert values["precision", part, code][i] == pytest.approx(expected)
    assert {part for part, _ in result.keys("probe")} == {*own, Part.LANGUAGE}
    assert all(0 <= result.values["probe", part, "en-es"][0] <= 100 for part in own)
    views = draw()
    assert views["a"].groups == ("en",) * 28 + ("es",) * 28 and len(views["b"].points) == 56
    assert len(views["c"].groups) == 10 and len(set(views["c"].groups)) == 2  # two templates of one intent


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

    values, _ = measured(data, PAIRS[1:], parts, FmdaSystem.BASELINE.parts)
    assert [values["translation", "meaning", way].sum() for way in ("en-es", "es-en")] == [28, 24]


def test_the_frozen_encoder_is_measured_on_every_pair() -> None:
    data = fmda_data(fmda_set(), PAIRS)
    made, parts = experiment(), FmdaSystem.BASE.parts
    pairs = made.pairs_of(BASE)
    values, _ = measured(data, pairs, lambda texts: {part: vectors_of(texts, part) for part in parts}, parts)
    assert CellResult(values).wheres("translation", "cls") == ["en-de", "de-en", "en-es", "es-en"]
    assert CellResult(values).wheres("template", "mean") == ["en", "de", "es"]
    assert made.pairs_of(Cell("fmda", NAMES[1:])) == PAIRS[1:]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'))}"


def test_the_frozen_encoder_is_measured_as_it_is(tiny: str) -> None:
    made = experiment(encoder=tiny)
    result = measure_cell(made, BASE)
    assert result.error == "" and result.seconds == 0 < result.seconds_whole
    base = require_transformer(load_encoder(tiny, device="cpu"))
    (pair, _) = made.data.test_pairs(PAIRS)
    vectors = {}
    for side, given in (("en", pair.first), ("de", pair.second)):
        with torch.no_grad():
            states = [base.states(base.collate(base.token_ids([one.text])))[0].numpy() for one in given]
        vectors[side, Part.CLS] = np.array([own[0] for own in states])
        vectors[side, Part.MEAN] = np.array([own.mean(axis=0) for own in states])
    texts = [one.text for one in pair.second]
    for part in (Part.CLS, Part.MEAN):
        expected = translation_retrieval(vectors["en", part], vectors["de", part], texts).correct
        assert result.values["translation", part, "en-de"].tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("system", [FmdaSystem.BASELINE, FmdaSystem.TWO_STAGE])
def test_a_system_is_trained_by_the_library(tiny: str, tmp_path: Path, system: FmdaSystem) -> None:
    made = experiment(encoder=tiny, epochs=1, seeds=(1,), folder=tmp_path)
    result = measure_cell(made, Cell(system, NAMES[:1], 1))
    changes = {"epochs": 1} if system is FmdaSystem.BASELINE else {"epochs": 1, "two_stage": True}
    done = train(
        made.data.learnt, out=tmp_path / "run", method=system.method, encoder=tiny, pairs=PAIRS[:1], seed=1,
        device="cpu", config=configure(system.method, "hf", **changes),
    )  # fmt: skip
    encoder = load_encoder(f"run:{done.folder}", device="cpu")
    assert isinstance(encoder, DisentangledEncoder)
    (pair,) = made.data.test_pairs(PAIRS[:1])
    first, second = ([one.text for one in side] for side in (pair.first, pair.second))
    meant = [part for part in system.parts if part is not Part.LANGUAGE]
    for part in meant:
        expected = translation_retrieval(encoder.parts(first)[part], encoder.parts(second)[part], second)
        assert result.values["translation", part, "en-de"].tolist() == expected.correct.tolist()
    assert {part for part, _ in result.keys("translation")} == set(meant)
    assert {part for part, _ in result.keys("probe")} == set(system.parts)
    assert 0 < result.seconds < result.seconds_whole and result.peak_mb > 100
    assert set(result.views) == (set("abc") if system is FmdaSystem.TWO_STAGE else set())


# Tables


def tables(seeds: tuple[int, ...] = (0, 1, 2), changes: Any = None) -> tuple[Results, FmdaTables]:
    made = experiment(seeds=seeds)
    results = results_of(made, changes)
    return results, FmdaTables(results, made.pairs)


def texts_of(table: Table, *labels: str) -> tuple[str, ...]:
    return next(texts for texts in table.texts if texts[: len(labels)] == labels)


def percent(values: list[np.ndarray]) -> tuple[float, float]:
    means = [100 * sum(map(float, one)) / len(one) for one in values]
    mean = sum(means) / len(means)
    return mean, float(np.std(means, ddof=1)) if len(means) > 1 else 0.0


def test_tables_2_3_and_6_hold_means_over_seeds_of_the_right_cells() -> None:
    results, made = tables()
    for number, measure in (("2", "translation"), ("3", "template"), ("6", "precision")):
        table = made.table(number)
        for system, part in (
            (FmdaSystem.BASELINE, Part.MEANING),
            (FmdaSystem.FMDA, Part.TEMPLATE),
            (FmdaSystem.BASE, Part.MEAN),
        ):
            for column, score in table.data[f"{system} {part}"].items():
                name, _, pair = column.partition(" (")
                source, target = (pair.rstrip(")") or column).split("-")
                trained = f"en-{target if source == 'en' else source}"
                cells = [Cell(system, (trained,), seed) for seed in results.seeds]
                cells = [BASE] if system is FmdaSystem.BASE else cells
                values = [results.cells[cell].values[measure, part, name] for cell in cells]
                mean, deviation = percent(values)
                assert (score["mean"], score["deviation"]) == pytest.approx((mean, deviation))
                interval = mean_interval(np.mean(values, axis=0))
                assert (score["low"], score["high"]) == (interval.low, interval.high)
                row = texts_of(table, LABELS[system], {"mean": "mean pooling"}.get(part, part))
                shown = f"{mean:.1f}" + ("" if system is FmdaSystem.BASE else f" ±{deviation:.1f}")
                assert row[table.head.index(column)] == shown
    assert made.table("2").head[2:6] == ("en-de", "de-en", "en-es", "es-en")
    assert made.table("3").head[2:6] == ("en (en-de)", "en (en-es)", "de (en-de)", "es (en-es)")


def test_the_papers_figures_stand_in_the_same_row() -> None:
    _, made = tables((0,))
    table = made.table("2")
    printed = dict(zip(table.head, texts_of(table, "FMDA", "residual"), strict=True))
    assert printed["paper: en-es"] == "36.9" and printed["paper: de-en"] == "26.8"
    assert set(texts_of(table, "frozen encoder", "mean pooling")[6:]) == {""}
    table = made.table("5")
    printed = dict(zip(table.head, texts_of(table, "FMDA, two stages", "template"), strict=True))
    assert printed["paper: de (en-de)"] == "80.2" and "paper: es-en" not in printed
    table = made.table("4")
    assert [row[-1] for row in table.texts] == [
        "20.3",
        "57.5",
        "60.5",
        "60.3",
        "58.6",
        "60.0",
        "61.0",
        "23.4",
        "",
        "",
    ]
    assert table.head == ("model", "embedding", "en-de", "de-en", "paper: en-de", "paper: de-en")


def test_table_9_means_over_the_models_of_a_language() -> None:
    results, made = tables((0, 1))
    table = made.table("9")
    assert [row.cells[0] for row in table.rows] == ["de-en", "es-en", "en", "de", "es"]

    def value(system: FmdaSystem, on: tuple[str, ...], part: Part, measure: str, where: str) -> float:
        cells = [results.cells[Cell(system, on, seed)] for seed in (0, 1)]
        return float(np.mean([100 * cell.values[measure, part, where].mean() for cell in cells]))

    def of(key: str) -> dict[str, float]:
        return {name: score["mean"] for name, score in table.data[key].items()}

    each = [NAMES[:1], NAMES[1:]]
    expected = {
        "baseline": np.mean([value(FmdaSystem.BASELINE, on, Part.MEANING, "template", "en") for on in each]),
        "one pair": np.mean([value(FmdaSystem.FMDA, on, Part.TEMPLATE, "template", "en") for on in each]),
        "all pairs": value(FmdaSystem.FMDA, NAMES, Part.TEMPLATE, "template", "en"),
    }
    assert of("en") == pytest.approx(expected)
    expected = {
        "baseline": value(FmdaSystem.BASELINE, NAMES[1:], Part.MEANING, "translation", "es-en"),
        "one pair": value(FmdaSystem.FMDA, NAMES[1:], Part.MEANING, "translation", "es-en"),
        "all pairs": value(FmdaSystem.FMDA, NAMES, Part.MEANING, "translation", "es-en"),
    }
    assert of("es-en") == pytest.approx(expected)
    assert table.rows[0].cells[4:] == ("57.5", "60.5", "57.2")


def test_verdicts_are_what_the_numbers_show() -> None:
    def cell(shares: dict[Part, float], template: float = 0.0) -> CellResult:
        values = {}
        for part, share in shares.items():
            values |= {("translation", part, way): np.arange(100) < share for way in ("en-de", "de-en")}
            values |= {("template", part, code): np.arange(100) < share + template for code in ("en", "de")}
        return CellResult(numbers(values))

    fmda, one = {Part.MEANING: 80.0, Part.TEMPLATE: 70.0, Part.RESIDUAL: 30.0}, NAMES[:1]
    cells = {
        BASE: cell({Part.CLS: 20.0, Part.MEAN: 75.0}),
        Cell("baseline", one): cell({Part.MEANING: 78.0}),
        Cell("fmda", one): cell(fmda),
        Cell("fmda-two-stage", one): cell({**fmda, Part.TEMPLATE: 70.0}, 12.0),
    }
    made = FmdaTables(Results(cells, (0,)), PAIRS[:1])
    said = made.table("2").verdict
    assert said[0].startswith(
        "FMDA's meaning against frozen encoder, [CLS]: +60.0 points over the directions"
    )
    assert "mean pooling: +5.0 points over the directions, at least +5.0 (en-de, 95 % interval " in said[1]
    assert "Tiyajamorn et al. (2021), meaning: +2.0 points" in said[2]
    sense = "Of FMDA's embeddings of sense the residual one is "
    assert said[3] == f"{sense}the worst of the three in every direction."
    # 82 of the two-stage template against 92 of the two-stage meaning.
    assert (
        made.table("5")
        .verdict[0]
        .endswith(
            "en (en-de) -10.0 (FMDA, two stages, meaning); de (en-de) -10.0 (FMDA, two stages, meaning)."
        )
    )
    worse = cells | {Cell("fmda", one): cell({**fmda, Part.RESIDUAL: 71.0})}
    said = FmdaTables(Results(worse, (0,)), PAIRS[:1]).table("2").verdict
    assert said[3] == f"{sense}not the worst of the three in en-de, de-en."


def test_probes_are_means_over_seeds() -> None:
    results, made = tables((0, 1))
    table = made.table("probes")
    cells = [results.cells[Cell("fmda", NAMES[:1], seed)] for seed in (0, 1)]
    values = [float(cell.values["probe", "language", "en-de"][0]) for cell in cells]
    found = table.data["fmda language"]["en-de probe"]
    assert found["mean"] == pytest.approx(sum(values) / 2) and found["low"] is None
    assert found["deviation"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5)
    cls = results.cells[BASE].values["probe", "cls", "en-es"][0]
    meaning = table.data["fmda meaning"]["en-es probe"]["mean"]
    assert f"{cls - meaning:.1f} points fewer than on [CLS]" in table.verdict[1]


def test_what_is_missing_is_told() -> None:
    changes = {Cell("fmda", NAMES[1:], seed): CellResult(error="no luck") for seed in (0, 1)}
    changes[Cell("baseline", NAMES[:1], 1)] = CellResult(error="gone")
    _, made = tables((0, 1), changes)
    table = made.table("2")
    row = texts_of(table, "FMDA", "meaning")
    assert row[4:6] == ("not measured", "not measured") and row[2] != "not measured"
    assert "FMDA on en-es, not measured: no luck" in table.notes
    assert "Tiyajamorn et al. (2021) on en-de, not measured: gone" in table.notes
    assert made.table("9").rows[2].cells[2] == "not measured"  # English needs both its models
    assert not any("FMDA's meaning against" in sentence for sentence in table.verdict)


def test_the_papers_tables_are_whole() -> None:
    sizes = {"2": (5, 6), "3": (5, 6), "4": (8, 2), "5": (4, 4), "6": (5, 6), "9": (7, 3)}
    numbers = paper_numbers("fmda")
    for name, (rows, columns) in sizes.items():
        table = numbers[f"table{name}"]
        assert len(table["rows"]) == rows and len(table["columns"]) == columns
        assert all(
            len(row) == columns and all(0 < value < 1 for value in row) for row in table["rows"].values()
        )
        assert len(printed_fmda_table(name).rows) == rows
    # The tables repeat each other's figures.
    for row in ("base cls", "baseline meaning", "fmda meaning"):
        for way in ("en-de", "de-en"):
            assert paper_figure("fmda", "table4", row, way) == paper_figure("fmda", "table2", row, way) != ""
    for row in ("fmda meaning", "fmda template"):
        for column in ("en (en-de)", "de (en-de)"):
            assert (
                paper_figure("fmda", "table5", row, column)
                == paper_figure("fmda", "table3", row, column)
                != ""
            )
    for code in ("de", "es", "ja"):
        assert paper_figure("fmda", "table9", f"{code}-en", "one pair") == paper_figure(
            "fmda", "table2", "fmda meaning", f"{code}-en"
        )
        assert paper_figure("fmda", "table9", code, "one pair") == paper_figure(
            "fmda", "table3", "fmda template", f"{code} (en-{code})"
        )
    assert (
        paper_figure("fmda", "table2", "fmda meaning", "en-fr")
        == paper_figure("fmda", "table2", "base mean", "en-de")
        == ""
    )


def test_a_score_of_one_seed_has_no_spread() -> None:
    score = Score.of(np.array([[1.0, 0.0, 1.0, 1.0]]))
    assert score is not None
    assert (score.mean, score.deviation, score.text, score.seeds) == (75.0, 0.0, "75.0", 1)
    assert score.low is not None and score.high is not None and score.low < 75 < score.high


# The whole


@pytest.mark.slow
def test_one_pair_has_no_table_of_several(tmp_path: Path) -> None:
    report = run("fmda", tmp_path / "one", pairs=["en-de"])
    assert "table9" not in report.to_json()["tables"]
    report = run("fmda", tmp_path / "all")
    assert report.facts["pairs_measured"] == {"en-de": "28", "en-es": "28"}
    assert report.facts["templates_measured"]["de"] == "4"
    assert [table.name for table in report.paper] == [f"paper_table{n}" for n in (2, 3, 4, 5, 6, 9)]
    assert "59.4" in (tmp_path / "all" / "report.html").read_text("utf-8")


def test_a_hostile_label_in_a_view_is_only_text() -> None:
    svg = svg_of(GroupMaps({"c": View(((0.0, 0.0), (1.0, 1.0)), ("<script>$x$", "b"))}))
    assert "<script" not in svg and "$x$" in svg

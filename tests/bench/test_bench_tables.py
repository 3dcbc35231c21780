"""The tables of Emu's benchmark, against independent arithmetic."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from emu_core.bench.emu import few_shot
from emu_core.bench.emu.accuracies import Accuracies, level_above, level_of, stars
from emu_core.bench.emu.experiment import PAPER_ORDER, benchmarked_methods
from emu_core.bench.emu.few_shot_table import few_shot_table
from emu_core.bench.emu.new_intents_table import new_intents_table
from emu_core.bench.emu.report import (
    paper_mean,
    peers_table,
    printed_tables,
    table_1,
    table_2,
    table_3,
    table_4,
    table_5,
)
from emu_core.bench.paper import paper_numbers
from emu_core.bench.results import PAPER, Cell, CellResult, Results, numbers
from emu_core.bench.tables import Row, Warned
from emu_core.data.sets import LabelledSet
from emu_core.methods.registry import configure
from tests.support.bench_cells import planned
from tests.support.bench_set import bench_set, four_intents

SIX = ("en", "de", "es", "fr", "ja", "zh")
TWO = ("en", "de")


def result_of(bits: Mapping[str, str], **others: Any) -> CellResult:
    """A result with these right (1) and wrong (0) queries by direction."""
    return CellResult(
        numbers({("correct", "", way): [bit == "1" for bit in row] for way, row in bits.items()}), **others
    )


def drawn_result(languages: tuple[str, ...], seed: int, right: float, n: int = 40) -> CellResult:
    """A result whose queries are right at random, with the share `right`."""
    rng = np.random.default_rng(seed)
    return result_of(
        {
            f"{s}-{t}": "".join("01"[int(one)] for one in rng.random(n) < right)
            for s in languages
            for t in languages
        }
    )


def found_of(
    base: CellResult,
    cells: Mapping[Any, CellResult],
    languages: tuple[str, ...] = TWO,
    seeds: tuple[int, ...] = (0,),
) -> Accuracies:
    """Accuracies of a base and of cells; a pair of method and seed is a cell trained on English."""
    made = {
        key if isinstance(key, Cell) else Cell(key[0], ("en",), key[1]): own for key, own in cells.items()
    }
    seeds = tuple(sorted({cell.seed for cell in made})) or seeds
    experiment: Any = planned("emu", bench_set(languages), seeds=seeds)
    return Accuracies(experiment, Results({Cell("base"): base, **made}, seeds))


def row_of(table: Any, label: str) -> tuple[str, ...]:
    """The texts of a row."""
    return next(texts for texts in table.texts if texts[0] == label)


def right(cell: CellResult, way: str) -> np.ndarray:
    """Whether each query is right."""
    return cell.values["correct", "", way]


def wilson_high(right: int, n: int, z: float) -> float:
    """Wilson's upper end, by its formula."""
    p = right / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (centre + half) / (1 + z * z / n)


@pytest.mark.parametrize(("marks", "z"), [("***", 2.5758293), ("**", 1.9599640), ("*", 1.6448536)])
def test_a_mark_stands_just_above_wilsons_interval(marks: str, z: float) -> None:
    high = wilson_high(80, 144, z)
    assert stars(level_above(high + 0.001, 80, 144)) == marks
    assert stars(level_above(high - 0.001, 80, 144)) == {"***": "**", "**": "*", "*": ""}[marks]


def test_a_loss_has_no_mark() -> None:
    assert level_above(10.0, 80, 144) is None and stars(None) == ""


@pytest.mark.parametrize(("against", "expected"), [("base", 127), ("best", 122)])
def test_the_marks_of_the_paper_come_out_as_printed(against: str, expected: int) -> None:
    """Read as against LASER, more of them do than as against the best of all other systems."""
    numbers = paper_numbers("emu")
    same = total = 0
    for dataset, rows in numbers["table2"]["datasets"].items():
        n = numbers["queries"][dataset]
        others = ["base"] if against == "base" else [name for name in rows if not name.startswith("emu")]
        for name, row in rows.items():
            for i, printed in enumerate(row["marks"]):
                base = round(max(rows[other]["accuracy"][i] for other in others) * n / 100)
                found = stars(level_above(row["accuracy"][i], base, n))
                if name.startswith("emu"):
                    same, total = same + (found == printed), total + 1
                else:
                    assert printed == ""
    assert (same, total) == (expected, 132)


def test_the_papers_accuracies_are_fractions_of_its_test_sets() -> None:
    numbers = paper_numbers("emu")
    for dataset, rows in numbers["table2"]["datasets"].items():
        n = numbers["queries"][dataset]
        for row in rows.values():
            for value in row["accuracy"]:
                assert any(abs(100 * k / n - value) <= 0.0501 for k in range(n + 1)), (dataset, value)


def test_the_papers_numbers_are_whole() -> None:
    # The means that readers of the paper know (its 11 tasks).
    known = {"HotelQA": (47.7, 62.8, 61.4), "ATIS": (86.3, 94.9, 92.1), "Quora": (84.9, 85.4, 84.4)}
    for dataset, means in known.items():
        for name, expected in zip(("base", "emu", "emu-without-ld"), means, strict=True):
            assert paper_mean(dataset, name) == pytest.approx(expected, abs=0.06)
    # Table 5 follows from Table 2: the drop of LD is the difference of two of its means.
    for dataset in known:
        drop = paper_mean(dataset, "emu") - paper_mean(dataset, "emu-without-ld")
        assert paper_numbers("emu")["table5"]["language discriminator"][dataset]["drop"] == pytest.approx(
            drop, abs=0.06
        )
    # Table 4's English row is Table 3's first line where they overlap, and both follow from Table 2 (a).
    third, fourth = paper_numbers("emu")["table3"], paper_numbers("emu")["table4"]
    hotel = paper_numbers("emu")["table2"]["datasets"]["HotelQA"]
    for i, direction in enumerate(third["columns"]):
        source, target = direction.split("-")
        value = third["rows"]["en"][i]
        assert fourth["rows"][source][fourth["columns"].index(target)] == value
        if "en" in (source, target):
            at = paper_numbers("emu")["table2"]["directions"].index(direction)
            base, method = hotel["base"]["accuracy"][at], hotel["emu-without-ld"]["accuracy"][at]
            assert value == pytest.approx(100 * (method - base) / base, abs=0.3)
    assert all(len(row) == 9 for row in third["rows"].values()) and len(third["rows"]) == 7
    tables = [table for number in "234" for table in printed_tables(number)]
    assert all(len(row) == len(table.head) for table in tables for row in table.texts)


def test_table_2_means_over_seeds_and_marks_against_the_base() -> None:
    base = drawn_result(SIX, 0, 0.5)
    cells = {("emu", seed): drawn_result(SIX, 10 + seed, 0.8) for seed in range(3)}
    table = table_2(found_of(base, cells, SIX))
    assert table.head[4:15] == (
        "en-en", "en-de", "en-es", "en-fr", "en-ja", "en-zh", "de-en", "es-en", "fr-en", "ja-en", "zh-en",
    )  # fmt: skip
    row, means = row_of(table, "Emu"), []
    for place, direction in enumerate(table.head[4:15], start=4):
        accuracies = [100 * sum(right(cell, direction)) / 40 for cell in cells.values()]
        shown = f"{sum(accuracies) / 3:.1f} ±{statistics.stdev(accuracies):.1f}"
        marks, level = "", None
        for found, p, z in (("*", 0.10, 1.6448536), ("**", 0.05, 1.9599640), ("***", 0.01, 2.5758293)):
            if sum(accuracies) / 3 > wilson_high(int(sum(right(base, direction))), 40, z):
                marks, level = found, p
        assert row[place] == shown + marks and table.data["emu"]["significance"][direction] == level
        assert table.data["emu"]["accuracy"][direction] == pytest.approx(sum(accuracies) / 3)
        means.append(sum(accuracies) / 3)
    base_mean = statistics.mean(100 * sum(right(base, d)) / 40 for d in table.head[4:15])
    assert row[1].startswith(f"{statistics.mean(means):.1f} ±")
    assert row[2] == f"{statistics.mean(means) - base_mean:+.1f}"
    assert row[15] == "62.8 / 94.9 / 85.4"


def test_a_row_names_the_seeds_that_are_missing() -> None:
    base = drawn_result(TWO, 0, 0.5)
    cells = {("emu", 0): base, ("emu", 1): CellResult(error="it ended with code -9")}
    assert "Emu (1 of 2 seeds)" in [row.cells[0] for row in table_2(found_of(base, cells)).rows]
    whole = table_2(found_of(base, {("emu", 0): base, ("emu", 1): base}))
    assert "Emu" in [row.cells[0] for row in whole.rows]


def test_a_warning_of_training_stands_below_the_table_once() -> None:
    base = drawn_result(TWO, 0, 0.5)
    warned = CellResult(base.values, facts={"warnings": ["the vectors have collapsed"]})
    table = table_2(found_of(base, {("emu", 0): warned, ("emu", 1): warned}))
    assert table.warnings == (Warned("Emu", "the vectors have collapsed"),) and table.verdict == ()
    assert str(table.warnings[0]) == "Emu warned: the vectors have collapsed."
    assert table.data["emu"]["facts"] == [{"warnings": ["the vectors have collapsed"]}] * 2


def test_table_2_names_the_directions_below_the_base() -> None:
    base = result_of({"en-en": "1100", "en-de": "1100", "de-en": "1100", "de-de": "0000"})
    worse = result_of({"en-en": "1110", "en-de": "1000", "de-en": "1010", "de-de": "0000"})
    table = table_2(found_of(base, {("emu", 0): worse}))
    assert row_of(table, "Emu")[1:7] == ("50.0", "+0.0", "en-de", "75.0", "25.0", "50.0")
    assert table.data["emu"]["least_gain"] == -25.0 and table.data["emu"]["below_base"] == ["en-de"]


def test_table_2_has_every_method_and_why_one_was_not_measured() -> None:
    base = drawn_result(TWO, 0, 0.5)
    table = table_2(found_of(base, {("emu-parallel", 0): CellResult(error="the set is not parallel")}))
    assert [row.cells[0] for row in table.rows[:9]] == [
        "MT + use as a monolingual encoder", "use (base encoder)", "Contrastive loss", "N-pair loss", "Softmax loss",
        "Emu", "Emu w/o LD", "Emu w/o LD+CL", "Emu-Parallel",
    ]  # fmt: skip
    assert [row.key for row in table.rows[2:]] == list(benchmarked_methods())
    assert table.rows[8] == Row(("Emu-Parallel",), "emu-parallel", "the set is not parallel")
    assert row_of(table, "Emu-Parallel")[1] == "not measured: the set is not parallel"
    assert "has no machine translations" in table.rows[0].missing


def test_tables_3_and_4_are_relative_to_the_base() -> None:
    base = drawn_result(SIX, 0, 0.5)
    base = CellResult({**base.values, ("correct", "", "en-fr"): np.zeros(40)})
    mixes = [("en",), ("de",), ("fr",), ("en", "de"), ("en", "fr"), ("de", "fr"), ("en", "de", "fr")]
    cells = {
        Cell("emu-without-ld", mix, seed): drawn_result(SIX, 20 + i + seed, 0.7)
        for i, mix in enumerate(mixes)
        for seed in (0, 1)
    }
    found = found_of(base, cells, SIX)
    third, fourth = table_3(found), table_4(found)
    assert [row[0] for row in third.texts] == [" + ".join(mix) for mix in mixes]
    for row, mix in zip(third.texts, mixes, strict=True):
        for value, direction in zip(row[1:], third.head[1:], strict=True):
            b = sum(right(base, direction)) / 40
            pair = [right(cells[Cell("emu-without-ld", mix, seed)], direction) for seed in (0, 1)]
            m = (sum(pair[0]) + sum(pair[1])) / 80
            assert value == ("n/a" if b == 0 else f"{100 * (m - b) / b:+.1f} %")
    assert fourth.head[1:] == SIX and [row[0] for row in fourth.texts] == list(SIX)
    assert fourth.texts[0][1] == third.texts[0][1] and fourth.texts[1][1] == third.texts[0][4]  # en-en, de-en
    assert fourth.texts[0][4] == "n/a"


@pytest.mark.slow
def test_table_5_is_the_difference_of_means_with_a_wilcoxon_test() -> None:
    names = ("emu", "emu-without-ld", "emu-without-ld-cl")
    cells = {
        (name, seed): drawn_result(SIX, 40 + 3 * i + seed, 0.9 - 0.2 * i, 37)
        for i, name in enumerate(names)
        for seed in (0, 1)
    }
    found = found_of(drawn_result(SIX, 0, 0.5, 37), cells, SIX)
    table = table_5(found)
    for row, (with_it, without) in zip(table.rows, (names[:2], names[1:]), strict=True):
        drops = [
            100
            * sum(sum(right(cells[with_it, s], d)) - sum(right(cells[without, s], d)) for s in (0, 1))
            / 74
            for d in found.directions
        ]
        p = stats.wilcoxon(np.round(drops, 9)).pvalue
        assert row.cells[1] == f"{statistics.mean(drops):+.2f}{stars(level_of(p))}" and level_of(p)
        assert row.cells[2] == f"{p:.3f}" and table.data[row.key]["significance"] == level_of(p)
    assert table.rows[1].cells[-1] == "+6.00***"


@pytest.mark.slow
def test_rows_with_the_papers_settings_stand_below_ours() -> None:
    experiment: Any = planned("emu", bench_set(SIX), parts=["2", "5", "peers"], preset="paper")
    cells = {cell: drawn_result(SIX, i, 0.6) for i, cell in enumerate(experiment.cells())}
    assert {cell.system for cell in cells if cell.variant == PAPER} == set(PAPER_ORDER)
    own = Cell("emu", ("en",), 0, PAPER)
    assert experiment.hyperparameters(own) == asdict(configure("emu"))
    assert experiment.hyperparameters(replace(own, variant="")) == asdict(configure("emu", "use"))
    found = Accuracies(experiment, Results(cells, (0,)))
    table = table_2(found)
    row = row_of(table, "Emu, the paper's settings")
    mean = np.mean([100 * right(cells[own], way).mean() for way in found.directions])
    assert row[1] == f"{mean:.1f}" and row[-1] == "62.8 / 94.9 / 85.4" and row != row_of(table, "Emu")
    ablation = table_5(found)
    with_it, without = (cells[replace(own, system=name)] for name in ("emu", "emu-without-ld"))
    drop = np.mean(
        [100 * (right(with_it, way).mean() - right(without, way).mean()) for way in found.directions]
    )
    assert ablation.data["language discriminator.paper"]["drop"] == pytest.approx(drop)
    assert own.label == "emu on en (the paper's settings) seed 0"


def test_the_peers_row_is_the_better_of_its_two_rates() -> None:
    base = drawn_result(TWO, 0, 0.4)
    good, bad = drawn_result(TWO, 1, 0.9), drawn_result(TWO, 2, 0.5)
    costs = {"seconds": 7.0, "cpu_seconds": 5.0, "seconds_whole": 9.0, "peak_mb": 800.0}
    classified = numbers({("classified", "", "en"): [1, 0], ("classified", "", "de"): [1, 1, 1, 0]})
    cells = {
        Cell("emu", ("en",)): CellResult(good.values, **costs),
        Cell("peer.st-cosent", ("en",), 0, "theirs"): bad,
        Cell("peer.st-cosent", ("en",), 0, "ours"): CellResult(good.values, seconds=3.0),
        Cell("peer.lda", ("en",)): CellResult({**bad.values, **classified}),
        Cell("peer.setfit", ("en",), 0, "theirs"): CellResult(error="no setfit"),
    }
    table = peers_table(found_of(base, cells))
    rows = {row[0]: row for row in table.texts}
    chosen = rows["sentence-transformers, CoSENTLoss (learning rate 0.0003, ours)"]
    assert chosen[1] == rows["Emu"][1]
    assert chosen[5] == "3.0" and rows["Emu"][5:10] == ("7.0", "5.0", "9.0", "800", "")
    assert rows["frozen + LDA (shrinkage 0.5)"][9] == "62.5"  # the mean of 50 and 75
    assert rows["SetFit"][1] == "not measured: no setfit"
    assert "fastest peer that trains the encoder is sentence-transformers, CoSENTLoss" in table.verdict[1]
    assert "with 3.0 s" in table.verdict[1] and "Emu trains in 7.0 s" in table.verdict[1]
    assert table.verdict[0].endswith("(+0.0).")
    assert all(len(row) == len(table.head) for row in table.texts)
    assert {row[4] for row in table.texts} == {""}  # without the sentences' numbers there is no interval


def naming(base: CellResult, sentences: list[int], languages: tuple[str, ...] = TWO) -> CellResult:
    """The base's cell with the number of each query's sentence."""
    named = {("sentence", "", code): sentences for code in languages}
    return CellResult({**base.values, **numbers(named)})


def test_peers_are_compared_with_the_best_by_a_bootstrap_over_sentences() -> None:
    base = naming(drawn_result(TWO, 0, 0.4), list(range(40)))
    emu, best, worse = (drawn_result(TWO, seed, share) for seed, share in ((1, 0.9), (2, 0.6), (3, 0.5)))
    cells = {
        Cell("emu", ("en",)): emu,
        Cell("peer.lda", ("en",)): worse,
        Cell("peer.prototypes", ("en",)): best,
    }
    table = peers_table(found_of(base, cells))
    ways = ("en-en", "en-de", "de-en")
    expected = np.mean([100 * (right(emu, way).mean() - right(best, way).mean()) for way in ways])
    against = table.data["emu"]["against_best_peer"]
    assert against["points"] == pytest.approx(expected) and 0 < against["low"] < expected < against["high"]
    text = f"{expected:+.1f} ({against['low']:+.1f} to {against['high']:+.1f})"
    assert row_of(table, "Emu")[4] == text and table.verdict[0].endswith(f"({text}).")
    assert table.data["prototypes"]["against_best_peer"] is None
    assert row_of(table, "frozen + means of the intents")[4] == ""


def test_table_1_counts_the_sentences_of_each_language() -> None:
    frame = bench_set(TWO).frame
    frame = frame[(frame["language"] == "en") | (frame["id"] != "hotel0")]
    experiment: Any = planned("emu", LabelledSet(frame.reset_index(drop=True), "x"))
    base = drawn_result(TWO, 0, 0.4)
    table = table_1(Accuracies(experiment, Results({Cell("base"): base}, (0,))))
    assert table.texts == [("en", "12", "6", "3", "3", "4", "4"), ("de", "11", "6", "3", "3", "3", "4")]
    assert table.data["de"]["train"] == 11
    (printed,) = printed_tables("1")
    assert ("HotelQA", "676", "144", "28") in printed.texts and len(printed.texts) == 3


def test_new_intents_take_the_rate_of_known_ones_and_compare_with_the_best_peer() -> None:
    wide = four_intents(TWO)
    experiment: Any = planned("emu", wide, parts=["new-intents"], halves=2)
    assert experiment.cells()[0] == Cell("base")
    cells = {cell: drawn_result(TWO, i, 0.4) for i, cell in enumerate(experiment.cells())}
    st = Cell("peer.st-softmax", ("en",))
    for half in (None, 0, 1):
        base = Cell("base", half=half)
        cells[base] = naming(cells[base], list(range(40)))
        # On known intents, the second rate is better; on new ones the first, which must not be chosen.
        shares = {"theirs": 0.3 if half is None else 0.95, "ours": 0.8 if half is None else 0.7}
        for i, (rate, share) in enumerate(shares.items()):
            cells[replace(st, variant=rate, half=half)] = drawn_result(TWO, 50 + i, share)
    table = new_intents_table(Accuracies(experiment, Results(cells, (0,))))
    ways = ("en-en", "en-de", "de-en")

    def mean(cell: Cell) -> float:
        halves = [cells[replace(cell, half=half)] for half in (0, 1)]
        return float(np.mean([100 * right(one, way).mean() for one in halves for way in ways]))

    ours = mean(replace(st, variant="ours"))
    row = row_of(table, "sentence-transformers, softmax classifier (learning rate 0.0003, ours)")
    assert row[1] == f"{ours:.1f}" and row[3] == ""  # it is the best peer
    assert row[2].startswith(f"{ours - mean(Cell('base')):+.1f} (")
    emu = row_of(table, "Emu")
    assert emu[1] == f"{mean(Cell('emu', ('en',))):.1f}"
    assert emu[3].startswith(f"{mean(Cell('emu', ('en',))) - ours:+.1f} (")
    known = np.mean([100 * right(cells[Cell("emu", ("en",))], way).mean() for way in ways])
    assert emu[4] == f"{known:.1f}"
    # Scores of other intents are no embedding of new ones, and no peer.
    assert not {"logistic-regression", "lda", "prototypes"} & set(table.data)
    few: Any = planned("emu", parts=["new-intents"])
    base_alone = {cell: drawn_result(TWO, i, 0.4) for i, cell in enumerate(few.cells())}
    missing = new_intents_table(Accuracies(few, Results(base_alone, (0,))))
    assert "four intents or more, and there are 3" in missing.rows[1].missing


def test_the_few_shot_table_is_the_mean_over_draws_with_students_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(few_shot, "FEW_SHOT_LABELS", (2, 3))
    draws = {
        ("head", "", 2): (0.5, 0.6, 0.7),
        ("head", "", 3): (0.8, 0.7, 0.9),
        ("peer.st-multiple-negatives", "theirs", 2): (0.3, 0.2, 0.3),
        ("peer.st-multiple-negatives", "ours", 2): (0.4, 0.6, 0.5),
    }
    cells = {
        Cell(system, ("en",), draw, rate, labels): drawn_result(TWO, 100 * draw + labels, right)
        for (system, rate, labels), shares in draws.items()
        for draw, right in enumerate(shares)
    }
    cells[Cell("peer.setfit", ("en",), 0, "theirs", 2)] = CellResult(error="no setfit")
    table = few_shot_table(found_of(drawn_result(TWO, 0, 0.4), cells))
    assert table.head == ("system", "2 labels", "3 labels")
    rows = {row[0]: row for row in table.texts}

    def expected(system: str, rate: str, labels: int) -> str:
        measured = [cells[Cell(system, ("en",), draw, rate, labels)] for draw in range(3)]
        means = [
            statistics.mean(100 * right(cell, way).mean() for way in ("en-en", "en-de", "de-en"))
            for cell in measured
        ]
        half = stats.t.ppf(0.975, 2) * statistics.stdev(means) / math.sqrt(3)
        return f"{statistics.mean(means):.1f} ±{half:.1f}"

    assert rows["head"][1:] == (expected("head", "", 2), expected("head", "", 3))
    ranking = rows["sentence-transformers, MultipleNegativesRankingLoss"]
    assert ranking[1:] == (expected("peer.st-multiple-negatives", "ours", 2), "")
    assert rows["SetFit"][1] == "not measured: no setfit"
    assert rows["base encoder"][1] == rows["base encoder"][2]

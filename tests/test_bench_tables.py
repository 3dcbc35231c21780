import math
import statistics

import numpy as np
import pytest
from scipy import stats

from emu_core.bench.cells import BASE, TRANSLATION, Cell, Kind, Peer, Rate
from emu_core.bench.data import bench_data
from emu_core.bench.marks import level_mark, mark
from emu_core.bench.paper import paper_mean, paper_numbers
from emu_core.bench.peers_table import peers_table
from emu_core.bench.result import CellResult
from emu_core.bench.results import Results
from emu_core.bench.table2 import paper_table_2, table_2
from emu_core.bench.table5 import table_5
from emu_core.bench.table34 import paper_tables_3_4, table_3, table_4
from tests.bench_set import bench_set, drawn_result, result_of, results_of, setting_of

SIX = ("en", "de", "es", "fr", "ja", "zh")


def wilson_high(right: int, n: int, z: float) -> float:
    """Wilson's upper end, by its formula."""
    p = right / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * (centre + half) / (1 + z * z / n)


@pytest.mark.parametrize(("stars", "z"), [("***", 2.5758293), ("**", 1.9599640), ("*", 1.6448536)])
def test_a_mark_stands_just_above_wilsons_interval(stars: str, z: float) -> None:
    high = wilson_high(80, 144, z)
    assert mark(high + 0.001, 80, 144) == stars
    assert mark(high - 0.001, 80, 144) == {"***": "**", "**": "*", "*": ""}[stars]


def test_a_loss_has_no_mark() -> None:
    assert mark(10.0, 80, 144) == ""


def test_the_marks_of_the_paper_come_out_as_printed() -> None:
    numbers = paper_numbers()
    same = total = 0
    for dataset, rows in numbers["table2"]["datasets"].items():
        n = numbers["queries"][dataset]
        for name, row in rows.items():
            for i, printed in enumerate(row["marks"]):
                base = round(rows["base"]["accuracy"][i] * n / 100)
                found = mark(row["accuracy"][i], base, n)
                if name.startswith("emu"):
                    same, total = same + (found == printed), total + 1
                else:
                    assert printed == ""
    assert (same, total) == (127, 132)


def test_the_papers_accuracies_are_fractions_of_its_test_sets() -> None:
    numbers = paper_numbers()
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
        assert paper_numbers()["table5"]["language discriminator"][dataset]["drop"] == pytest.approx(
            drop, abs=0.06
        )
    # Table 4's English row is Table 3's first line where they overlap, and both follow from Table 2 (a).
    third, fourth = paper_numbers()["table3"], paper_numbers()["table4"]
    hotel = paper_numbers()["table2"]["datasets"]["HotelQA"]
    for i, direction in enumerate(third["directions"]):
        source, target = direction.split("-")
        value = third["relative"]["en"][i]
        assert fourth["relative"][source][fourth["targets"].index(target)] == value
        if "en" in (source, target):
            at = paper_numbers()["table2"]["directions"].index(direction)
            base, method = hotel["base"]["accuracy"][at], hotel["emu-without-ld"]["accuracy"][at]
            assert value == pytest.approx(100 * (method - base) / base, abs=0.3)
    assert all(len(row) == 9 for row in third["relative"].values()) and len(third["relative"]) == 7
    tables = [*paper_table_2(), *paper_tables_3_4()]
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)


def test_table_2_means_over_seeds_and_marks_against_the_base() -> None:
    base = drawn_result(SIX, 0, 0.5)
    cells = {("emu", seed): drawn_result(SIX, 10 + seed, 0.8) for seed in range(3)}
    table = table_2(results_of(base, cells, SIX), encoder="use")
    assert table.head[4:15] == (
        "en-en", "en-de", "en-es", "en-fr", "en-ja", "en-zh", "de-en", "es-en", "fr-en", "ja-en", "zh-en",
    )  # fmt: skip
    row = next(row for row in table.rows if row[0] == "Emu")
    means = []
    for place, direction in enumerate(table.head[4:15], start=4):
        accuracies = [100 * sum(cell.correct[direction]) / 40 for cell in cells.values()]
        shown = f"{sum(accuracies) / 3:.1f} ±{statistics.stdev(accuracies):.1f}"
        right = int(sum(base.correct[direction]))
        stars = ""
        for found, z in (("*", 1.6448536), ("**", 1.9599640), ("***", 2.5758293)):
            if sum(accuracies) / 3 > wilson_high(right, 40, z):
                stars = found
        assert row[place] == shown + stars
        assert table.data["emu"]["accuracy"][direction] == pytest.approx(sum(accuracies) / 3)
        means.append(sum(accuracies) / 3)
    base_mean = statistics.mean(100 * sum(base.correct[d]) / 40 for d in table.head[4:15])
    assert row[1].startswith(f"{statistics.mean(means):.1f} ±")
    assert row[2] == f"{statistics.mean(means) - base_mean:+.1f}"
    assert row[15] == "62.8 / 94.9 / 85.4"


def test_a_row_says_where_a_seed_is_missing() -> None:
    base = drawn_result(("en", "de"), 0, 0.5)
    cells = {("emu", 0): base, ("emu", 1): CellResult(not_measured="it ended with code -9")}
    table = table_2(results_of(base, cells), encoder="use")
    assert "Emu (1 of 2 seeds)" in [row[0] for row in table.rows]
    whole = table_2(results_of(base, {("emu", 0): base, ("emu", 1): base}), encoder="use")
    assert "Emu" in [row[0] for row in whole.rows]


def test_a_warning_of_training_stands_below_the_table_once() -> None:
    base = drawn_result(("en", "de"), 0, 0.5)
    warned = CellResult(correct=base.correct, facts={"warnings": ["the vectors have collapsed"]})
    table = table_2(results_of(base, {("emu", 0): warned, ("emu", 1): warned}), encoder="use")
    assert table.verdict == ("Emu warned: the vectors have collapsed.",)
    assert table.data["emu"]["facts"] == [{"warnings": ["the vectors have collapsed"]}] * 2


def test_table_2_names_the_directions_below_the_base() -> None:
    base = result_of({"en-en": "1100", "en-de": "1100", "de-en": "1100", "de-de": "0000"})
    worse = result_of({"en-en": "1110", "en-de": "1000", "de-en": "1010", "de-de": "0000"})
    table = table_2(results_of(base, {("emu", 0): worse}), encoder="use")
    row = next(row for row in table.rows if row[0] == "Emu")
    assert row[1:7] == ("50.0", "+0.0", "en-de", "75.0", "25.0", "50.0")
    assert table.data["emu"]["least_gain"] == -25.0


def test_table_2_has_every_method_and_says_what_was_not_measured() -> None:
    base = drawn_result(("en", "de"), 0, 0.5)
    failed = CellResult(not_measured="the set is not parallel")
    table = table_2(results_of(base, {("emu-parallel", 0): failed}), encoder="use")
    assert [row[0] for row in table.rows[:9]] == [
        "MT + use as a monolingual encoder", "use (base encoder)", "Contrastive loss", "N-pair loss", "Softmax loss",
        "Emu", "Emu w/o LD", "Emu w/o LD+CL", "Emu-Parallel",
    ]  # fmt: skip
    assert {row[0] for row in table.rows[9:]} == {m.value for m in set(Method) - set(DISENTANGLING)} - {
        "contrastive", "n-pair", "softmax", "emu", "emu-without-ld", "emu-without-ld-cl", "emu-parallel",
    }  # fmt: skip
    by_name = {row[0]: row[1] for row in table.rows}
    assert by_name["Emu-Parallel"] == "not measured: the set is not parallel"
    assert "holds no machine translations" in by_name["MT + use as a monolingual encoder"]
    translated = Results({BASE: base, TRANSLATION: base}, ("en", "de"), ("en",), (0,))
    row = table_2(translated, encoder="use").rows[0]
    assert row[4] == f"{base.accuracy('en-en'):.1f}"


def test_tables_3_and_4_are_relative_to_the_base() -> None:
    base = drawn_result(SIX, 0, 0.5)
    base = CellResult(correct={**base.correct, "en-fr": np.zeros(40, dtype=bool)})
    mixes = [("en",), ("de",), ("fr",), ("en", "de"), ("en", "fr"), ("de", "fr"), ("en", "de", "fr")]
    cells = {
        Cell(Kind.METHOD, "emu-without-ld", mix, seed): drawn_result(SIX, 20 + i + seed, 0.7)
        for i, mix in enumerate(mixes)
        for seed in (0, 1)
    }
    results = Results({BASE: base, **cells}, SIX, ("en",), (0, 1))
    third = table_3(results)
    assert [row[0] for row in third.rows] == [
        "en", "de", "fr", "en + de", "en + fr", "de + fr", "en + de + fr",
    ]  # fmt: skip
    for row, mix in zip(third.rows, mixes, strict=True):
        for value, direction in zip(row[1:], third.head[1:], strict=True):
            b = sum(base.correct[direction]) / 40
            pair = [
                cells[Cell(Kind.METHOD, "emu-without-ld", mix, seed)].correct[direction] for seed in (0, 1)
            ]
            m = (sum(pair[0]) + sum(pair[1])) / 80
            assert value == ("n/a" if b == 0 else f"{100 * (m - b) / b:+.1f} %")
    fourth = table_4(results)
    assert fourth.head[1:] == SIX and [row[0] for row in fourth.rows] == list(SIX)
    assert fourth.rows[0][1] == third.rows[0][1] and fourth.rows[1][1] == third.rows[0][4]  # en-en, de-en
    assert fourth.rows[0][4] == "n/a"


def test_table_5_is_the_difference_of_means_with_a_wilcoxon_test() -> None:
    names = ("emu", "emu-without-ld", "emu-without-ld-cl")
    cells = {
        (name, seed): drawn_result(SIX, 40 + 3 * i + seed, 0.9 - 0.2 * i, 37)
        for i, name in enumerate(names)
        for seed in (0, 1)
    }
    results = results_of(drawn_result(SIX, 0, 0.5, 37), cells, SIX)
    table = table_5(results)
    for row, (with_it, without) in zip(table.rows, (names[:2], names[1:]), strict=True):
        drops = [
            100
            * (sum(cells[with_it, s].correct[d].sum() - cells[without, s].correct[d].sum() for s in (0, 1)))
            / 74
            for d in results.directions
        ]
        p = stats.wilcoxon(np.round(drops, 9)).pvalue
        assert row[1] == f"{statistics.mean(drops):+.2f}{level_mark(p)}" and level_mark(p)
        assert row[2] == f"{p:.3f}"
    assert table.rows[1][-1] == "+6.00***"


def test_the_peers_row_is_the_better_of_its_two_rates() -> None:
    base = drawn_result(("en", "de"), 0, 0.4)
    good, bad = drawn_result(("en", "de"), 1, 0.9), drawn_result(("en", "de"), 2, 0.5)
    costs = {"seconds": 7.0, "cpu_seconds": 5.0, "seconds_whole": 9.0, "peak_mb": 800.0}
    right = {"en": np.array([True, False]), "de": np.array([True, True, True, False])}
    cells = {
        BASE: base,
        Cell(Kind.METHOD, "emu", ("en",)): CellResult(correct=good.correct, **costs),  # type: ignore[arg-type]
        Cell(Kind.PEER, Peer.COSENT, ("en",), 0, Rate.THEIRS): bad,
        Cell(Kind.PEER, Peer.COSENT, ("en",), 0, Rate.OURS): CellResult(correct=good.correct, seconds=3.0),
        Cell(Kind.PEER, Peer.LDA, ("en",)): CellResult(correct=bad.correct, classified=right),
        Cell(Kind.PEER, Peer.SETFIT, ("en",), 0, Rate.THEIRS): CellResult(not_measured="no setfit"),
    }
    setting = setting_of(bench_data(bench_set()))
    table = peers_table(Results(cells, ("en", "de"), ("en",), (0,)), setting)
    rows = {row[0]: row for row in table.rows}
    chosen = rows["sentence-transformers, CoSENTLoss (learning rate 0.0003, ours)"]
    assert chosen[1] == rows["Emu"][1]
    assert chosen[4] == "3.0" and rows["Emu"][4:9] == ("7.0", "5.0", "9.0", "800", "")
    assert rows["frozen + LDA (shrinkage 0.5)"][8] == "62.5"  # the mean of 50 and 75
    assert rows["SetFit"][1] == "not measured: no setfit"
    assert "fastest peer that trains the encoder is sentence-transformers, CoSENTLoss" in table.verdict[1]
    assert "with 3.0 s" in table.verdict[1] and "Emu trains in 7.0 s" in table.verdict[1]
    assert table.verdict[0].endswith("(+0.0).")
    assert all(len(row) == len(table.head) for row in table.rows)

"""The tables of the dual encoder's benchmark."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emu_core.bench.cells import Pair, both_ways, pair_names
from emu_core.bench.dual_encoder.experiment import System
from emu_core.bench.paper import paper_numbers, words
from emu_core.bench.parallel.experiment import MISSING, candidates_of, precision
from emu_core.bench.parallel.ranking import DOT
from emu_core.bench.results import OverSeeds, Results
from emu_core.bench.tables import (
    Line,
    Row,
    Score,
    Table,
    grid,
    mean_score,
    plain_rows,
    present,
    spread,
    why_missing,
)
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.translation_ranking import NS

LABELS, NOTES = words("dual_encoder")["labels"], words("dual_encoder")["notes"]
PAPER_TABLES = {
    "table1": "Table 1",
    "section3.4": "section 3.4",
    "table2": "Table 2",
    "table3": "Table 3",
    "table4": "Table 4",
    "table5": "Table 5",
    "table6": "Table 6",
    "table7": "Table 7",
}
_THREE_PLACES = ("table2", "table3", "table7")


def paper_figure(table: str, row: str, column: str) -> str:
    """Return a figure as the paper prints it, such as "95.1" or "0.803 / 0.763" (dev / test); "" where it has none.

    Args:
        table: such as "table2".
        row: such as "multi-task en-fr".
        column: such as "fr".
    """
    found = paper_numbers("dual_encoder")[table]
    if row not in found["rows"] or column not in found["columns"]:
        return ""
    return _printed(found["rows"][row][found["columns"].index(column)], table)


def paper_table(name: str) -> Table:
    """Return a table as printed."""
    numbers = paper_numbers("dual_encoder")
    table = numbers[name]
    head = ("target language, training" if name == "table6" else "model", *table["columns"])
    rows = [(row, *(_printed(value, name) or "–" for value in own)) for row, own in table["rows"].items()]
    notes = (NOTES["paper_table7"],) if name == "table7" else ()
    title = f"The paper's {PAPER_TABLES[name]}: {table['title']}; {numbers['encoder']}"
    return Table(f"paper_{name.replace('.', '_')}", title, head, plain_rows(rows), notes=notes)


def _printed(value: float | list[float] | None, table: str) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " / ".join(f"{part:.3f}" for part in value)
    return f"{value:.3f}" if table in _THREE_PLACES else f"{value:.1f}"


class DualTables:
    """Makes the tables of finished cells.

    Attributes:
        results: the cells.
        systems: that were trained.
        pairs: language pairs; a model is trained on each.
    """

    def __init__(self, results: Results, systems: Sequence[System], pairs: Sequence[Pair]) -> None:
        """Take the results of cells."""
        self.results, self.systems, self.pairs = results, tuple(systems), tuple(pairs)
        self.names = pair_names(pairs)

    def row(self, system: str, pair: str) -> OverSeeds:
        """Return a system trained on a pair, over its seeds."""
        return self.results.of(system, [pair])

    def ways(self) -> list[tuple[str, str]]:
        """Return pair and direction, both ways of each pair."""
        return [(pair_name(*pair), way) for pair in self.pairs for way in both_ways([pair])]

    def precision(self, system: str) -> list[Score | None]:
        """Return P@1 of each pair and direction."""
        return [precision(self.row(system, pair), DOT, way) for pair, way in self.ways()]

    def paper_name(self, system: System) -> str:
        """Return which of the paper's models a system is beside; "" for none.

        The paper's translation ranking has hard negatives; its multi-task model is beside the system with most tasks.
        """
        if system is System.HARD_NEGATIVES:
            return "translation-ranking"
        return "multi-task" if system is self.systems[-1] else ""

    def _paper(
        self, table: str, system: System, columns: Mapping[str, str], suffix: str = ""
    ) -> dict[str, str]:
        row = self.paper_name(system) + suffix
        figures = {column: paper_figure(table, row, name) for column, name in columns.items()}
        return {column: figure for column, figure in figures.items() if figure}

    def ranking(self) -> Table:
        """Return section 3.4: P@1, P@3 and P@10 both ways."""
        columns = {f"{way} P@{n}": (pair, way, n) for pair, way in self.ways() for n in NS}
        lines = []
        for system in self.systems:
            scores = {
                column: precision(self.row(system, pair), DOT, way, n)
                for column, (pair, way, n) in columns.items()
            }
            paper = self._paper("section3.4", system, {f"{name} P@1": name for name in self.names})
            lines.append(
                Line((LABELS[system],), system, present(scores), paper, reasons=self._reasons(system))
            )
        counts = ", ".join(f"{count:,} ({way})" for way, count in candidates_of(self.results).items())
        return grid(
            "ranking",
            "Section 3.4: translation ranking",
            ("model",),
            list(columns),
            lines,
            verdict=self._ranking_verdict(),
            notes=(NOTES["ranking"].format(counts=counts),),
        )

    def _reasons(self, system: System) -> tuple[str, ...]:
        every = [why_missing([LABELS[system]], self.row(system, name)) for name in self.names]
        return next((reasons for reasons in every if reasons), ())

    def _ranking_verdict(self) -> tuple[str, ...]:
        means = {system: mean_score(self.precision(system)) for system in System}
        plain, base = means[System.SUM_OF_WORDS], means[System.TRANSLATION]
        sentences, count = [], len(self.ways())
        for system in self.systems[1:]:
            if plain is not None and (own := means[system]) is not None:
                sentences.append(
                    f"{LABELS[system]}: P@1 {own:.1f}, mean of {count} directions, {own - plain:+.1f} points against "
                    "the sum of words."
                )
        for system in self.systems[3:]:
            if base is not None and (own := means[system]) is not None:
                sentences.append(
                    f"{LABELS[system]} against translation ranking alone: {own - base:+.1f} points of P@1."
                )
        return tuple(sentences)

    def sts(self) -> Table:
        """Return Tables 2 and 3: Pearson's r of the angle, in each language and across."""
        measured = self.results.each(lambda cell: cell.wheres("sts"))
        columns = sorted(measured, key=lambda name: "-" in name)
        lines = []
        for system in self.systems:
            for name in self.names:
                row, labels = self.row(system, name), (LABELS[system], name)
                values = {column: row.numbers("sts", "pearson", column) for column in columns}
                scores = {column: Score.of_numbers([100 * r for r in own]) for column, own in values.items()}
                texts = {column: spread(np.array(own), 3) for column, own in values.items() if own}
                paper = self._paper("table2", system, {column: column for column in columns}, f" {name}")
                reasons = why_missing(labels, row)
                lines.append(Line(labels, f"{system} {name}", present(scores), paper, texts, reasons))
        return grid(
            "sts",
            "Tables 2 and 3: STS, Pearson's r",
            ("model", "trained on"),
            columns,
            lines,
            verdict=self._sts_verdict(),
            notes=(NOTES["sts"],),
        )

    def _sts_verdict(self) -> tuple[str, ...]:
        sentences = []
        for system in self.systems[1:]:
            gains = []
            for pair in self.names:
                own, plain = (self.row(one, pair) for one in (system, System.SUM_OF_WORDS))
                for where in dict.fromkeys(where for cell in own.cells for where in cell.wheres("sts")):
                    values, base = (row.numbers("sts", "pearson", where) for row in (own, plain))
                    if values and base:
                        gains.append((float(np.mean(values) - np.mean(base)), f"{where} ({pair})"))
            if gains:
                least, where = min(gains)
                mean = sum(gain for gain, _ in gains) / len(gains)
                sentences.append(
                    f"{LABELS[system]} against the sum of words: {mean:+.3f} of Pearson's r on average, at least "
                    f"{least:+.3f} in {where}."
                )
        return tuple(sentences)

    def zero_shot(self) -> Table:
        """Return Table 5: a classifier trained in one language, tested in both."""
        ways = self.results.each(lambda cell: cell.wheres("zero_shot"))
        lines = []
        for system in self.systems:
            rows = [self.row(system, name) for name in self.names]
            scores = {
                # English on English is measured in every pair's model: the first pair's stands for all.
                way: Score.of_numbers(
                    next((own for row in rows if (own := row.numbers("zero_shot", "", way))), [])
                )
                for way in ways
            }
            lines.append(Line((LABELS[system],), system, present(scores), reasons=self._reasons(system)))
        title = "Table 5: zero-shot classification"
        return grid("zero_shot", title, ("model",), ways, lines, notes=(NOTES["zero_shot"],))

    def few_shot(self) -> Table:
        """Return Table 6: more and more of the target language's labels, with the source language's and without."""
        parts = self.results.each(lambda cell: [part for part, _ in cell.keys("few_shot")])
        shares = {f"{part} %": part for part in sorted(parts, key=float)}
        lines = []
        for pair, name in zip(self.pairs, self.names, strict=True):
            source, target = pair
            for system in self.systems:
                row = self.row(system, name)
                for kind, learnt in (
                    ("few_shot", f"100 % {source} + X % {target}"),
                    ("monolingual", f"X % {target}"),
                ):
                    scores = present(
                        {
                            column: Score.of_numbers(row.numbers(kind, part, name))
                            for column, part in shares.items()
                        }
                    )
                    if scores:
                        labels = (LABELS[system], target, learnt)
                        lines.append(Line(labels, f"{system} {target} {kind}", scores))
        return grid(
            "few_shot",
            "Table 6: few-shot classification, accuracy in %",
            ("model", "tested in", "trained on"),
            list(shares),
            lines,
            notes=(NOTES["few_shot"],),
        )

    def eigen(self) -> Table:
        """Return Table 7: eigen-similarity and its variance."""
        printed = [name for name in self.names if paper_figure("table7", "multi-task", name)]
        rows, data = [], dict[str, Any]()
        for system in self.systems:
            texts = []
            data[system] = {}
            for name in self.names:
                row = self.row(system, name)
                means = np.array(row.numbers("eigen", "mean", name))
                if not len(means):
                    texts += [MISSING, MISSING]
                    continue
                own = {
                    field: float(np.mean(row.numbers("eigen", field, name)))
                    for field in ("mean", "variance", "standard_error")
                }
                own["deviation"] = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
                data[system][name] = own
                texts += [spread(means, 3), f"{own['variance']:.3f}"]
            paper = [paper_figure("table7", self.paper_name(system), name) for name in printed]
            rows.append(Row((LABELS[system], *texts, *paper), system))
        head = ("model", *(part for name in self.names for part in (name, f"{name} variance")))
        return Table(
            "eigen",
            "Table 7: eigen-similarity",
            (*head, *(f"paper: {name}" for name in printed)),
            tuple(rows),
            self._eigen_verdict(data),
            notes=(NOTES["eigen"],),
            data=data,
        )

    def _eigen_verdict(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        last = self.systems[-1]
        if last in (System.TRANSLATION, System.HARD_NEGATIVES):
            return (
                "No running text, dialogues or NLI was given, so that there is no multi-task model to compare with "
                "translation ranking.",
            )
        base, own = data.get(System.TRANSLATION, {}), data.get(last, {})
        parts = [
            f"{name} {own[name]['mean']:.3f} against {base[name]['mean']:.3f} "
            f"(standard errors {own[name]['standard_error']:.3f} and {base[name]['standard_error']:.3f})"
            for name in own
            if name in base
        ]
        return (f"{LABELS[last]} against translation ranking alone: {'; '.join(parts)}.",) if parts else ()

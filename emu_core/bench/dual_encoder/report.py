"""The report on the dual encoder: its tables, its picture, and what differs from the paper."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from emu_core.bench.dual_encoder.experiment import CLASSIFIER, DualEncoderSystem, DualExperiment
from emu_core.bench.paper import GridLine, differences, grid, paper_figure, paper_table, paper_words
from emu_core.bench.parallel.experiment import candidates_of, parallel_costs, precision, speed_table
from emu_core.bench.pictures import Picture, bars_picture
from emu_core.bench.report import BenchReport
from emu_core.bench.results import OverSeeds, Results, Score, directions, mean_score, pair_names
from emu_core.bench.tables import RowData, Table, why_missing
from emu_core.data.language_pairs import LanguagePair
from emu_core.data.wording import counted
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.translation_ranking import DOT, NS

_WORDS = paper_words("dual_encoder")
LABELS, NOTES = _WORDS["labels"], _WORDS["notes"]
PAPER_TABLES = ("table1", "section3.4", "table2", "table3", "table4", "table5", "table6", "table7")
_EIGEN = ("variance", "standard_error")
_PAIR_HEADS = ("model", "trained on")
_printed = partial(paper_figure, "dual_encoder")


def report_of(experiment: DualExperiment, results: Results) -> BenchReport:
    """Return the report of finished cells."""
    systems, pairs = experiment.systems, experiment.pairs
    make = DualTables(results, systems, pairs)
    tables = [make.ranking()]
    if experiment.data.sts:
        tables.append(make.sts())
    if results.wheres("nli"):
        tables.append(make.nli())
    if results.wheres("zero_shot"):
        tables += [make.zero_shot(), make.few_shot()]
    tables += [
        make.eigen(),
        speed_table(results, systems, experiment.plain, LABELS, make.names[0]),
        parallel_costs(results, systems, LABELS),
    ]
    return BenchReport(
        title=f"The dual encoder's experiments on {experiment.config.data}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=tuple(tables),
        pictures=_pictures(make),
        paper=tuple(map(printed_dual_encoder_table, PAPER_TABLES)),
    )


def printed_dual_encoder_table(name: str) -> Table:
    """Return a table as printed."""
    head = "target language, training" if name == "table6" else "model"
    return paper_table("dual_encoder", name, (head,))


class DualTables:
    """The tables of a report: of systems each trained on each of some language pairs."""

    def __init__(
        self, results: Results, systems: Sequence[DualEncoderSystem], pairs: Sequence[LanguagePair]
    ) -> None:
        self.results, self.systems, self.pairs = results, tuple(systems), tuple(pairs)
        self.names = pair_names(pairs)
        # Pair and direction, both ways of each pair.
        self.ways = [(pair_name(*pair), way) for pair in pairs for way in directions([pair])]

    def row(self, system: str, pair: str) -> OverSeeds:
        """Return a system trained on a pair, over its seeds."""
        return self.results.of(system, [pair])

    def precision(self, system: str) -> list[Score | None]:
        """Return P@1 of each pair and direction."""
        return [precision(self.row(system, pair), DOT, way) for pair, way in self.ways]

    def paper_name(self, system: DualEncoderSystem) -> str:
        """Return the paper's model that corresponds to a system; "" if there is none.

        The paper's translation ranking has hard negatives; its multi-task model corresponds to the system with the
        most tasks.
        """
        if system is DualEncoderSystem.HARD_NEGATIVES:
            return "translation-ranking"
        most = [candidate for candidate in self.systems if candidate is not DualEncoderSystem.PAPER][-1]
        return "multi-task" if system in (most, DualEncoderSystem.PAPER) else ""

    def _lines(
        self, columns: Iterable[str], score: Callable[[DualEncoderSystem, str], Score | None]
    ) -> list[GridLine]:
        """Return a line for each system, with the first reason why one of its pairs is missing."""
        lines = []
        for system in self.systems:
            label, scores = LABELS[system], {column: score(system, column) for column in columns}
            reasons = why_missing([label], *(self.row(system, name) for name in self.names))
            lines.append(GridLine((label,), system, scores, self.paper_name(system), reasons))
        return lines

    def _pair_lines(
        self, columns: Sequence[str], score: Callable[[OverSeeds, str], Score | None]
    ) -> list[GridLine]:
        """Return a line for each system and pair."""
        lines = []
        for system in self.systems:
            for name in self.names:
                row, labels = self.row(system, name), (LABELS[system], name)
                scores = {column: score(row, column) for column in columns}
                paper = f"{self.paper_name(system)} {name}"
                lines.append(GridLine(labels, f"{system} {name}", scores, paper, why_missing(labels, row)))
        return lines

    def ranking(self) -> Table:
        """Return section 3.4: P@1, P@3 and P@10 both ways."""
        columns = {f"{way} P@{n}": (pair, way, n) for pair, way in self.ways for n in NS}

        def score(system: DualEncoderSystem, column: str) -> Score | None:
            pair, way, n = columns[column]
            return precision(self.row(system, pair), DOT, way, n)

        counts = ", ".join(f"{count:,} ({way})" for way, count in candidates_of(self.results).items())
        return grid(
            "dual_encoder",
            "ranking",
            ("model",),
            list(columns),
            self._lines(columns, score),
            printed=lambda row, column: _printed("section3.4", row, column.removesuffix(" P@1")),
            verdict=self._ranking_verdict(),
            notes=[NOTES["ranking"].format(counts=counts)],
        )

    def _ranking_verdict(self) -> tuple[str, ...]:
        means = {system: mean_score(self.precision(system)) for system in self.systems}
        plain, base = means.get(DualEncoderSystem.SUM_OF_WORDS), means.get(DualEncoderSystem.TRANSLATION)
        against_plain = (
            f"{LABELS[system]}: P@1 {system_mean:.1f}, mean of {len(self.ways)} directions, "
            f"{system_mean - plain:+.1f} points against the sum of words."
            for system in self.systems[1:]
            if plain is not None and (system_mean := means[system]) is not None
        )
        against_base = (
            f"{LABELS[system]} against translation ranking alone: {system_mean - base:+.1f} points of P@1."
            for system in self.systems[3:]
            if base is not None and (system_mean := means[system]) is not None
        )
        return (*against_plain, *against_base)

    def sts(self) -> Table:
        """Return Tables 2 and 3: Pearson's r of the angle, in each language and across."""
        columns = sorted(self.results.wheres("sts"), key=lambda name: "-" in name)
        lines = self._pair_lines(
            columns, lambda row, column: row.score("sts", "pearson", column, times=100, places=3)
        )
        verdict = self._sts_verdict({line.key: line.measured for line in lines})
        printed = partial(_printed, "table2")
        return grid("dual_encoder", "sts", _PAIR_HEADS, columns, lines, printed=printed, verdict=verdict)

    def nli(self) -> Table:
        """Return Table 4: accuracy of the NLI head trained with the encoder, in each language."""
        languages = self.results.wheres("nli")
        lines = self._pair_lines(languages, lambda row, code: Score.of(row.values("nli", "", code)))
        measured = [line for line in lines if line.measured]

        def printed(row: str, code: str) -> str:
            return _printed("table4", row, f"XNLI {code}")

        return grid("dual_encoder", "nli", _PAIR_HEADS, languages, measured, printed=printed)

    def _sts_verdict(self, scores: Mapping[str, Mapping[str, Score]]) -> tuple[str, ...]:
        sentences = []
        for system in self.systems[1:]:
            gains = [
                ((correlation.mean - plain[where].mean) / 100, f"{where} ({name})")
                for name in self.names
                for plain in [scores[f"{DualEncoderSystem.SUM_OF_WORDS} {name}"]]
                for where, correlation in scores[f"{system} {name}"].items()
                if where in plain
            ]
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
        ways = self.results.wheres("zero_shot")

        def score(system: DualEncoderSystem, way: str) -> Score | None:
            # English on English is measured with the model of every pair; the first pair's is shown.
            scores = (self.row(system, name).score("zero_shot", "", way) for name in self.names)
            return next(filter(None, scores), None)

        return grid("dual_encoder", "zero_shot", ("model",), ways, self._lines(ways, score))

    def few_shot(self) -> Table:
        """Return Table 6: growing shares of the target language's labels, with the source language's and without."""
        parts = self.results.of_measure("few_shot")["part"].unique()
        shares = {f"{part} %": part for part in sorted(parts, key=float)}
        lines = []
        for (source, target), name in zip(self.pairs, self.names, strict=True):
            kinds = {"few_shot": f"100 % {source} + X % {target}", "monolingual": f"X % {target}"}
            for system in self.systems:
                row = self.row(system, name)
                for kind, labels in kinds.items():
                    scores = {column: row.score(kind, part, name) for column, part in shares.items()}
                    lines.append(
                        GridLine((LABELS[system], target, labels), f"{system} {target} {kind}", scores)
                    )
        heads, measured = ("model", "tested in", "trained on"), [line for line in lines if line.measured]
        return grid("dual_encoder", "few_shot", heads, list(shares), measured)

    def eigen(self) -> Table:
        """Return Table 7: eigen-similarity and its variance."""
        scores, data = dict[DualEncoderSystem, dict[str, Score | None]](), dict[str, dict[str, RowData]]()
        for system in self.systems:
            scores[system], data[system] = {}, {}
            for name in self.names:
                row = self.row(system, name)
                means = row.score("eigen", "mean", name, places=3)
                if means is None:
                    continue
                others = {field: float(np.mean(row.numbers("eigen", field, name))) for field in _EIGEN}
                data[system][name] = {"mean": means.mean, **others, "deviation": means.deviation}
                variance = Score.of_numbers([others["variance"]], places=3)
                scores[system] |= {name: means, f"{name} variance": variance}
        columns = [part for name in self.names for part in (name, f"{name} variance")]
        lines = self._lines(columns, lambda system, column: scores[system].get(column))
        printed, verdict = partial(_printed, "table7"), self._eigen_verdict(data)
        table = grid("dual_encoder", "eigen", ("model",), columns, lines, printed=printed, verdict=verdict)
        return replace(table, data=data)

    def _eigen_verdict(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        last = self.systems[-1]
        if last in (DualEncoderSystem.TRANSLATION, DualEncoderSystem.HARD_NEGATIVES):
            return (
                "No running text, dialogues or NLI was given, so that there is no multi-task model to compare with "
                "translation ranking.",
            )
        base, last_values = data.get(DualEncoderSystem.TRANSLATION, {}), data.get(last, {})
        parts = [
            f"{name} {last_values[name]['mean']:.3f} against {base[name]['mean']:.3f} "
            f"(standard errors {last_values[name]['standard_error']:.3f} and {base[name]['standard_error']:.3f})"
            for name in last_values
            if name in base
        ]
        return (f"{LABELS[last]} against translation ranking alone: {'; '.join(parts)}.",) if parts else ()


def _pictures(make: DualTables) -> tuple[Picture, ...]:
    precisions = {LABELS[system]: make.precision(system) for system in make.systems}
    whole = {
        name: [(score.mean, score.deviation) for score in scores if score]
        for name, scores in precisions.items()
        if all(scores)
    }
    plain, title = (
        LABELS[DualEncoderSystem.SUM_OF_WORDS],
        "Translation ranking, P@1: means over the directions",
    )
    label = "P@1, % (the line is the sum of words)"
    return (bars_picture("ranking", title, NOTES["bars"], whole, plain, label),) if plain in whole else ()


def _facts(experiment: DualExperiment) -> dict[str, object]:
    texts, tasks = experiment.data, experiment.data.tasks
    others = {
        "running_text": {
            text.language: f"{sum(map(len, text.documents)):,} sentences" for text in tasks.running_text
        },
        "dialogues": {talk.language: f"{len(talk.comments):,}" for talk in tasks.dialogues},
        "nli": {nli.language: f"{len(nli.premises):,}" for nli in tasks.nli},
        "nli_measured": {nli.language: f"{len(nli.premises):,}" for nli in texts.test_nli},
        "sts_pairs": {code: f"{len(pairs.scores):,}" for code, pairs in texts.sts.items()},
        "sentences_to_train_the_classifier": experiment.documents_facts(0),
        "sentences_to_test_it": experiment.documents_facts(1),
        "classifier": asdict(CLASSIFIER) if texts.documents else {},
    }
    config = asdict(experiment.recipe(DualEncoderSystem.TRANSLATION).config)
    return {
        **experiment.shared_facts(),
        **{name: fact for name, fact in others.items() if fact},
        "settings": {name: str(value) for name, value in config.items()},
        "protocol": "a model a language pair; among equals (within 1e-6) the sentence that comes first",
    }


def _differences(experiment: DualExperiment) -> tuple[str, ...]:
    texts = experiment.data
    config: Any = experiment.recipe(DualEncoderSystem.TRANSLATION).config
    given = {
        "running text": texts.tasks.running_text,
        "dialogues": texts.tasks.dialogues,
        "inference pairs (NLI)": texts.tasks.nli,
    }
    missing = ", ".join(name for name, is_given in given.items() if not is_given)
    values = {
        "sizes": experiment.sizes,
        "layers": counted(config.layers, "layer"),
        "dim": config.dim,
        "epochs": config.epochs,
        "missing": missing,
    }
    applies = {
        "missing": missing,
        "no_nli": not texts.test_nli,
        "sts": texts.sts,
        "documents": texts.documents,
        "quick": experiment.settings.quick,
    }
    return differences(experiment.config, values, applies)

"""The report on the dual encoder: its tables, its picture, and what differs from the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from emu_core.bench.dual_encoder.experiment import CLASSIFIER, DualEncoderSystem, DualExperiment
from emu_core.bench.paper import differences, paper_words
from emu_core.bench.parallel.experiment import candidates_of, parallel_costs, speed_table
from emu_core.bench.pictures import Picture, bars_picture
from emu_core.bench.report import BenchReport
from emu_core.bench.results import Results, directions, mean_score, pair_names
from emu_core.bench.specs import Column, Figures, Line, TableSpec, paper_table
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
_spec = partial(TableSpec, "dual_encoder")


def report_of(experiment: DualExperiment, results: Results) -> BenchReport:
    """Return the report of finished cells."""
    systems = experiment.systems
    make = DualTables(results, systems, experiment.pairs)
    tables = [ranking := make.ranking()]
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
        pictures=_pictures(make, ranking),
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

    def paper_name(self, system: DualEncoderSystem) -> str:
        """Return the paper's model that corresponds to a system; "" if there is none.

        The paper's translation ranking has hard negatives; its multi-task model corresponds to the system with the
        most tasks.
        """
        if system is DualEncoderSystem.HARD_NEGATIVES:
            return "translation-ranking"
        most = [candidate for candidate in self.systems if candidate is not DualEncoderSystem.PAPER][-1]
        return "multi-task" if system in (most, DualEncoderSystem.PAPER) else ""

    def _line(self, system: DualEncoderSystem, **others: Any) -> Line:
        """Return the line of a system, with the first reason why one of its pairs is missing."""
        labels, at, paper = (LABELS[system],), {"system": system}, self.paper_name(system)
        reasons = why_missing(labels, *(self.results.of(system, (name,)) for name in self.names))
        return Line(labels, system, at, paper=paper, reasons=reasons, **others)

    def _pair_lines(self) -> list[Line]:
        """Return a line for each system and pair."""
        return [
            Line(
                labels := (LABELS[system], name),
                f"{system} {name}",
                {"system": system, "on": (name,)},
                paper=f"{self.paper_name(system)} {name}",
                reasons=why_missing(labels, self.results.of(system, (name,))),
            )
            for system in self.systems
            for name in self.names
        ]

    def ranking(self) -> Table:
        """Return section 3.4: P@1, P@3 and P@10 both ways."""
        columns = [
            Column(
                f"{way} P@{n}",
                at={"measure": "rank", "part": DOT, "on": (pair,), "where": way, "n": n},
                paper=way if n == 1 else "",
            )
            for pair, way in self.ways
            for n in NS
        ]
        counts = ", ".join(f"{count:,} ({way})" for way, count in candidates_of(self.results).items())
        return _spec("ranking", ("model",), columns, printed="section3.4").table(
            [self._line(system) for system in self.systems],
            self.results,
            verdict=self._ranking_verdict,
            counts=counts,
        )

    def _ranking_verdict(self, figures: Mapping[str, Figures]) -> tuple[str, ...]:
        means = {
            system: mean_score([figures[system].get(f"{way} P@1") for _, way in self.ways])
            for system in self.systems
        }
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
        wheres = sorted(self.results.wheres("sts"), key=lambda name: "-" in name)
        columns = [Column(name, at={"measure": "sts", "part": "pearson", "where": name}) for name in wheres]
        spec = _spec("sts", _PAIR_HEADS, columns, printed="table2")
        return spec.table(self._pair_lines(), self.results, verdict=self._sts_verdict)

    def nli(self) -> Table:
        """Return Table 4: accuracy of the NLI head trained with the encoder, in each language."""
        columns = [
            Column(code, at={"measure": "nli", "where": code}, paper=f"XNLI {code}")
            for code in self.results.wheres("nli")
        ]
        spec = _spec("nli", _PAIR_HEADS, columns, printed="table4", measured_only=True)
        return spec.table(self._pair_lines(), self.results)

    def _sts_verdict(self, figures: Mapping[str, Figures]) -> tuple[str, ...]:
        sentences = []
        for system in self.systems[1:]:
            gains = [
                ((correlation.mean - plain[where].mean) / 100, f"{where} ({name})")
                for name in self.names
                for plain in [figures[f"{DualEncoderSystem.SUM_OF_WORDS} {name}"]]
                for where, correlation in figures[f"{system} {name}"].items()
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
        ways, lines = self.results.wheres("zero_shot"), []
        for system in self.systems:
            # English on English is measured with the model of every pair; the first pair's is shown.
            rows = [self.results.of(system, (name,)) for name in self.names]
            scores = {way: [row.score("zero_shot", "", way) for row in rows] for way in ways}
            first = {way: next(filter(None, of_pairs), None) for way, of_pairs in scores.items()}
            lines.append(self._line(system, figures={way: score for way, score in first.items() if score}))
        return _spec("zero_shot", ("model",), list(map(Column, ways))).table(lines)

    def few_shot(self) -> Table:
        """Return Table 6: growing shares of the target language's labels, with the source language's and without."""
        parts = sorted(self.results.of_measure("few_shot")["part"].unique(), key=float)
        lines = []
        for (source, target), name in zip(self.pairs, self.names, strict=True):
            kinds = {"few_shot": f"100 % {source} + X % {target}", "monolingual": f"X % {target}"}
            for system in self.systems:
                for kind, labels in kinds.items():
                    at = {"system": system, "on": (name,), "measure": kind, "where": name}
                    lines.append(Line((LABELS[system], target, labels), f"{system} {target} {kind}", at))
        heads, columns = (
            ("model", "tested in", "trained on"),
            [Column(f"{part} %", at={"part": part}) for part in parts],
        )
        return _spec("few_shot", heads, columns, measured_only=True).table(lines, self.results)

    def eigen(self) -> Table:
        """Return Table 7: eigen-similarity and its variance."""
        lines = []
        for system in self.systems:
            figures, shown = dict[str, RowData](), dict[str, str]()
            for name in self.names:
                row = self.results.of(system, (name,))
                if mean := row.score("eigen", "mean", name):
                    others = {field: float(np.mean(row.numbers("eigen", field, name))) for field in _EIGEN}
                    figures[name] = {"mean": mean.mean, **others, "deviation": mean.deviation}
                    shown |= {name: mean.text, f"{name} variance": f"{others['variance']:.3f}"}
            lines.append(self._line(system, figures=figures, shown=shown))
        columns = [Column(name + kind) for name in self.names for kind in ("", " variance")]
        return _spec("eigen", ("model",), columns, printed="table7").table(lines, verdict=self._eigen_verdict)

    def _eigen_verdict(self, figures: Mapping[str, Figures]) -> tuple[str, ...]:
        last = self.systems[-1]
        if last in (DualEncoderSystem.TRANSLATION, DualEncoderSystem.HARD_NEGATIVES):
            return (
                "No running text, dialogues or NLI was given, so that there is no multi-task model to compare with "
                "translation ranking.",
            )
        base, last_values = figures.get(DualEncoderSystem.TRANSLATION, {}), figures.get(last, {})
        parts = [
            f"{name} {last_values[name]['mean']:.3f} against {base[name]['mean']:.3f} "
            f"(standard errors {last_values[name]['standard_error']:.3f} and {base[name]['standard_error']:.3f})"
            for name in last_values
            if name in base
        ]
        return (f"{LABELS[last]} against translation ranking alone: {'; '.join(parts)}.",) if parts else ()


def _pictures(make: DualTables, ranking: Table) -> tuple[Picture, ...]:
    names, plain = [f"{way} P@1" for _, way in make.ways], LABELS[DualEncoderSystem.SUM_OF_WORDS]
    scores = {
        LABELS[system]: [(figures[name]["mean"], figures[name]["deviation"]) for name in names]
        for system in make.systems
        if all(name in (figures := ranking.data[system]) for name in names)
    }
    title = "Translation ranking, P@1: means over the directions"
    label = "P@1, % (the line is the sum of words)"
    return (bars_picture("ranking", title, NOTES["bars"], scores, plain, label),) if plain in scores else ()


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

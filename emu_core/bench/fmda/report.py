"""The report on FMDA: Tables 2 to 6 and 9, the language probes, Figure 4, and what differs from the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from emu_core.bench.fmda.experiment import ABLATION, NEW, PAPERS_OWN, FmdaExperiment, FmdaSystem
from emu_core.bench.paper import differences, paper_numbers, paper_words
from emu_core.bench.papers import FmdaPart
from emu_core.bench.pictures import GroupMaps, Picture, bars_picture
from emu_core.bench.report import BenchReport
from emu_core.bench.results import CellValues, OverSeeds, Results, Score, directions, pair_names
from emu_core.bench.specs import (
    Address,
    Column,
    Figures,
    Line,
    TableSpec,
    costs_table,
    paper_table,
    scores_at,
)
from emu_core.bench.tables import NOT_MEASURED, Table
from emu_core.data.language_pairs import LanguagePair
from emu_core.encoders.registry import encoder_kind
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.changes import language_change
from emu_core.methods.fmda.parts import Part

_WORDS = paper_words("fmda")
LABELS, NOTES = _WORDS["labels"], _WORDS["notes"]
_HEADS = ("model", "embedding")
_spec = partial(TableSpec, "fmda", missing=NOT_MEASURED)
_PART_LABELS = {Part.CLS: "[CLS]", Part.MEAN: "mean pooling"}
_SENSE = (Part.MEANING, Part.TEMPLATE, Part.RESIDUAL)


class _SystemPart(NamedTuple):
    """An embedding of a system."""

    system: FmdaSystem
    part: Part

    @property
    def key(self) -> str:
        """Its name in JSON and in the paper's file."""
        return f"{self.system} {self.part}"

    @property
    def labels(self) -> tuple[str, str]:
        """The names of system and embedding in a table."""
        return LABELS[self.system], _PART_LABELS.get(self.part, self.part.value)

    @property
    def at(self) -> Address:
        """Where its figures are; those of the frozen encoder are of no pair and of one seed."""
        frozen = {"on": (), "seeds": (0,)} if self.system is FmdaSystem.BASE else {}
        return {"system": self.system, "part": self.part, **frozen}


_CLS, _MEAN = _SystemPart(FmdaSystem.BASE, Part.CLS), _SystemPart(FmdaSystem.BASE, Part.MEAN)
_BASELINE = _SystemPart(FmdaSystem.BASELINE, Part.MEANING)
_FMDA = tuple(_SystemPart(FmdaSystem.FMDA, part) for part in _SENSE)
_TWO_STAGE = tuple(_SystemPart(FmdaSystem.TWO_STAGE, part) for part in _SENSE)
_MAIN_ROWS = (_CLS, _MEAN, _BASELINE, *_FMDA)
_LANGUAGE = _SystemPart(FmdaSystem.FMDA, Part.LANGUAGE)
_PROBED = (_CLS, _MEAN, _SystemPart(FmdaSystem.BASELINE, Part.LANGUAGE), _BASELINE, _LANGUAGE, *_FMDA)
_PROBES = {"probe": "probe", "neighbours": "neighbours in own language"}


@dataclass(frozen=True)
class _Spec:
    """A table of embeddings."""

    measures: tuple[str, ...]  # what its columns measure
    rows: tuple[_SystemPart, ...] = _MAIN_ROWS  # its rows
    notes: tuple[str, ...] = ("templates",)
    pairs: int | None = None  # the number of language pairs; None for all


_ABLATED = tuple(_SystemPart(system, Part.MEANING) for system in (FmdaSystem.FMDA, *ABLATION))
_TABLES = {
    FmdaPart.TABLE_2: _Spec(("translation",), notes=()),
    FmdaPart.TABLE_3: _Spec(("template",)),
    FmdaPart.TABLE_4: _Spec(("translation",), (_CLS, _BASELINE, *_ABLATED), ("ablation",), pairs=1),
    FmdaPart.TABLE_5: _Spec(("translation", "template"), (*_FMDA, *_TWO_STAGE)),
    FmdaPart.TABLE_6: _Spec(("precision",)),
    FmdaPart.PROBES: _Spec(("probe",), _PROBED, ("probes",)),
}
_COMPARED = (FmdaPart.TABLE_2, FmdaPart.TABLE_3, FmdaPart.TABLE_6)  # tables of systems trained on each pair
_PANELS = {
    "a": (FmdaSystem.FMDA, "(a) language embeddings"),
    "b": (FmdaSystem.FMDA, "(b) meaning embeddings"),
    "c": (FmdaSystem.TWO_STAGE, "(c) template embeddings, two stages"),
}


def report_of(experiment: FmdaExperiment, results: Results) -> BenchReport:
    """Return the report of finished cells."""
    wanted, make = set(experiment.settings.parts), FmdaTables(results, experiment.pairs)
    if len(experiment.pairs) < 2:
        wanted.discard(FmdaPart.TABLE_9)  # it needs several pairs in one model
    tables = {part: make.table(part) for part in FmdaPart if part in wanted - {FmdaPart.FIGURE_4}}
    new = [make.table(part, new=True) for part in (FmdaPart.TABLE_2, FmdaPart.TABLE_3) if part in tables]
    pictures = [_bars(tables[part]) for part in (FmdaPart.TABLE_2, FmdaPart.TABLE_3) if part in tables]
    if FmdaPart.FIGURE_4 in wanted:
        pictures += _figure_4(experiment, make)
    return BenchReport(
        title=f"FMDA's experiments on {experiment.config.data} with {experiment.config.encoder}",
        facts=_facts(experiment),
        differences=_differences(experiment),
        tables=(*tables.values(), *(table for table in new if any(table.data.values())), make.costs()),
        pictures=tuple(pictures),
        paper=tuple(printed_fmda_table(part) for part in tables if f"table{part}" in paper_numbers("fmda")),
    )


def printed_fmda_table(number: str) -> Table:
    """Return a table of the paper as printed, but in percent."""
    if number == FmdaPart.TABLE_9:
        return paper_table("fmda", "table9", ("task",))

    def labels(key: str) -> tuple[str, str]:
        system, part = key.split(" ")
        label, embedding = _SystemPart(FmdaSystem(system), Part(part)).labels
        return "XLM-R" if system == FmdaSystem.BASE else label, embedding

    return paper_table("fmda", f"table{number}", _HEADS, labels)


class FmdaTables:
    """The tables of a report."""

    def __init__(self, results: Results, pairs: Sequence[LanguagePair]) -> None:
        self.results, self.pairs = results, tuple(pairs)
        self._verdicts = {
            "2": self._meaning_verdict,
            "5": self._two_stage_verdict,
            "probes": self._probes_verdict,
        }

    def table(self, part: str, *, new: bool = False) -> Table:
        """Return the table of a part; `new` restricts it to queries whose templates no system was given."""
        if part == FmdaPart.TABLE_9:
            return self._table_9()
        name, layout = part if part == FmdaPart.PROBES else f"table{part}", _TABLES[FmdaPart(part)]
        suffix, notes, verdict = "", layout.notes, self._verdicts.get(part, lambda _: ())
        if new:
            name, suffix, notes, verdict = f"{name}_new", NEW, (*notes, "new"), lambda _: ()
        columns = [col for measure in layout.measures for col in self._columns(measure, layout.pairs, suffix)]
        lines = [self._line(subject, columns) for subject in (*layout.rows, *self._papers_own(part))]
        return _spec(name, _HEADS, columns, notes).table(lines, self.results, verdict=verdict)

    def _papers_own(self, part: str) -> tuple[_SystemPart, ...]:
        """Return the rows of systems with the paper's settings, if they were asked for."""
        if part not in _COMPARED or not self.results.trained(PAPERS_OWN):
            return ()
        baseline, fmda = PAPERS_OWN
        return (_SystemPart(baseline, Part.MEANING), *(_SystemPart(fmda, sense) for sense in _SENSE))

    def row(self, system: str, on: Sequence[str]) -> OverSeeds:
        """Return a system trained on some pairs in one model, over its seeds; the frozen encoder has no pairs."""
        return (
            self.results.of(system, seeds=(0,)) if system == FmdaSystem.BASE else self.results.of(system, on)
        )

    def _columns(self, measure: str, pairs: int | None = None, suffix: str = "") -> list[Column]:
        """Return both ways of each pair; for template retrieval, the pairs' first and then their second languages.

        The name of a column is such as "en-de", or "en (en-de)": English, by the model trained on en-de.
        """
        named = [(pair, pair_name(*pair)) for pair in self.pairs[:pairs]]
        shown = [
            (f"{pair[side]} ({on})", "", measure, on, pair[side]) for side in (0, 1) for pair, on in named
        ]
        if measure == "translation":
            shown = [(way, "", measure, on, way) for pair, on in named for way in directions([pair])]
        if measure in _PROBES:
            probes = _PROBES.items()
            shown = [
                (f"{on} {probe}", f"{on}: {head}", probe, on, on) for _, on in named for probe, head in probes
            ]
        return [
            Column(name, head, at={"measure": one + suffix, "on": (on,), "where": where})
            for name, head, one, on, where in shown
        ]

    def _values(self, subject: _SystemPart, column: Column) -> CellValues | None:
        """Return an embedding's (seeds, queries) values from 0 to 1 in a column; None if it has none."""
        at = column.at
        return self.row(subject.system, at["on"]).values(at["measure"], subject.part, at["where"])

    def _line(self, subject: _SystemPart, columns: Sequence[Column]) -> Line:
        reasons = []
        for (on,) in dict.fromkeys(column.at["on"] for column in columns):
            row, label = self.row(subject.system, [on]), f"{LABELS[subject.system]} on {on}"
            if row.reason:
                reasons.append(f"{label}, {NOT_MEASURED}: {row.reason}")
            elif len(row.cells) < row.asked:
                reasons.append(f"{label}: {len(row.cells)} of {row.asked} seeds.")
        printed = subject.key.replace("-paper ", " ")
        return Line(subject.labels, subject.key, subject.at, paper=printed, reasons=tuple(reasons))

    def _table_9(self) -> Table:
        """Return Table 9: a model for each pair against one for all pairs."""
        templates = self._columns("template")
        tasks = {c.name: ([c], Part.MEANING) for c in self._columns("translation") if (c.name,) != c.at["on"]}
        for code in dict.fromkeys(column.at["where"] for column in templates):
            tasks[code] = ([column for column in templates if column.at["where"] == code], Part.TEMPLATE)
        whole = self.row(FmdaSystem.FMDA, pair_names(self.pairs))
        lines = []
        for name, (asked, part) in tasks.items():
            one_pair = _SystemPart(FmdaSystem.FMDA, part)
            scores = {
                "baseline": _mean([self._values(_BASELINE, column) for column in asked]),
                "one pair": _mean([self._values(one_pair, column) for column in asked]),
                "all pairs": whole.score(asked[0].at["measure"], part, asked[0].at["where"]),
            }
            measured = {column: score for column, score in scores.items() if score}
            lines.append(Line((name,), name, figures=measured, paper=name))
        missing = [] if whole.cells else [f"All pairs in one model, {NOT_MEASURED}: {whole.reason}"]
        columns = list(map(Column, paper_numbers("fmda")["table9"]["columns"]))
        return _spec("table9", ("task",), columns, ("pairs",)).table(lines, more_notes=missing)

    def costs(self) -> Table:
        """Return time and memory of each system and the pairs it is trained on."""
        lines = []
        for system, on in dict.fromkeys((cell.system, cell.on) for cell, _ in self.results.measured()):
            key = f"{system}.{'+'.join(on)}" if on else system
            lines.append(((LABELS[system], " + ".join(on)), key, self.row(system, on)))
        return costs_table("fmda", self.results, lines)

    def _probes_verdict(self, figures: Mapping[str, Figures]) -> tuple[str, ...]:
        sentences = []
        for name in pair_names(self.pairs):
            probed = (figures[subject.key].get(f"{name} probe") for subject in (_CLS, _LANGUAGE, _FMDA[0]))
            cls, language, meaning = probed
            if cls and language and meaning:
                sentences.append(
                    f"{name}: a linear probe is right on {language.mean:.1f} % of language embeddings and "
                    f"on {meaning.mean:.1f} % of meaning embeddings, {cls.mean - meaning.mean:.1f} points fewer "
                    "than on [CLS]."
                )
        return tuple(sentences)

    def _meaning_verdict(self, figures: Mapping[str, Figures]) -> tuple[str, ...]:
        """Say whether FMDA's meaning beats the others, and whether its residual is the worst, in every direction."""
        columns = self._columns("translation")
        sentences = [self._against(columns, other) for other in (_CLS, _MEAN, _BASELINE)]
        *wanted, residual = parts = [figures[subject.key] for subject in _FMDA]
        if all(len(scores) == len(columns) for scores in parts):
            better = [name for name in residual if any(s[name].mean <= residual[name].mean for s in wanted)]
            worst = f"not the worst of the three in {', '.join(better)}"
            sentences.append(
                "Of FMDA's embeddings of sense the residual one is "
                f"{worst if better else 'the worst of the three in every direction'}."
            )
        return tuple(filter(None, sentences))

    def _against(self, columns: Sequence[Column], other: _SystemPart) -> str:
        """Return a sentence that compares FMDA's meaning with another embedding, query by query."""
        changes = {}
        for column in columns:
            fmda_values, other_values = self._values(_FMDA[0], column), self._values(other, column)
            if fmda_values is None or other_values is None:
                return ""
            # If the numbers of seeds differ, the fewer are reused in turn.
            seeds = range(max(len(fmda_values), len(other_values)))
            pools = (
                [values[seed % len(values)] > 0 for seed in seeds] for values in (other_values, fmda_values)
            )
            changes[column.name] = language_change(*pools)
        name, least = min(changes.items(), key=lambda item: item[1].difference)
        mean = sum(change.difference for change in changes.values()) / len(changes)
        return (
            f"FMDA's meaning against {', '.join(other.labels)}: {mean:+.1f} points over the directions, at least "
            f"{least.difference:+.1f} ({name}, 95 % interval {least.low:+.1f} to {least.high:+.1f})."
        )

    def _two_stage_verdict(self, _: object) -> tuple[str, ...]:
        """Say by how much the two-stage template embedding leads in template retrieval."""
        columns, led = self._columns("template"), _SystemPart(FmdaSystem.TWO_STAGE, Part.TEMPLATE)
        rows = (*_MAIN_ROWS, *_TWO_STAGE)
        scores_by_row = {subject: scores_at(self.results, columns, subject.at) for subject in rows}
        whole = {subject: scores for subject, scores in scores_by_row.items() if len(scores) == len(columns)}
        led_scores = whole.pop(led, None)
        if led_scores is None or not whole:
            return ()
        leads = []
        for name, score in led_scores.items():
            subject, scores = max(whole.items(), key=lambda item: item[1][name].mean)
            leads.append(f"{name} {score.mean - scores[name].mean:+.1f} ({', '.join(subject.labels)})")
        return (
            "The two-stage template embedding against the best of all others in template retrieval: "
            f"{'; '.join(leads)}.",
        )


def _mean(values: Sequence[CellValues | None]) -> Score | None:
    """Return the score of several models' values on the same queries; None if one is missing."""
    present = [value for value in values if value is not None]
    if not present or len(present) < len(values):
        return None
    seeds = min(len(value) for value in present)
    return Score.of(np.mean([value[:seeds] for value in present], axis=0))


def _bars(table: Table) -> Picture:
    means = {
        ", ".join(subject.labels): [
            (score["mean"], score["deviation"]) for score in table.data[subject.key].values()
        ]
        for subject in _MAIN_ROWS
    }
    title, base = f"{table.title}: means over the columns", ", ".join(_MEAN.labels)
    return bars_picture(table.name, title, NOTES["bars"], means, base, "Acc@1, % (the line is mean pooling)")


def _figure_4(experiment: FmdaExperiment, make: FmdaTables) -> list[Picture]:
    on = pair_names(experiment.pairs[:1])
    rows = {letter: make.row(system, on) for letter, (system, _) in _PANELS.items()}
    views = {
        title: rows[letter].views[letter] for letter, (_, title) in _PANELS.items() if rows[letter].views
    }
    title = f"Figure 4: {pair_name(*experiment.pairs[0])}"
    return [Picture("figure4", title, NOTES["figure4"], GroupMaps(views))] if views else []


def _facts(experiment: FmdaExperiment) -> dict[str, object]:
    data = experiment.data
    learnt, languages = data.learnt.frame["language"].value_counts(), data.labelled.languages
    tested = data.test_pairs(experiment.pairs)
    return {
        **experiment.shared_facts(),
        "pairs": list(pair_names(experiment.pairs)),
        "sentences_learnt_from": {code: f"{learnt[code]:,}" for code in languages},
        "pairs_measured": {pair_name(pair.source, pair.target): f"{len(pair):,}" for pair in tested},
        "templates_measured": {code: f"{len(data.templates(code, 1)):,}" for code in languages},
        "split": data.note,
        "settings": asdict(experiment.settings_of(FmdaSystem.FMDA)),
        "protocol": "nearest neighbours by cosine on the test split; among equals (within 1e-6) the first in the pool",
    }


def _differences(experiment: FmdaExperiment) -> tuple[str, ...]:
    config, data = experiment.config, experiment.data
    started = ", which was trained to put translations side by side, so that every row begins higher"
    values = {
        "started": started if encoder_kind(config.encoder) == "e5-small" else "",
        "sentences": len(data.test.frame),
        "languages": len(data.labelled.languages),
    }
    return differences(config, values, {})

"""The tables of FMDA's benchmark: 2 to 6, 9, and the language probes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from emu_core.bench.cells import Pair, pair_names
from emu_core.bench.fmda.experiment import ABLATION, System
from emu_core.bench.paper import paper_numbers, words
from emu_core.bench.results import OverSeeds, Results, Values
from emu_core.bench.tables import NOT_MEASURED, Line, Row, Score, Table, grid, plain_rows, present, scored
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.guard import LanguageChange, language_change
from emu_core.models.parts import Part

Place = tuple[System, Part]
LABELS, NOTES = words("fmda")["labels"], words("fmda")["notes"]
FIVE_PLACES: tuple[Place, ...] = (
    (System.BASE, Part.CLS),
    (System.BASE, Part.MEAN),
    (System.BASELINE, Part.MEANING),
    (System.FMDA, Part.MEANING),
    (System.FMDA, Part.TEMPLATE),
    (System.FMDA, Part.RESIDUAL),
)
_PROBED: tuple[Place, ...] = (
    (System.BASE, Part.CLS),
    (System.BASE, Part.MEAN),
    (System.BASELINE, Part.LANGUAGE),
    (System.BASELINE, Part.MEANING),
    (System.FMDA, Part.LANGUAGE),
    (System.FMDA, Part.MEANING),
    (System.FMDA, Part.TEMPLATE),
    (System.FMDA, Part.RESIDUAL),
)
_PROBES = (("probe", "probe"), ("neighbours", "neighbours in own language"))
_PLACES: Mapping[str, Sequence[Place]] = {
    "4": [
        (System.BASE, Part.CLS),
        *((system, Part.MEANING) for system in (System.BASELINE, System.FMDA, *ABLATION)),
    ],
    "5": [
        (system, embedding)
        for system in (System.FMDA, System.TWO_STAGE)
        for embedding in (Part.MEANING, Part.TEMPLATE, Part.RESIDUAL)
    ],
}
_NOTES = {"3": ("templates",), "4": ("ablation",), "5": ("templates",), "6": ("templates",)}
_PART_LABELS = {Part.CLS: "[CLS]", Part.MEAN: "mean pooling"}


def part_label(part: Part) -> str:
    """Return what a table calls an embedding."""
    return _PART_LABELS.get(part, part.value)


def place_key(place: Place) -> str:
    """Return the name of a system's embedding in JSON and in the paper's file."""
    return f"{place[0]} {place[1]}"


def place_label(place: Place) -> str:
    """Return what a sentence calls a system's embedding."""
    return f"{LABELS[place[0]]}, {part_label(place[1])}"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: such as "en-de", or "en (en-de)": English, of the model that is trained on en-de.
        on: the name of the pair that the systems of the column are trained on.
        measure: what is measured.
        where: the direction or the language.
    """

    name: str
    on: str
    measure: str
    where: str


def row_of(results: Results, system: System, on: Sequence[str]) -> OverSeeds:
    """Return a system trained on some pairs in one model, over its seeds; the frozen encoder is trained on none."""
    if system is System.BASE:
        return results.of(system, seeds=(0,))
    return results.of(system, on)


class FmdaTables:
    """Makes the tables of finished cells.

    Attributes:
        results: the cells.
        pairs: the language pairs.
    """

    def __init__(self, results: Results, pairs: Sequence[Pair]) -> None:
        """Take the results of the cells trained on these language pairs."""
        self.results, self.pairs = results, tuple(pairs)

    def translations(self, pairs: Sequence[Pair] | None = None) -> list[Column]:
        """Return the columns of cross-lingual retrieval, both ways of each pair."""
        return [
            Column(pair_name(*way), pair_name(*pair), "translation", pair_name(*way))
            for pair in (self.pairs if pairs is None else pairs)
            for way in (pair, pair[::-1])
        ]

    def templates(self, measure: str = "template") -> list[Column]:
        """Return the columns of template retrieval: the first languages of the pairs, then the second ones."""
        return [
            Column(f"{pair[side]} ({pair_name(*pair)})", pair_name(*pair), measure, pair[side])
            for side in (0, 1)
            for pair in self.pairs
        ]

    def values(self, place: Place, column: Column) -> Values | None:
        """Return an embedding's (seeds, queries) values from 0 to 1 in a column; None where it has none."""
        row = row_of(self.results, place[0], [column.on])
        return row.values(column.measure, place[1], column.where)

    def scores(self, place: Place, columns: Sequence[Column]) -> dict[str, Score]:
        """Return an embedding's scores by column, of those that were measured."""
        return present({column.name: scored(self.values(place, column)) for column in columns})

    def table(self, part: str) -> Table:
        """Return the table of a part of the report."""
        if part in ("9", "probes"):
            return self._table_9() if part == "9" else self._probes()
        columns = {
            "2": self.translations(),
            "3": self.templates(),
            "4": self.translations(self.pairs[:1]),
            "5": [*self.translations(), *self.templates()],
            "6": self.templates("precision"),
        }[part]
        names = [column.name for column in columns]
        lines = [
            Line(
                (LABELS[place[0]], part_label(place[1])),
                place_key(place),
                self.scores(place, columns),
                _printed(part, place_key(place), names),
                reasons=self._missing(place[0], columns),
            )
            for place in _PLACES.get(part, FIVE_PLACES)
        ]
        return grid(
            f"table{part}",
            f"Table {part}: {words('fmda')['titles'][f'table{part}']}",
            ("model", "embedding"),
            names,
            lines,
            verdict={"2": self._meaning_verdict, "5": self._two_stage_verdict}.get(part, tuple)(),
            notes=tuple(NOTES[name] for name in _NOTES.get(part, ())),
            missing=NOT_MEASURED,
        )

    def _missing(self, system: System, columns: Sequence[Column]) -> tuple[str, ...]:
        sentences = []
        for on in dict.fromkeys(column.on for column in columns):
            row = row_of(self.results, system, [on])
            if row.reason:
                sentences.append(f"{LABELS[system]} on {on}, {NOT_MEASURED}: {row.reason}")
            elif len(row.cells) < row.asked:
                sentences.append(f"{LABELS[system]} on {on}: {len(row.cells)} of {row.asked} seeds.")
        return tuple(sentences)

    def _table_9(self) -> Table:
        """A model for each pair against one for all pairs."""
        templates = self.templates()
        tasks = {c.name: ([c], Part.MEANING) for c in self.translations() if c.name != c.on}
        for code in dict.fromkeys(column.where for column in templates):
            tasks[code] = ([column for column in templates if column.where == code], Part.TEMPLATE)
        every = row_of(self.results, System.FMDA, pair_names(self.pairs))
        lines = []
        for name, (columns, part) in tasks.items():
            together = every.values(columns[0].measure, part, columns[0].where)
            scores = {
                "baseline": _mean([self.values((System.BASELINE, Part.MEANING), one) for one in columns]),
                "one pair": _mean([self.values((System.FMDA, part), one) for one in columns]),
                "all pairs": _mean([together]),
            }
            lines.append(Line((name,), name, present(scores), _printed("9", name, list(scores))))
        columns_9 = paper_numbers("fmda")["table9"]["columns"]
        table = grid(
            "table9",
            "Table 9: one language pair against all in one model, Acc@1",
            ("task",),
            columns_9,
            lines,
            missing=NOT_MEASURED,
        )
        notes = (
            NOTES["pairs"],
            *(() if every.cells else (f"All pairs in one model, {NOT_MEASURED}: {every.reason}",)),
        )
        head = (*table.head[:4], *(f"paper: {name}" for name in columns_9))
        rows = tuple(Row(row.texts(len(head)), row.key) for row in table.rows)
        return Table(table.name, table.title, head, rows, notes=notes, data=table.data)

    def _probes(self) -> Table:
        """Return how well each embedding tells the two languages of each pair."""
        names = pair_names(self.pairs)
        columns = {f"{name} {field}": (name, field) for name in names for field, _ in _PROBES}
        lines = [
            Line(
                (LABELS[place[0]], part_label(place[1])),
                place_key(place),
                present(
                    {
                        column: Score.of_numbers(
                            row_of(self.results, place[0], [name]).numbers(field, place[1], name)
                        )
                        for column, (name, field) in columns.items()
                    }
                ),
            )
            for place in _PROBED
        ]
        title = "Language probes"
        table = grid("probes", title, ("model", "embedding"), list(columns), lines, missing=NOT_MEASURED)
        head = ("model", "embedding", *(f"{name}: {words}" for name in names for _, words in _PROBES))
        verdict = _probes_verdict(names, {line.key: line.scores for line in lines})
        return Table("probes", title, head, table.rows, verdict, notes=(NOTES["probes"],), data=table.data)

    def _meaning_verdict(self) -> tuple[str, ...]:
        """Whether FMDA's meaning beats the others, and whether its residual is the worst, in every direction."""
        columns = self.translations()
        others: tuple[Place, ...] = (*FIVE_PLACES[:2], (System.BASELINE, Part.MEANING))
        sentences = [self._against(columns, other) for other in others]
        own = [
            self.scores((System.FMDA, part), columns) for part in (Part.RESIDUAL, Part.MEANING, Part.TEMPLATE)
        ]
        if all(len(scores) == len(columns) for scores in own):
            residual, *rest = own
            better = [c.name for c in columns if any(s[c.name].mean <= residual[c.name].mean for s in rest)]
            worst = (
                f"not the worst of the three in {', '.join(better)}"
                if better
                else "the worst of the three in every direction"
            )
            sentences.append(f"Of FMDA's embeddings of sense the residual one is {worst}.")
        return tuple(sentence for sentence in sentences if sentence)

    def _against(self, columns: Sequence[Column], other: Place) -> str:
        """Return a sentence on FMDA's meaning against another embedding, query by query."""
        gains = []
        for column in columns:
            own, theirs = self.values((System.FMDA, Part.MEANING), column), self.values(other, column)
            if own is None or theirs is None:
                return ""
            change = _change(theirs, own)
            gains.append((change.difference, column.name, change))
        least, name, change = min(gains, key=lambda item: item[0])
        mean = sum(gain for gain, _, _ in gains) / len(gains)
        return (
            f"FMDA's meaning against {place_label(other)}: {mean:+.1f} points over the directions, at least "
            f"{least:+.1f} ({name}, 95 % interval {change.low:+.1f} to {change.high:+.1f})."
        )

    def _two_stage_verdict(self) -> tuple[str, ...]:
        """By how much the two-stage template embedding leads in template retrieval."""
        columns = self.templates()
        own = self.scores((System.TWO_STAGE, Part.TEMPLATE), columns)
        rest = [*FIVE_PLACES, (System.TWO_STAGE, Part.MEANING), (System.TWO_STAGE, Part.RESIDUAL)]
        every = [(place, self.scores(place, columns)) for place in rest]
        others = [(place, scores) for place, scores in every if len(scores) == len(columns)]
        if len(own) < len(columns) or not others:
            return ()
        leads = []
        for name in (column.name for column in columns):
            place, scores = max(others, key=lambda item: item[1][name].mean)
            leads.append(f"{name} {own[name].mean - scores[name].mean:+.1f} ({place_label(place)})")
        return (
            "The two-stage template embedding against the best of all others in template retrieval: "
            f"{'; '.join(leads)}.",
        )


def _probes_verdict(names: Sequence[str], scores: Mapping[str, Mapping[str, Score]]) -> tuple[str, ...]:
    sentences = []
    for name in names:
        cls, language, meaning = (
            scores[place_key(place)].get(f"{name} probe")
            for place in ((System.BASE, Part.CLS), (System.FMDA, Part.LANGUAGE), (System.FMDA, Part.MEANING))
        )
        if cls and language and meaning:
            sentences.append(
                f"{name}: a linear probe is right on {language.mean:.1f} % of language embeddings and "
                f"on {meaning.mean:.1f} % of meaning embeddings, {cls.mean - meaning.mean:.1f} points fewer than on "
                "[CLS]."
            )
    return tuple(sentences)


def _mean(values: Sequence[Values | None]) -> Score | None:
    """Return the score of several models' values on the same queries; None where one is missing."""
    there = [value for value in values if value is not None]
    if not there or len(there) < len(values):
        return None
    seeds = min(len(value) for value in there)
    return Score.of(np.mean([value[:seeds] for value in there], axis=0))


def _change(base: Values, other: Values) -> LanguageChange:
    """Return the change on the same queries; of two numbers of seeds, those of the smaller are used in turn."""
    seeds = max(len(base), len(other))
    return language_change(
        [base[seed % len(base)] > 0 for seed in range(seeds)],
        [other[seed % len(other)] > 0 for seed in range(seeds)],
    )


def paper_figure(number: str, row: str, column: str) -> str:
    """Return a figure of the paper's in percent, such as "59.4"; "" where it has none.

    Args:
        number: of the table.
        row: system and embedding, such as "fmda meaning"; of Table 9 the task, such as "de-en".
        column: such as "en-de" or "en (en-de)".
    """
    table = paper_numbers("fmda")[f"table{number}"]
    if row not in table["rows"] or column not in table["columns"]:
        return ""
    return _percent(table["rows"][row][table["columns"].index(column)])


def _printed(number: str, row: str, columns: Sequence[str]) -> dict[str, str]:
    figures = {column: paper_figure(number, row, column) for column in columns}
    return {column: figure for column, figure in figures.items() if figure}


def paper_table(number: str) -> Table:
    """Return a table of the paper's, as printed but for percent."""
    numbers = paper_numbers("fmda")
    table = numbers[f"table{number}"]
    title = (
        f"The paper's Table {number}: {table['title']}; encoder {numbers['encoder']}, data {numbers['data']}"
    )
    heads = ("task",) if number == "9" else ("model", "embedding")
    rows = [
        (*([name] if number == "9" else _paper_labels(name)), *map(_percent, row))
        for name, row in table["rows"].items()
    ]
    return Table(f"paper_table{number}", title, (*heads, *table["columns"]), plain_rows(rows))


def _paper_labels(name: str) -> tuple[str, str]:
    system, part = name.split(" ")
    return "XLM-R" if system == System.BASE else LABELS[system], part_label(Part(part))


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"

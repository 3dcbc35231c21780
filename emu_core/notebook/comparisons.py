"""Comparisons of three encoders or more on the same sentences, each with the first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from emu_core.data.wording import TextTable, counted, shown
from emu_core.encoders.specs import RUN_SPEC
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.comparison import Measured, measure_encoder
from emu_core.evaluation.prediction import Predicted, RightIntents, right_intents
from emu_core.notebook.comparison import RunComparison
from emu_core.reports.cells import message_cell, table_cell
from emu_core.reports.verdict import cells, comparison_verdict
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.run import Run

_CHANGES = {"difference", "low", "high", "verdict", "fixed", "broken", "p"}  # how a name begins, up to a "_"


@dataclass(frozen=True, eq=False)
class Compared:
    """An encoder that is compared.

    Attributes:
        spec: what `load_encoder` takes.
        name: a short name, which no other has.
        vectors: (N, d) of the sentences.
        run: the run that it is of; None if it is of none.
        notes: remarks for readers of its figures.
    """

    spec: str
    name: str
    vectors: Vectors
    run: Run | None = None
    notes: tuple[str, ...] = ()

    def is_of(self, base: "Compared") -> bool:
        """Return whether this is a run that was trained from the other."""
        return self.run is not None and base.spec == self.run.config().encoder


@dataclass(frozen=True, eq=False, repr=False)
class RunComparisons:
    """The result of `emu_core.compare` for three encoders or more, which shows a summary as the last line of a cell.

    Iterating it gives the `RunComparison` of each encoder with the first; `between` gives that of any two.

    Attributes:
        sentences: N rows with the columns `text`, `intent`, `language` and `id`.
        encoders: those that are compared, the reference first.
        notes: remarks on all of them, such as that only a sample was measured.
        answers: those of the intent model on each encoder, to the same sentences; none without a run that has one.
    """

    sentences: pd.DataFrame
    encoders: tuple[Compared, ...]
    notes: tuple[str, ...] = ()
    answers: tuple[Predicted | None, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoders, the reference first."""
        return tuple(encoder.name for encoder in self.encoders)

    def __len__(self) -> int:
        """Return the number of comparisons: of all encoders but the first."""
        return len(self.encoders) - 1

    def __iter__(self) -> Iterator[RunComparison]:
        """Yield the comparison of each encoder but the first with the first."""
        return (self.between(self.names[0], name) for name in self.names[1:])

    def between(self, base: str | Run, other: str | Run) -> RunComparison:
        """Return the comparison of two of the encoders, given by their names or runs.

        Raises:
            DataError: there is no such encoder, or both are one.
        """
        first, second = self._position(base), self._position(other)
        if (first, second) not in self._pairs:
            if first == second:
                raise DataError(
                    f"{shown(self.names[first])} can't be compared with itself; name another encoder"
                )
            intents = right_intents(self.answers[first], self.answers[second]) if self.answers else None
            pair = pair_of(self.sentences, self.encoders[first], self.encoders[second], self.notes, intents)
            self._pairs[first, second] = pair
            if not isinstance(self._measured, DataError):
                pair.with_computed({"measured": (self._measured[first], self._measured[second])})
        return self._pairs[first, second]

    def _position(self, named: str | Run) -> int:
        name = f"{RUN_SPEC}{named.folder}" if isinstance(named, Run) else named
        for position, encoder in enumerate(self.encoders):
            if name in (encoder.name, encoder.spec):
                return position
        raise DataError(f"there is no encoder {shown(name)} here; there are: {', '.join(self.names)}")

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], RunComparison]:
        return {}

    @cached_property
    def _measured(self) -> tuple[Measured, ...] | DataError:
        """The measures of each encoder, or why there are none."""
        try:
            return tuple(measure_encoder(self.sentences, encoder.vectors) for encoder in self.encoders)
        except DataError as error:
            return error

    @cached_property
    def means(self) -> pd.DataFrame:
        """How each encoder finds similar sentences, the mean that `Comparison.means` defines.

        Columns: `encoder`, `over` (such as "11 language pairs with English on a side"), `accuracy` (percent) and
        `difference` to the first encoder (points).

        Raises:
            DataError: there are too few sentences to measure.
        """
        return self._stacked("means")

    @cached_property
    def by_language(self) -> pd.DataFrame:
        """How each encoder finds similar sentences by language, as `Comparison.gains` defines it.

        Columns: `encoder`, `language`, `accuracy` (percent); `difference` to the first encoder with its 95 % interval
        (`low`, `high`), `verdict` and `queries`.

        Raises:
            DataError: there are too few sentences to measure.
        """
        return self._stacked("gains")

    @cached_property
    def intents(self) -> pd.DataFrame:
        """How many intents each encoder names right by language, as `Comparison.intents` defines it.

        Columns: `encoder`, `language`, `right` (percent); `difference` to the first encoder with its 95 % interval
        (`low`, `high`), `verdict` and `queries`. It has no row if the encoders were not asked.
        """
        tables = [pair.intents.frame for pair in self if pair.intents is not None]
        if len(tables) < len(self):
            return pd.DataFrame(columns=["encoder", "language", "right"])
        sides = [table.rename(columns={"specialised": "other"}) for table in tables]
        return self._joined(sides).rename(columns={"accuracy": "right"})

    @cached_property
    def accuracy(self) -> pd.DataFrame:
        """Leave-one-out Acc@1 of each direction, as `Comparison.accuracy` defines it.

        Columns: `encoder`, `pair`, `queries`, `pool`, `n`; `accuracy` with its interval; `difference` to the first
        encoder with its interval, `fixed`, `broken` and `p_value`.

        Raises:
            DataError: there are too few sentences to measure.
        """
        return self._stacked("accuracy")

    def _stacked(self, name: str) -> pd.DataFrame:
        """Return a table of the comparisons with a row for each encoder, whose own side is the `accuracy`."""
        return self._joined([getattr(comparison, name) for comparison in self])

    def _joined(self, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
        others = [_side(table, "other", of) for table, of in zip(tables, self.names[1:], strict=True)]
        return pd.concat([_side(tables[0], "base", self.names[0]), *others], ignore_index=True)

    @property
    def title(self) -> str:
        """The encoders that are compared, in words."""
        return f"{counted(len(self), 'encoder')} compared with {self.names[0]}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and those of the encoders, each once."""
        return tuple(dict.fromkeys([*self.notes, *(note for one in self.encoders for note in one.notes)]))

    @cached_property
    def table(self) -> TextTable:
        """The right intents and the similar sentences of each encoder, and how they changed from the first.

        Raises:
            DataError: there are too few sentences to measure.
        """
        verdicts = [comparison_verdict(pair) for pair in self]
        measures = [[verdict.intents for verdict in verdicts], [verdict.similar for verdict in verdicts]]
        head, columns = ["encoder"], [list(self.names)]
        for of_pairs in measures:
            changes = [measure.changes.overall for measure in of_pairs if measure.changes is not None]
            if len(changes) < len(self):
                continue
            told = [cells(change) for change in changes]
            head += [f"{of_pairs[0].title}: {of_pairs[0].over}", "change", "95 % interval", "verdict"]
            columns += [[told[0][1], *(row[2] for row in told)]]
            columns += [["", *(row[place] for row in told)] for place in (3, 4, 5)]
        return TextTable(head, list(zip(*columns, strict=True)))

    def __repr__(self) -> str:
        title = f"{counted(len(self.encoders), 'encoder')} on {counted(len(self.sentences), 'sentence')}"
        try:
            head, rows = self.table
        except DataError as error:
            return f"<{title}: {error}>"
        measured = [
            f"{name}, {', '.join(f'{row[0]} {row[place]}' for row in rows)}"
            for place, name in enumerate(head)
            if ":" in name
        ]
        return f"<{title}: {'; '.join(measured)}>"

    def _repr_html_(self) -> str:
        try:
            table = self.table
        except DataError as error:
            return message_cell(str(error), title=self.title)
        hint = "Tables: .intents, .by_language, .accuracy and .means. Two of them: .between('A', 'B')."
        return table_cell(self.title, table, (*self.remarks, hint))


def pair_of(
    sentences: pd.DataFrame,
    base: Compared,
    other: Compared,
    notes: Sequence[str] = (),
    intents: RightIntents | None = None,
) -> RunComparison:
    """Return the comparison of two encoders, as of a run with its base encoder if they are these."""
    run = other.run if other.is_of(base) else None
    return RunComparison(
        sentences,
        base.vectors,
        other.vectors,
        (base.name, other.name),
        None if run is None else read_forgetting(run),
        tuple(dict.fromkeys((*notes, *base.notes, *other.notes))),
        intents,
        None if run is None else run.metrics().trained,
        run,
        [encoder.run for encoder in (base, other) if encoder.run is not None],
    )


def _side(table: pd.DataFrame, side: str, encoder: str) -> pd.DataFrame:
    """Return a side's accuracies in a table of a comparison; of the base, without the change from it."""
    left_out = {"other", *_CHANGES} if side == "base" else {"base"}
    columns = [name for name in table.columns if not {name, name.partition("_")[0]} & left_out]
    renamed = {name: name.replace(side, "accuracy") for name in columns if name.partition("_")[0] == side}
    part = table[columns].rename(columns=renamed)
    part.insert(0, "encoder", encoder)
    return part

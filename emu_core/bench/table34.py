"""Tables 3 and 4: what the training languages do to every ordered pair of languages, relative to the base."""

from collections.abc import Sequence

from emu_core.bench.cells import Kind
from emu_core.bench.paper import paper_numbers
from emu_core.bench.plan import training_sets
from emu_core.bench.results import Results, Row
from emu_core.bench.table import Table, not_measured
from emu_core.evaluation.arrays import pair_name

NOTE = (
    "Change of Acc@1 in percent of the base encoder's own (so +100 % doubles it), Emu w/o LD, mean over seeds; "
    "n/a where the base has none right."
)


def table_3(results: Results) -> Table:
    """Emu w/o LD trained on each mix of three languages, over the nine pairs of these."""
    mixes = training_sets(results.languages)
    single = [mix[0] for mix in mixes if len(mix) == 1]
    directions = [pair_name(source, target) for source in single for target in single]
    head = ("trained on", *directions)
    rows, data = [], {}
    for mix in mixes:
        row = results.row(Kind.METHOD, "emu-without-ld", mix)
        label = " + ".join(mix)
        if not row.cells:
            rows.append(not_measured(label, row.reason, len(head)))
            continue
        values = relative(row, results, directions)
        rows.append((row.named(label), *map(_percent, values)))
        data["+".join(mix)] = dict(zip(directions, values, strict=True))
    return Table("table3", "Table 3: training languages", head, tuple(rows), notes=(NOTE,), data=data)


def table_4(results: Results) -> Table:
    """Emu w/o LD over all ordered pairs: a row a query language, a column a pool's."""
    row = results.row(Kind.METHOD, "emu-without-ld")
    head = ("queries in \\ pool in", *results.languages)
    title = f"Table 4: all ordered pairs, trained on {' + '.join(results.train_languages)}"
    if not row.cells:
        return Table("table4", title, head, (not_measured("Emu w/o LD", row.reason, len(head)),))
    rows, data = [], {}
    for source in results.languages:
        values = relative(row, results, [pair_name(source, target) for target in results.languages])
        rows.append((source, *map(_percent, values)))
        data[source] = dict(zip(results.languages, values, strict=True))
    return Table("table4", title, head, tuple(rows), notes=(NOTE,), data=data)


def relative(row: Row, results: Results, directions: Sequence[str]) -> list[float | None]:
    """Return the change in percent of the base's accuracy, by direction; None where that is 0."""
    base = results.base_accuracy(directions)
    mean = row.accuracy(directions).mean(axis=0)
    return [None if b == 0 else float(100 * (m - b) / b) for m, b in zip(mean, base, strict=True)]


def paper_tables_3_4() -> tuple[Table, ...]:
    """The paper's Tables 3 and 4, as printed."""
    third, fourth = paper_numbers()["table3"], paper_numbers()["table4"]
    return (
        Table(
            "paper_table3",
            "The paper's Table 3: HotelQA, encoder LASER",
            ("trained on", *third["directions"]),
            tuple((name.replace("+", " + "), *map(_percent, row)) for name, row in third["relative"].items()),
        ),
        Table(
            "paper_table4",
            "The paper's Table 4: HotelQA, encoder LASER, trained on en",
            ("queries in \\ pool in", *fourth["targets"]),
            tuple((name, *map(_percent, row)) for name, row in fourth["relative"].items()),
        ),
    )


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{value:+.1f} %"

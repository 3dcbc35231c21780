"""Table 2: the paper's systems over the directions with the training language on one side."""

from emu_core.bench.cells import LABELS, PAPER_ORDER, TRANSLATION, Kind, label_of, methods
from emu_core.bench.marks import LEGEND
from emu_core.bench.paper import paper_mean, paper_numbers
from emu_core.bench.results import Results, Row
from emu_core.bench.rows import HEAD, accuracy_cells, accuracy_data, warned
from emu_core.bench.table import Table, not_measured

NO_TRANSLATIONS = "the set holds no machine translations (a column 'translation')"


def table_2(results: Results, *, encoder: str) -> Table:
    """Our own Table 2, the paper's means beside it."""
    head = ("method", *HEAD, *results.directions, "paper's mean (HotelQA / ATIS / Quora)")
    rows, data, warnings = [], {}, list[str]()
    for name, label, row in _systems(results, encoder):
        if not row.cells:
            rows.append(not_measured(label, row.reason, len(head)))
            data[name] = {"not_measured": row.reason}
            continue
        if name == Kind.BASE:
            base = results.base_accuracy(results.directions)
            cells: tuple[str, ...] = (f"{base.mean():.1f}", "", "", *(f"{value:.1f}" for value in base))
        else:
            cells = accuracy_cells(row, results)
        rows.append((row.named(label), *cells, _paper(name)))
        warnings += warned(label, row)
        data[name] = accuracy_data(row, results)
    return Table("table2", "Table 2: Acc@1 in percent", head, tuple(rows), tuple(warnings), (LEGEND,), data)


def _systems(results: Results, encoder: str) -> list[tuple[str, str, Row]]:
    translated = results.cells.get(TRANSLATION)
    translation = (
        Row((), NO_TRANSLATIONS)
        if translated is None
        else Row((), translated.not_measured)
        if translated.not_measured
        else Row((translated,))
    )
    return [
        ("mt", f"MT + {encoder} as a monolingual encoder", translation),
        (Kind.BASE.value, f"{encoder} ({LABELS['base']})", Row((results.base,))),
        *((m.value, label_of(m.value), results.row(Kind.METHOD, m.value)) for m in methods()),
    ]


def _paper(name: str) -> str:
    known = {"mt": "mt-sent2vec", "base": "base"} | {method.value: method.value for method in PAPER_ORDER}
    if name not in known:
        return "not in the paper"
    return " / ".join(
        f"{paper_mean(dataset, known[name]):.1f}" for dataset in paper_numbers()["table2"]["datasets"]
    )


def paper_table_2() -> tuple[Table, ...]:
    """The paper's Table 2, as printed."""
    numbers = paper_numbers()["table2"]
    tables = []
    for letter, (dataset, methods_of) in zip("abc", numbers["datasets"].items(), strict=True):
        rows = tuple(
            (
                row["label"],
                *(f"{value:.1f}{stars}" for value, stars in zip(row["accuracy"], row["marks"], strict=True)),
                f"{sum(row['accuracy']) / len(row['accuracy']):.1f}",
            )
            for row in methods_of.values()
        )
        tables.append(
            Table(
                f"paper_table2{letter}",
                f"The paper's Table 2 ({letter}): {dataset}, encoder LASER",
                ("method", *numbers["directions"], "mean"),
                rows,
            )
        )
    return tuple(tables)

"""`emu compare`."""

import argparse
import textwrap
from typing import TYPE_CHECKING, Any

from emu_core.cli import options as shared
from emu_core.cli.printing import print_table, screen, table_lines, verdict_lines
from emu_core.cli.verb import HELP_COLUMNS, Output, add_verb, option
from emu_core.data.wording import TextTable, counted, shown
from emu_core.errors import DataError
from emu_core.files import write_named

if TYPE_CHECKING:
    from emu_core.evaluation.comparison import Comparison
    from emu_core.notebook.comparisons import RunComparisons

_PAGES = ("html", "animation", "morph")
MAX_LINE_CHARACTERS = 160  # of a table's cells; a wider table is printed row by row
MAX_CELL_CHARACTERS = 90  # of a sentence
MOST_LINES = 40  # of what is printed without --full

_MORE = "--full prints every figure and the sentences that changed; --html FILE draws them; --json has all"


def add_compare(verbs: Any) -> None:
    """Add `emu compare DATA`."""
    parser = add_verb(verbs, "compare", _compare)
    shared.add_data(parser)
    shared.add_intents(parser)
    about = (
        "a finished run, to compare with its base encoder; of several, the others are compared with the first"
    )
    option(parser, "--run DIR", about, action="append", default=[], dest="runs")
    about = (
        f"an encoder to compare: {shared.SPECS}; repeatable; with one run, it replaces the run's base encoder"
    )
    option(parser, "--encoder SPEC", about, action="append", default=[])
    shared.add_languages(parser, "only these languages")
    option(parser, "--split", "rows of this split, or all (default: test, else dev, else all)")
    shared.add_full(parser)
    option(parser, "--html FILE", "write a page with interactive charts, which works offline")
    about = "write a page with an animated map over the epochs, for a run trained with --snapshots"
    option(parser, "--animation FILE", about)
    about = "write a page with a map that a slider turns from the one encoder's into the other's"
    option(parser, "--morph FILE", about)


def _compare(options: argparse.Namespace) -> Output:
    from emu_core.api.compare import compare
    from emu_core.notebook.comparisons import RunComparisons

    several = len(options.runs) + len(options.encoder) > 2
    if several and (drawn := next((name for name in _PAGES if getattr(options, name)), "")):
        raise DataError(f"--{drawn} draws two encoders; name two with --run and --encoder")
    compared = compare(
        options.data,
        *options.runs,
        encoder=options.encoder,
        split=options.split,
        languages=options.languages,
        **shared.data_options(options),
    )
    if isinstance(compared, RunComparisons):
        return _printed_all(compared, options)
    comparison = compared
    if options.html:
        from emu_core.reports.comparison_page import comparison_page

        write_named(options.html, comparison_page(comparison))
    if options.animation:
        from emu_core.reports.map_pages import animation_page

        write_named(options.animation, animation_page(comparison.film, "intent", comparison.names[1]))
    if options.morph:
        from emu_core.reports.map_pages import morph_page

        write_named(options.morph, morph_page(comparison.morphed()))
    if options.json:
        from emu_core.reports.views import comparison_records

        return comparison_records(comparison)
    print_comparison(comparison, is_full=options.full)
    if options.html:
        print(f"\nthe charts are in {options.html}")
    if options.animation:
        print(f"\nthe animated map is in {options.animation}")
    if options.morph:
        print(f"\nthe map from one encoder to the other is in {options.morph}")
    return {}


def _printed_all(comparisons: "RunComparisons", options: argparse.Namespace) -> Output:
    """Print each of three encoders or more in comparison with the first, or return them for JSON."""
    from emu_core.reports.verdict import comparison_verdict
    from emu_core.reports.views import comparison_records

    if options.json:
        return {
            "encoders": list(comparisons.names),
            "notes": list(comparisons.remarks),
            "comparisons": [comparison_records(pair) for pair in comparisons],
        }
    lines = [f"{comparisons.title}, on {counted(len(comparisons.sentences), 'sentence')}"]
    for note in comparisons.remarks:
        lines += textwrap.wrap(f"note: {note}", HELP_COLUMNS)
    head, rows = comparisons.table
    places = [place for place, name in enumerate(head) if ":" in name]
    for first, end in zip(places, [*places[1:], len(head)], strict=True):
        lines += [
            "",
            *table_lines(
                (head[first], "", *head[first + 1 : end]), [(row[0], *row[first:end]) for row in rows]
            ),
        ]
    lines.append("")
    for pair in comparisons:
        verdict = comparison_verdict(pair)
        text = " ".join([verdict.sentence, *(measure.languages for measure in verdict.measures)])
        lines += textwrap.wrap(text.strip(), HELP_COLUMNS, subsequent_indent="  ")
    print("\n".join(lines))
    if options.full:
        for pair in comparisons:
            print()
            print_comparison(pair, is_full=True)
    else:
        print("\n--full prints every figure of each pair; --json has all")
    return {}


def print_comparison(comparison: "Comparison", *, is_full: bool = False) -> None:
    """Print the verdict, and what the page of --html has if that is asked for: of its longest tables the first rows."""
    from emu_core.reports import views
    from emu_core.reports.comparison_page import comparison_title
    from emu_core.reports.verdict import comparison_verdict

    verdict = comparison_verdict(comparison)
    head = [f"{comparison_title(comparison)}, on {counted(len(comparison.sentences), 'sentence')}"]
    for note in comparison.notes:
        head += textwrap.wrap(f"note: {note}", HELP_COLUMNS)
    head.append("")
    if not is_full:
        print(screen(head, verdict, ["", _MORE], 2, MOST_LINES))
        return
    print("\n".join([*head, *verdict_lines(verdict)]))
    for view in views.VIEWS:
        if view.table(comparison) is None:
            continue
        text = view.text(comparison)
        shortened = view.shortened(text)
        print(f"\n{view.title}\n")
        print(textwrap.fill(view.note(comparison), HELP_COLUMNS))
        _print_text(shortened)
        if len(shortened.rows) < len(text.rows):
            print(f"\n{len(shortened.rows):,} of {len(text.rows):,} rows; --html and --json have them all")


def _print_text(table: TextTable) -> None:
    """Print a table, or row by row one that is too wide for a line."""
    rows = [[shown(cell, MAX_CELL_CHARACTERS) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.head, *rows, strict=True)]
    if not rows:
        print("\nThere is nothing to show.")
    elif sum(widths) <= MAX_LINE_CHARACTERS:
        print()
        print_table(table.head, rows)
    else:
        for row in rows:
            print()
            for head, cell in zip(table.head, row, strict=True):
                print(f"{head}: {cell}")

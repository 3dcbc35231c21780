"""`emu compare`."""

import argparse
from typing import TYPE_CHECKING, Any

from emu_core.cli import options as shared
from emu_core.cli.printing import print_guard, print_table
from emu_core.cli.verb import Output, add_verb, option
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.files import write_named

if TYPE_CHECKING:
    from emu_core.evaluation.comparison import Comparison

MOST_SHOWN = 5  # changed neighbours and triples of each kind; --html and --json have more
MOST_CHARACTERS = 90  # characters of a sentence


def add_compare(verbs: Any) -> None:
    """Add `emu compare DATA`."""
    parser = add_verb(verbs, "compare", _compare, "compare a run with its base encoder, or any two encoders")
    shared.add_data(parser)
    shared.add_merging(parser)
    about = (
        "a finished run, to compare with its base encoder; given twice, the second is compared with the first"
    )
    option(parser, "--run DIR", about, action="append", default=[], dest="runs")
    about = (
        f"an encoder to compare: {shared.SPECS}; repeatable; with one run, it replaces the run's base encoder"
    )
    option(parser, "--encoder SPEC", about, action="append", default=[])
    shared.add_languages(parser, "only these languages")
    option(parser, "--split", "rows of this split, or all (default: test, else dev, else all)")
    option(parser, "--html FILE", "write a page with interactive charts, which works offline")
    about = "write a page with an animated map over the epochs, for a run trained with --snapshots"
    option(parser, "--animation FILE", about)


def _compare(options: argparse.Namespace) -> Output:
    from emu_core.api.compare import compare

    if len(options.runs) > 2:
        raise DataError(f"{len(options.runs)} runs can't be compared at once; name one or two with --run")
    comparison = compare(
        options.data,
        *options.runs,
        encoder=options.encoder,
        split=options.split,
        languages=options.languages,
        merge_intents=options.merge_intents,
        **shared.data_options(options),
    )
    if options.html:
        from emu_core.reports.comparison_page import comparison_page

        write_named(options.html, comparison_page(comparison))
    if options.animation:
        from emu_core.reports.map_pages import animation_page

        write_named(options.animation, animation_page(comparison.film, "intent", comparison.names[1]))
    if options.json:
        from emu_core.reports.views import comparison_records

        return comparison_records(comparison)
    _print(comparison)
    if options.html:
        print(f"\nthe charts are in {options.html}")
    if options.animation:
        print(f"\nthe animated map is in {options.animation}")
    return {}


def _print(comparison: "Comparison") -> None:
    from emu_core.reports import figures_as_text as rows

    base, other = comparison.names
    print(f"{other} compared with {base}, on {len(comparison.sentences):,} sentences\n")
    for note in comparison.notes:
        print(f"note: {note}")
    print("Leave-one-out Acc@1\n")
    print_table(*rows.accuracy_table(comparison))
    print()
    print_table(*rows.means_table(comparison))
    print("\n" + (rows.fallen_sentence(comparison) or "No direction got worse."))
    print(f"All directions together: {rows.p_value(comparison.wilcoxon.p_value)} (Wilcoxon signed-rank test)")
    print_guard(comparison.guard)
    if comparison.leakage_change is not None:
        print("\nLanguage leakage\n")
        print_table(*rows.leakage_table(comparison.leakage_change, comparison.names))
    print("\nSentences whose nearest neighbour changed\n")
    print_table(*rows.change_counts_table(comparison))
    changes = comparison.changes()
    for kind in ("fixed", "broken"):
        for row in changes[changes["change"] == kind].head(MOST_SHOWN).to_dict("records"):
            print(f"\n{kind}: {_cut(row['sentence'])} ({row['intent']})")
            for name, side in ((base, "base"), (other, "other")):
                print(f"  {name}: {_cut(row[f'{side}_neighbour'])} ({row[f'{side}_intent']})")
    print(f"\nTriples on which {base} follows the words: cosine with S1 by {base} and by {other}")
    for across in (False, True):
        for row in comparison.triples(across_languages=across).head(MOST_SHOWN).to_dict("records"):
            print(f"\nS1 {_cut(row['s1'])} ({row['intent']})")
            for number, intent in ((2, row["intent_s2"]), (3, row["intent"])):
                cosines = f"{row[f'base_s1{number}']:.2f}, {row[f'other_s1{number}']:.2f}"
                print(f"  S{number} {cosines}: {_cut(row[f's{number}'])} ({intent})")
    if comparison.forgetting is not None:
        print("\nForgetting\n")
        print_table(*rows.forgetting_table(comparison.forgetting))


def _cut(text: str) -> str:
    return shown(text, MOST_CHARACTERS)

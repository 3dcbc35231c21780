"""`emu bench emu` and `emu bench fmda`."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emu_core.bench.plan import Part
from emu_core.cli.options import FRESH, add_data, add_encoder, add_verb, mapping_of
from emu_core.cli.printing import Line, print_table

if TYPE_CHECKING:
    from emu_core.bench.report import Report


def add_bench(verbs: Any) -> None:
    """`emu bench PAPER DATA`."""
    summary = "run the paper's experiments and today's peers on a labelled set"
    papers = verbs.add_parser("bench", help=summary, description=summary[0].upper() + summary[1:] + ".")
    actions = papers.add_subparsers(required=True, metavar="PAPER", help="whose experiments")

    emu = add_verb(actions, "emu", _bench_emu, summary)
    _add_bench(emu, "use")
    emu.add_argument("--tables", nargs="+", default=list(Part), choices=list(Part), help="default: all")
    emu.add_argument(
        "--train-language", action="append", metavar="CODE", help="labels used; repeatable (default: en)"
    )
    emu.add_argument(
        "--epochs", type=int, metavar="N", help="of every system (default: measured for the encoder)"
    )

    fmda = add_verb(
        actions, "fmda", _bench_fmda, "run the experiments of FMDA on translations with annotated slots"
    )
    _add_bench(fmda, "e5-small")
    # Names are checked by the benchmark and not here: they stand in a module that imports torch.
    fmda.add_argument(
        "--tables", nargs="+", metavar="PART",
        help="some of 2, 3, 4, 5, 6, 9, probes, figure4 (default: all)",
    )  # fmt: skip
    fmda.add_argument(
        "--pair", action="append", metavar="en-de",
        help="languages; repeatable (default: the first of the set, which is English if it can be, with every other)",
    )  # fmt: skip
    fmda.add_argument(
        "--epochs", type=int, metavar="N", help="of every system, at most (default: the method's)"
    )


def _add_bench(parser: argparse.ArgumentParser, encoder: str) -> None:
    add_data(parser)
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="the same again goes on where it was stopped"
    )
    add_encoder(parser, default=encoder, specs=FRESH)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="default: 0")


def _bench_emu(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.bench.bench import bench_emu

    report = bench_emu(
        options.data,
        parts=options.tables,
        train_languages=options.train_language or ["en"],
        **_shared(options),
    )
    return _reported(report, options)


def _bench_fmda(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.bench.fmda.bench import bench_fmda
    from emu_core.bench.fmda.plan import FmdaPart

    report = bench_fmda(
        options.data,
        parts=options.tables or tuple(FmdaPart),
        pairs=options.pair,
        **_shared(options),
    )
    return _reported(report, options)


def _shared(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "out": options.out,
        "encoder": options.encoder,
        "seeds": options.seeds,
        "epochs": options.epochs,
        "device": options.device,
        "mapping": mapping_of(options),
        "language": options.language,
        "on_progress": _cells_line(),
    }


def _cells_line() -> Callable[[int, int, str], None]:
    line = Line()
    return lambda done, total, cell: line.show(f"{cell}: {done} of {total} cells are done", done / total)


def _reported(report: "Report", options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.bench.table import NOT_MEASURED

    if not options.json:
        for table in report.tables:
            print(f"\n{table.title}\n")
            print_table(table.head, [row for row in table.rows if not row[1].startswith(NOT_MEASURED)])
            for row in table.rows:
                if row[1].startswith(NOT_MEASURED):
                    print(f"{row[0]}: {row[1]}")
            print("".join(f"\n{said}" for said in table.verdict))
        print(f"\n{report.folder / 'report.html'}, report.md and report.json are written")
    return {"folder": str(report.folder), **report.to_json()}

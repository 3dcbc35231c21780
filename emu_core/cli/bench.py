"""`emu bench PAPER`: emu, fmda, bicvm, dual-encoder."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emu_core.bench.plan import Part
from emu_core.cli.options import (
    FRESH,
    add_data,
    add_device,
    add_encoder,
    add_parallel_files,
    add_task_files,
    listed,
    mapping_of,
)
from emu_core.cli.printing import Line, print_table
from emu_core.cli.verb import add_verb

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

    bicvm = add_verb(actions, "bicvm", _bench_bicvm, "run the experiments of BiCVM on parallel text")
    _add_pretrained(bicvm)
    for name, what in (
        ("documents", "to classify"),
        ("test-documents", "to test on (default: a third of them)"),
    ):
        bicvm.add_argument(
            f"--{name}", nargs="+", default=[], metavar="en=PATH",
            help=f"documents {what}, by language: a folder of class folders, such as Reuters', or a table",
        )  # fmt: skip

    dual = add_verb(
        actions,
        "dual-encoder",
        _bench_dual,
        "run the experiments of the multi-task dual encoder on parallel text",
    )
    _add_pretrained(dual)
    dual.add_argument(
        "--sts", metavar="FOLDER", help="files such as de.dev.csv: two sentences and a score a row, no header"
    )
    add_task_files(dual, "a model that learns from them, too")


def _add_pretrained(parser: argparse.ArgumentParser) -> None:
    """What the benchmarks of encoders trained from nothing share."""
    add_parallel_files(parser)
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="the same again goes on where it was stopped"
    )
    parser.add_argument(
        "--test", nargs="+", default=[], metavar="FILE",
        help="parallel text of the same pairs to measure on (default: up to 1,000 pairs held out)",
    )  # fmt: skip
    parser.add_argument(
        "--languages", type=listed, metavar="en,de", help="of files that do not say theirs, in their order"
    )
    parser.add_argument(
        "--labelled", nargs="+", metavar="DATA",
        help="labelled sentences in these languages, to classify across them: files or a folder, or the word demo",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="default: 0")
    parser.add_argument("--epochs", type=int, metavar="N", help="of every system (default: its own)")
    parser.add_argument(
        "--quick", action="store_true", help="3,000 pairs and a few epochs, to see that all works"
    )
    add_device(parser)


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


def _bench_bicvm(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.bench.bicvm.bench import bench_bicvm
    from emu_core.bench.pretrained.read import named_files

    report = bench_bicvm(
        options.files,
        documents=named_files(options.documents),
        test_documents=named_files(options.test_documents),
        **_shared_pretrained(options),
    )
    return _reported(report, options)


def _bench_dual(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.bench.dual_encoder.bench import bench_dual_encoder

    report = bench_dual_encoder(
        options.files,
        sts=options.sts,
        dialogues=options.dialogues,
        running_text=options.running_text,
        nli=options.nli,
        **_shared_pretrained(options),
    )
    return _reported(report, options)


def _shared_pretrained(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "out": options.out,
        "test": options.test,
        "languages": options.languages,
        "drop_empty": options.drop_empty,
        "labelled": options.labelled,
        "seeds": options.seeds,
        "epochs": options.epochs,
        "quick": options.quick,
        "device": options.device,
        "on_progress": _cells_line(),
    }


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

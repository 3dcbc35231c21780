"""`emu bench PAPER`: emu, fmda, bicvm, dual-encoder."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from emu_core.bench.papers import PAPERS, EmuPart, FmdaPart, Preset
from emu_core.cli.options import (
    FRESH,
    add_data,
    add_device,
    add_encoder,
    add_languages,
    add_parallel_files,
    add_task_files,
    mapping_of,
    taken,
)
from emu_core.cli.printing import Line, print_table
from emu_core.cli.verb import add_verb

if TYPE_CHECKING:
    from emu_core.bench.report import Report
    from emu_core.runs.run import Status


_SHARED = ("out", "seeds", "epochs", "device")
_LABELLED = (*_SHARED, "encoder", "language", "parts", "preset")
_PARALLEL = (*_SHARED, "test", "languages", "drop_empty", "labelled", "quick")
_TAKES = {
    "emu": (*_LABELLED, "train_languages"),
    "fmda": (*_LABELLED, "pairs"),
    "bicvm": (*_PARALLEL, "documents", "test_documents"),
    "dual-encoder": (*_PARALLEL, "preset", "sts", "dialogues", "running_text", "nli", "test_nli"),
}


def add_bench(verbs: Any) -> None:
    """Add `emu bench PAPER DATA`."""
    summary = PAPERS["emu"].summary
    papers = verbs.add_parser("bench", help=summary, description=summary[0].upper() + summary[1:] + ".")
    actions = papers.add_subparsers(required=True, metavar="PAPER", help="the paper whose experiments to run")
    emu, fmda, bicvm, dual = (
        add_verb(actions, name, partial(_run, name), paper.summary) for name, paper in PAPERS.items()
    )
    _add_labelled(emu, "emu", EmuPart)
    emu.add_argument(
        "--train-language", action="append", metavar="CODE", dest="train_languages",
        help="labelled language; repeatable (default: en)",
    )  # fmt: skip
    _add_labelled(fmda, "fmda", FmdaPart)
    fmda.add_argument(
        "--pair", action="append", metavar="en-de", dest="pairs",
        help="two languages; repeatable (default: English, or else the set's first language, with each other one)",
    )  # fmt: skip
    _add_parallel(bicvm)
    for name, what in (
        ("documents", "to classify"),
        ("test-documents", "to test on (default: a third of them)"),
    ):
        bicvm.add_argument(
            f"--{name}", nargs="+", default=[], metavar="en=PATH",
            help=f"documents {what}, by language: a folder of class folders, such as Reuters', or a table",
        )  # fmt: skip
    _add_parallel(dual)
    dual.add_argument(
        "--sts", metavar="FOLDER", help="files such as de.dev.csv: two sentences and a score a row, no header"
    )
    add_task_files(dual, "a model that learns from them, too")
    dual.add_argument(
        "--test-nli", action="append", default=[], metavar="FILE",
        help="JSON lines such as XNLI's, to evaluate models that learn from --nli; repeatable",
    )  # fmt: skip
    for parser in (emu, fmda, dual):
        parser.add_argument(
            "--preset", type=Preset, default=Preset.TUNED, choices=list(Preset),
            help="paper: also train each method with the paper's own settings (default: tuned)",
        )  # fmt: skip


def _add_parallel(parser: argparse.ArgumentParser) -> None:
    """Add the options that the benchmarks of encoders trained from scratch share."""
    add_parallel_files(parser)
    parser.add_argument(
        "--test", nargs="+", default=[], metavar="FILE",
        help="parallel text of the same pairs to measure on (default: up to 1,000 pairs held out)",
    )  # fmt: skip
    add_languages(parser, "languages of files that do not name theirs, in the order of the files")
    parser.add_argument(
        "--labelled", nargs="+", metavar="DATA",
        help="labelled sentences for cross-lingual classification: files or a folder, or the word demo",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a trial with 3,000 pairs and a few epochs")
    add_device(parser)
    _add_shared(parser)


def _add_labelled(parser: argparse.ArgumentParser, paper: str, parts: type[EmuPart] | type[FmdaPart]) -> None:
    """Add the options that the benchmarks on a labelled set share."""
    add_data(parser)
    add_encoder(parser, default=PAPERS[paper].encoder, specs=FRESH)
    parser.add_argument(
        "--tables", nargs="+", default=list(parts), choices=list(parts), metavar="PART", dest="parts",
        help=f"some of {', '.join(parts)} (default: all)",
    )  # fmt: skip
    _add_shared(parser)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="repeat a stopped command to resume it from this folder"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="default: 0")
    parser.add_argument(
        "--epochs", type=int, metavar="N", help="maximum for every system (default: measured for each)"
    )


def _run(paper: str, options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.bench.job import bench
    from emu_core.data.texts.documents import named_files

    own: dict[str, Any] = taken(options, *_TAKES[paper])
    own |= {name: named_files(own[name]) for name in ("documents", "test_documents") if name in own}
    if paper == "emu":
        own["train_languages"] = own["train_languages"] or ["en"]
    if "parts" in own:
        own["mapping"] = mapping_of(options)
    data = options.data if "parts" in own else options.files
    return report_of(bench(paper, data, on_progress=cells_line(), **own), options)


def report_of(report: "Report", options: argparse.Namespace) -> dict[str, Any]:
    """Print a report, unless JSON is asked for; return it as plain values."""
    if not options.json:
        _print(report)
    return {"folder": str(report.folder), **report.to_json()}


def cells_line() -> "Callable[[Status], None]":
    """Return a callback that shows a benchmark's progress in one line."""
    line = Line()

    def show(status: "Status") -> None:
        if status.steps and not status.state.is_over:
            done = f"{status.phase}: {status.step} of {status.steps} cells are done"
            line.show(done, status.step / status.steps)

    return show


def _print(report: "Report") -> None:
    from emu_core.bench.tables import NOT_MEASURED

    for table in report.tables:
        print(f"\n{table.title}\n")
        print_table(table.head, [row.texts(len(table.head)) for row in table.rows if not row.missing])
        for row in table.rows:
            if row.missing:
                print(f"{row.cells[0]}: {NOT_MEASURED}: {row.missing}")
        print("".join(f"\n{sentence}" for sentence in (*table.warnings, *table.verdict)))
    print(f"\n{report.folder / 'report.html'}, report.md and report.json are written")

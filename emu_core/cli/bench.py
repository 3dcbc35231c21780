"""`emu bench PAPER`: emu, fmda, bicvm, dual-encoder."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from emu_core.bench.papers import PAPERS, EmuBench, EmuPart, FmdaBench, FmdaPart, Preset
from emu_core.cli import options as shared
from emu_core.cli.printing import PrintedLine, print_table
from emu_core.cli.verb import VERBS, Output, add_verb, option
from emu_core.formats.tables.formats import FORMAT_TITLES

if TYPE_CHECKING:
    from emu_core.bench.report import BenchReport
    from emu_core.runs.run import Status


_COLUMNS = {f"{role}_column" for role in ("text", *shared.COLUMN_ROLES)}
_NOT_TAKEN = {"verb", "json", "precision", "data", "files", "language", "missing", *_COLUMNS}


def add_bench(verbs: Any) -> None:
    """Add `emu bench PAPER DATA`."""
    summary = VERBS["bench"].summary
    papers = verbs.add_parser("bench", help=summary, description=summary[0].upper() + summary[1:] + ".")
    actions = papers.add_subparsers(required=True, metavar="PAPER", help="the paper whose experiments to run")
    _add_mteb(actions)
    emu, fmda, bicvm, dual = (
        add_verb(actions, name, partial(_run, name), paper.summary) for name, paper in PAPERS.items()
    )
    _add_labelled(emu, "emu", EmuPart, EmuBench().parts)
    shared.add_train_languages(emu)
    about = "draws of the labels for the few-shot table (default: 10)"
    option(emu, "--draws N", about, type=int, default=EmuBench().draws)
    about = "halves of the intents that have labels in turn, for the table of new intents (default: 4)"
    option(emu, "--halves N", about, type=int, default=EmuBench().halves)
    _add_labelled(fmda, "fmda", FmdaPart, FmdaBench().parts)
    which = "English, or else the set's first language, with each other one"
    option(
        fmda, "--pair en-de", f"two languages; repeatable (default: {which})", action="append", dest="pairs"
    )
    _add_parallel(bicvm)
    uses = {"documents": "to classify", "test-documents": "to test on (default: a third of them)"}
    for name, use in uses.items():
        about = f"documents {use}, by language: a folder of class folders, such as Reuters', or a table"
        option(bicvm, f"--{name} en=PATH", about, nargs="+", default=[])
    _add_parallel(dual)
    shared.add_sts(dual)
    shared.add_task_files(dual, "a model that learns from them, too")
    about = "JSON lines such as XNLI's, to evaluate models that learn from --nli; repeatable"
    option(dual, "--test-nli FILE", about, action="append", default=[])
    about = "paper: also train each method with the paper's own settings (default: tuned)"
    for parser in (emu, fmda, dual):
        option(parser, "--preset", about, type=Preset, default=Preset.TUNED, choices=list(Preset))


def _add_mteb(actions: Any) -> None:
    """Add `emu bench mteb ENCODER`, which is of no paper."""
    summary = "measure an encoder by MTEB's protocols, with its package, on your own data"
    parser = add_verb(actions, "mteb", _mteb, summary)
    what = f"an export's folder, a finished run's, or {shared.SPECS}"
    parser.add_argument("encoder", metavar="ENCODER", help=what)
    what = f"{FORMAT_TITLES} files (default: the demo set)"
    shared.add_data(parser, what, default="demo", precision="")
    option(parser, "--parallel FILE", "parallel text, for bitext mining", nargs="+", default=[])
    option(parser, "--out DIR", "a folder for the results as MTEB writes them")


def _mteb(options: argparse.Namespace) -> Output:
    from emu_core.bench.mteb_protocols import METRICS, mteb_scores

    taken = shared.taken(options, "parallel", "out")
    scores = mteb_scores(options.encoder, options.data, **taken, **shared.data_options(options))
    means = scores.groupby("task", sort=False)[["main_score", *METRICS]].mean()
    if not options.json:
        for task, rows in scores.groupby("task", sort=False):
            print(f"\n{task}\n")
            cells = [[row.subset, f"{row.sentences:,}", *_fractions(row)] for row in rows.itertuples()]
            mean = next(means.loc[[task]].itertuples())
            print_table(("subset", "sentences", *METRICS), [*cells, ["mean", "", *_fractions(mean)]])
    return {"scores": scores.to_dict("records"), "means": means.to_dict("index")}


def _fractions(row: Any) -> list[str]:
    from emu_core.bench.mteb_protocols import METRICS

    return [f"{getattr(row, name):.4f}" for name in METRICS]


def _add_parallel(parser: argparse.ArgumentParser) -> None:
    """Add the options that the benchmarks of encoders trained from scratch share."""
    shared.add_parallel_files(parser)
    about = "parallel text of the same pairs to measure on (default: up to 1,000 pairs held out)"
    option(parser, "--test FILE", about, nargs="+", default=[])
    shared.add_languages(parser, "languages of files that do not name theirs, in the order of the files")
    about = "labelled sentences for cross-lingual classification: files or a folder, or the word demo"
    option(parser, "--labelled DATA", about, nargs="+")
    option(parser, "--quick", "a trial with 3,000 pairs and a few epochs", action="store_true")
    shared.add_device(parser, "")
    _add_shared(parser)


def _add_labelled(
    parser: argparse.ArgumentParser,
    paper: str,
    parts: type[EmuPart] | type[FmdaPart],
    usual: Sequence[EmuPart | FmdaPart],
) -> None:
    """Add the options that the benchmarks on a labelled set share; `usual` are the parts that are run by default."""
    shared.add_data(parser)
    shared.add_encoder(parser, default=PAPERS[paper].encoder, specs=shared.FRESH)
    others = ", ".join(part for part in parts if part not in usual)
    which = f"all but {others}" if others else "all"
    values: dict[str, Any] = {"nargs": "+", "default": list(usual), "choices": list(parts), "dest": "parts"}
    option(parser, "--tables PART", f"some of {', '.join(parts)} (default: {which})", **values)
    _add_shared(parser)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    option(parser, "--out DIR", "repeat a stopped command to resume it from this folder", required=True)
    option(parser, "--seeds N", "default: 0", type=int, nargs="+", default=[0])
    option(parser, "--epochs N", "maximum for every system (default: measured for each)", type=int)


def _run(paper: str, options: argparse.Namespace) -> Output:
    from emu_core.bench.job import bench
    from emu_core.formats.texts.documents import named_files

    taken = {name: value for name, value in vars(options).items() if name not in _NOT_TAKEN}
    taken |= {name: named_files(taken[name]) for name in ("documents", "test_documents") if name in taken}
    if paper == "emu":
        taken["train_languages"] = taken["train_languages"] or ["en"]
    if "parts" in taken:
        taken["reading"] = shared.reading_of(options)
    data = options.data if "parts" in taken else options.files
    return report_of(bench(paper, data, on_progress=cells_line(), **taken), options)


def report_of(report: "BenchReport", options: argparse.Namespace) -> Output:
    """Print a report, unless JSON is asked for; return it as plain values."""
    from emu_core.bench.tables import NOT_MEASURED

    if not options.json:
        for table in report.tables:
            print(f"\n{table.title}\n")
            print_table(table.head, [row.texts(len(table.head)) for row in table.rows if not row.missing])
            for row in table.rows:
                if row.missing:
                    print(f"{row.cells[0]}: {NOT_MEASURED}: {row.missing}")
            print("".join(f"\n{sentence}" for sentence in (*table.warnings, *table.verdict)))
        print(f"\n{report.folder / 'report.html'}, report.md and report.json are written")
    return {"folder": str(report.folder), **report.to_json()}


def cells_line() -> "Callable[[Status], None]":
    """Return a callback that shows a benchmark's progress in one line."""
    line = PrintedLine()

    def show(status: "Status") -> None:
        if status.steps and not status.state.is_over:
            done = f"{status.phase}: {status.step} of {status.steps} cells are done"
            line.show(done, status.step / status.steps)

    return show

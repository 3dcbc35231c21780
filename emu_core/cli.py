"""The command `emu`. With --json one JSON object goes to stdout; progress always goes to stderr."""

import argparse
import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from emu_core import __version__
from emu_core.bench.plan import Part
from emu_core.config import EmuConfig, Method, PosteriorConfig, Settings, configure
from emu_core.data.columns import ColumnMapping
from emu_core.errors import CancelledError, EmuError, RunError
from emu_core.exporting.formats import ExportFormat
from emu_core.processes import is_main
from emu_core.runs import NAME, Run, Status, new_run_name

USER_ERROR, CANCELLED = 2, 130
STDOUT = "-"  # where --json prints


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0, 2 for an error a user can mend (its sentence is on stderr), 130 when stopped.
    """
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    try:
        result = options.verb(options)
    except (CancelledError, KeyboardInterrupt) as stop:
        print(f"emu: stopped: {stop}" if str(stop) else "emu: stopped", file=sys.stderr)
        return CANCELLED
    except EmuError as error:
        if is_main():  # of several processes one speaks
            print(f"emu: {error}", file=sys.stderr)
        return USER_ERROR
    if options.json == STDOUT and is_main():
        print(json.dumps(result, ensure_ascii=False))
    return 0


def _stop(*_: object) -> None:
    raise KeyboardInterrupt("asked to end")


def _train(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.encoders.registry import encoder_kind
    from emu_core.verbs.train import train

    changes = {
        field.name: getattr(options, field.name)
        for field in (*fields(EmuConfig), *fields(PosteriorConfig))
        if getattr(options, field.name, None) is not None
    }
    config = configure(
        Method(options.method),
        encoder_kind(options.encoder) if options.preset == "tuned" else None,
        **changes,
    )
    out = (
        Path(options.out)
        if options.out
        else Path("runs") / new_run_name(Path("runs"), options.method, options.encoder)
    )
    if not NAME.fullmatch(out.name):
        raise RunError(
            f"'{out.name}' can't name a run: use lower-case letters, digits, '.', '_' and '-' in --out"
        )
    run = train(
        options.data,
        out=out,
        method=options.method,
        encoder=options.encoder,
        train_languages=options.train_language or ["en"],
        unlabelled_languages=options.unlabelled_language,
        unlabelled=options.unlabelled,
        seed=options.seed,
        device=options.device,
        precision=options.precision,
        config=config,
        mapping=_mapping(options),
        language=options.language,
        on_progress=_training_line(),
    )
    return _trained(run, options)


def _resume(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.verbs.train import resume

    return _trained(resume(options.run, on_progress=_training_line()), options)


def _trained(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    metrics = run.metrics()
    if not options.json and is_main():
        _print_training(run, metrics)
    return {"run": str(run.folder), **metrics}


def _evaluate(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.verbs.evaluate import evaluate

    result = evaluate(
        options.data,
        encoder=f"run:{options.run}" if options.run else options.encoder,
        pool=options.pool,
        languages=_listed(options.languages),
        split=options.split,
        device=options.device,
        mapping=_mapping(options),
        language=options.language,
    )
    if not options.json:
        rows = [
            (
                pair,
                f"{value:.1f}",
                "{:.1f} to {:.1f}".format(*result["intervals"][pair]),
                str(result["counts"][pair]),
            )
            for pair, value in result["accuracy"].items()
        ]
        _print_table(("direction", "Acc@1 %", "95 % interval", "queries"), rows)
        print(f"\nmean {result['mean']:.1f}")
        if "mean_with_en" in result:
            print(f"mean of the directions with English {result['mean_with_en']:.1f}")
        if "guard" in result:
            _print_guard(result["guard"], result.get("guard_note", ""))
    return result


def _forgetting(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.evaluation.forgetting import MOST_FALL_POINTS, MOST_FALL_SPEARMAN
    from emu_core.meters import FORGETTING_HEAD, forgetting_rows
    from emu_core.verbs.forgetting import forgetting

    result = forgetting(
        options.run, sts=options.sts, translations=options.translations, device=options.device
    )
    if options.json != STDOUT:
        _print_table(FORGETTING_HEAD, forgetting_rows(result))
        fallen = ", ".join(result["flagged"]) or "nothing"
        print(f"\nfell by more than {MOST_FALL_SPEARMAN:g} or {MOST_FALL_POINTS:g} points: {fallen}")
    if options.json and options.json != STDOUT:
        try:
            Path(options.json).write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", "utf-8")
        except OSError as error:
            raise RunError(
                f"can't write {options.json}: {error.strerror}; choose another file with --json"
            ) from None
    return result


def _embed(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.verbs.embed import embed

    count = embed(
        options.data,
        out=options.out,
        encoder=f"run:{options.run}" if options.run else options.encoder,
        device=options.device,
        mapping=_mapping(options),
        language=options.language,
        on_progress=_counter("sentences"),
    )
    if not options.json and is_main():
        print(f"{count:,} vectors in {options.out}")
    return {"sentences": count, "file": str(options.out)}


def _export(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.verbs.export import export

    folder = export(options.run, options.out, format=options.format)
    if not options.json:
        print(f"{folder} is written; its README.md says how to open it")
    return {"folder": str(folder)}


def _bench(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.bench.bench import bench_emu
    from emu_core.bench.table import NOT_MEASURED

    line = _Line()
    report = bench_emu(
        options.data,
        out=options.out,
        encoder=options.encoder,
        seeds=options.seeds,
        parts=options.tables,
        train_languages=options.train_language or ["en"],
        epochs=options.epochs,
        device=options.device,
        mapping=_mapping(options),
        language=options.language,
        on_progress=lambda done, total, cell: line.show(
            f"{cell}: {done} of {total} cells are done", done / total
        ),
    )
    if not options.json:
        for table in report.tables:
            print(f"\n{table.title}\n")
            _print_table(table.head, [row for row in table.rows if not row[1].startswith(NOT_MEASURED)])
            for row in table.rows:
                if row[1].startswith(NOT_MEASURED):
                    print(f"{row[0]}: {row[1]}")
            print("".join(f"\n{said}" for said in table.verdict))
        print(f"\n{report.folder / 'report.html'}, report.md and report.json are written")
    return {"folder": str(report.folder), **report.to_json()}


def _encoders(options: argparse.Namespace) -> dict[str, Any]:
    from dataclasses import asdict

    from emu_core.encoders.registry import available_encoders

    found = available_encoders()
    if not options.json:
        rows = [
            (
                info.spec,
                info.name,
                str(len(info.languages) or ""),
                str(info.dim or ""),
                f"{info.size_mb} MB" if info.size_mb else "",
                info.licence,
                "yes" if info.available else "no",
            )
            for info in found
        ]
        _print_table(("encoder", "name", "languages", "numbers", "size", "licence", "ready"), rows)
        for info in found:
            if not info.available:
                print(f"\n{info.spec}: {info.reason}")
    return {"encoders": [asdict(info) for info in found]}


def _download(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.encoders.laser_download import download

    folder = download()
    if not options.json:
        print(f"the files of {options.encoder} are in {folder}")
    return {"encoder": options.encoder, "folder": str(folder)}


def _app(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.verbs.serve import serve

    return {"exit": serve(port=options.port, runs=Path(options.runs))}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emu", description="Specialise multilingual sentence encoders.")
    parser.add_argument("--version", action="version", version=f"emu {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    train = _verb(verbs, "train", _train, "specialise an encoder on a labelled set")
    _data(train)
    train.add_argument(
        "--method",
        default=Method.POSTERIOR.value,
        choices=[method.value for method in Method],
        help="posterior: seconds, the encoder stays as it is; emu: the paper's (default: posterior)",
    )
    train.add_argument(
        "--encoder",
        default="use",
        metavar="SPEC",
        help="use, e5-small, laser, hf:NAME_OR_PATH or run:DIR (default: use)",
    )
    train.add_argument(
        "--train-language", action="append", metavar="CODE", help="labels used; repeatable (default: en)"
    )
    train.add_argument(
        "--unlabelled-language", action="append", metavar="CODE",
        help="language of DATA used without labels; repeatable (default: all others)",
    )  # fmt: skip
    train.add_argument(
        "--unlabelled",
        action="append",
        metavar="FILE",
        help="unlabelled sentences instead of DATA's; repeatable",
    )
    train.add_argument("--out", metavar="DIR", help="the run's folder (default: a new one under runs/)")
    train.add_argument("--seed", type=int, default=0)
    train.add_argument(
        "--preset",
        default="tuned",
        choices=["tuned", "paper"],
        help="defaults for the encoder, or the paper's own",
    )
    train.add_argument(
        "--precision", choices=["fp32", "bf16"], help="of the encoder's forward pass (default: fp32)"
    )
    _settings(train)

    resume = _verb(verbs, "resume", _resume, "go on with a run that was stopped")
    resume.add_argument("run", metavar="RUN", help="the run's folder")

    evaluate = _verb(verbs, "evaluate", _evaluate, "leave-one-out Acc@1, or queries against a pool")
    _data(evaluate)
    _encoder(evaluate)
    evaluate.add_argument("--pool", nargs="+", metavar="FILE", help="find neighbours in these labelled files")
    evaluate.add_argument("--languages", metavar="en,de", help="these languages only")
    evaluate.add_argument("--split", help="rows of this split only (default: all)")

    forgetting = _verb(
        verbs,
        "forgetting",
        _forgetting,
        "measure similarity and translations before and after",
        json_file=True,
    )
    forgetting.add_argument("run", metavar="RUN", help="a finished run's folder")
    forgetting.add_argument(
        "--sts", metavar="FOLDER", help="files such as de.dev.csv: two sentences and a score a row, no header"
    )
    forgetting.add_argument(
        "--translations",
        metavar="FOLDER",
        help="files such as x.deu-eng.deu and x.deu-eng.eng, a sentence a line",
    )
    forgetting.add_argument("--device", default="auto", help="auto, cpu, cuda:0 (default: auto)")

    embed = _verb(verbs, "embed", _embed, "write sentence vectors to Parquet")
    _data(embed)
    _encoder(embed)
    embed.add_argument("--out", required=True, metavar="FILE.parquet")

    export = _verb(verbs, "export", _export, "write an encoder for sentence-transformers, or as ONNX")
    export.add_argument("run", metavar="RUN", help="a finished run's folder, or an encoder such as e5-small")
    export.add_argument(
        "--format",
        default="sentence-transformers",
        choices=[known.value for known in ExportFormat],
        help="what to write (default: sentence-transformers)",
    )
    export.add_argument("--out", required=True, metavar="DIR")

    encoders = _verb(verbs, "encoders", _encoders, "list the encoders, or fetch one's files")
    actions = encoders.add_subparsers(metavar="ACTION")
    download = _verb(actions, "download", _download, "fetch the files of an encoder that is not in a package")
    download.add_argument("encoder", choices=["laser"])

    _bench_options(verbs)

    app = _verb(verbs, "app", _app, "serve the app on this machine")
    app.add_argument("--port", type=int, default=8501)
    app.add_argument("--runs", default="runs", metavar="DIR", help="where runs are kept (default: runs)")
    return parser


def _bench_options(verbs: Any) -> None:
    bench = _verb(verbs, "bench", _bench, "run the paper's experiments and today's peers on a labelled set")
    bench.add_argument("paper", choices=["emu"], help="whose experiments")
    _data(bench)
    bench.add_argument(
        "--out", required=True, metavar="DIR", help="the same again goes on where it was stopped"
    )
    bench.add_argument(
        "--encoder",
        default="use",
        metavar="SPEC",
        help="use, e5-small, laser, hf:NAME_OR_PATH (default: use)",
    )
    bench.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="default: 0")
    bench.add_argument("--tables", nargs="+", default=list(Part), choices=list(Part), help="default: all")
    bench.add_argument(
        "--train-language", action="append", metavar="CODE", help="labels used; repeatable (default: en)"
    )
    bench.add_argument(
        "--epochs", type=int, metavar="N", help="of every system (default: measured for the encoder)"
    )


def _settings(parser: argparse.ArgumentParser) -> None:
    """A flag for each hyper-parameter; what the method itself decides has none."""
    group = parser.add_argument_group(
        "hyper-parameters", "defaults: those measured for the encoder (--preset)"
    )
    _flags(group, EmuConfig())
    group = parser.add_argument_group("hyper-parameters of the method posterior")
    _flags(group, PosteriorConfig())


def _flags(group: Any, settings: Settings) -> None:
    for field in fields(settings):
        default = getattr(settings, field.name)
        flag = f"--{field.name.replace('_', '-')}"
        if isinstance(default, StrEnum) and field.name != "objective":
            group.add_argument(flag, choices=[member.value for member in type(default)])
        elif isinstance(default, int | float) and not isinstance(default, bool):
            group.add_argument(flag, type=type(default), metavar="N")


def _verb(
    verbs: Any,
    name: str,
    run: Callable[[argparse.Namespace], dict[str, Any]],
    summary: str,
    *,
    json_file: bool = False,
) -> argparse.ArgumentParser:
    """A verb's parser; with `json_file`, --json may name a file, which is then written beside what is printed."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    parser.set_defaults(verb=run)
    if json_file:
        parser.add_argument(
            "--json",
            nargs="?",
            const=STDOUT,
            metavar="FILE",
            help="print one JSON object, or write it to FILE",
        )
    else:
        parser.add_argument("--json", action="store_const", const=STDOUT, help="print one JSON object")
    return parser


def _data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="CSV, TSV, JSONL, Parquet or XLSX files, or the word demo"
    )
    for role in ("text", "intent", "language", "id", "split"):
        parser.add_argument(f"--{role}-column", metavar="NAME")
    parser.add_argument("--language", metavar="CODE", help="language of files that have no language column")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda:0 (default: auto)")


def _encoder(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--encoder",
        default="use",
        metavar="SPEC",
        help="use, e5-small, laser, hf:NAME_OR_PATH or run:DIR (default: use)",
    )
    which.add_argument("--run", metavar="DIR", help="a finished run's specialised encoder")


def _mapping(options: argparse.Namespace) -> ColumnMapping:
    return ColumnMapping(
        text=options.text_column,
        intent=options.intent_column,
        language=options.language_column,
        id=options.id_column,
        split=options.split_column,
    )


def _listed(value: str | None) -> list[str] | None:
    return None if value is None else [code.strip() for code in value.split(",") if code.strip()]


def _training_line() -> Callable[[Status], None]:
    line = _Line()

    def show(status: Status) -> None:
        if status.state.is_over:
            line.show(status.state, 1.0)
        elif status.phase == "training":
            left = status.seconds_left
            pace = "" if left is None else f", {left:.0f} s left"
            line.show(f"training: step {status.step} of {status.steps}{pace}", status.progress)
        elif status.phase:
            line.show(status.phase, status.progress)

    return show


def _counter(what: str) -> Callable[[int, int], None]:
    line = _Line()
    return lambda done, total: line.show(f"{done:,} of {total:,} {what}", done / total)


class _Line:
    """Progress on stderr: one line rewritten in a terminal, a line for each tenth in a log."""

    def __init__(self) -> None:
        self._tenth, self._words = -1, ""

    def show(self, text: str, progress: float) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="\n" if progress >= 1 else "", file=sys.stderr, flush=True)
            return
        tenth, words = int(progress * 10), text.split(":", maxsplit=1)[0]
        if tenth != self._tenth or words != self._words:
            print(text, file=sys.stderr, flush=True)
            self._tenth, self._words = tenth, words


def _print_training(run: Run, metrics: Mapping[str, Any]) -> None:
    for warning in metrics["warnings"]:
        print(f"note: {warning}")
    if "base" in metrics:
        base, specialised = metrics["base"], metrics["specialised"]
        print(f"leave-one-out Acc@1 %, split {metrics['split']}\n")
        rows = [
            (pair, f"{base[pair]:.1f}", f"{specialised[pair]:.1f}", f"{specialised[pair] - base[pair]:+.1f}")
            for pair in base
        ]
        _print_table(("direction", "before", "after", "difference"), rows)
        before, after = metrics["mean_base"], metrics["mean_specialised"]
        print(f"\nmean over the {metrics['mean_over']}: {before:.1f} -> {after:.1f} ({after - before:+.1f})")
        _print_guard(metrics["guard"], "")
        if metrics["leakage"]:
            from emu_core.meters import LEAKAGE_HEAD, leakage_rows

            print("\nHow well the vectors tell the language\n")
            _print_table(LEAKAGE_HEAD, leakage_rows(metrics["leakage"]))
    else:
        print(metrics["note"])
    print(f"{run.folder} in {metrics['seconds']:.0f} s")


def _print_guard(guard: Mapping[str, Any] | None, reason: str) -> None:
    if guard is None:
        print(f"\nNot guarded: {reason}")
        return
    from emu_core.meters import GUARD_HEAD, guard_rows, guard_sentences

    print("\nWhat each language's queries gained or lost, points of Acc@1\n")
    _print_table(GUARD_HEAD, guard_rows(guard))
    print("\n" + ("\n".join(guard_sentences(guard).values()) or "No language is seen to lose."))


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )

"""Options that several verbs share."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu_core.errors import RunError
from emu_core.runs.run import NAME, new_run_name

if TYPE_CHECKING:
    from emu_core.data.labelled.columns import ColumnMapping

FRESH = "use, e5-small, laser, hf:NAME_OR_PATH"
SPECS = f"{FRESH} or run:DIR"


def add_data(
    parser: argparse.ArgumentParser,
    what: str = "CSV, TSV, JSONL, Parquet or XLSX files, or the word demo",
) -> None:
    """Files, their columns and language, and the device that reads them."""
    parser.add_argument("data", nargs="+", metavar="DATA", help=what)
    parser.add_argument(
        "--text-column", metavar="NAME",
        help="of the sentences; also --{intent,language,id,split}-column",
    )  # fmt: skip
    for role in ("intent", "language", "id", "split"):
        parser.add_argument(f"--{role}-column", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--language", metavar="CODE", help="language of files that have no language column")
    add_device(parser)


def add_parallel_files(parser: argparse.ArgumentParser) -> None:
    """Parallel text to learn from."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE",
        help="parallel text: two files of a sentence a line (x.en x.de), TSV or TMX; any of them gzipped",
    )  # fmt: skip
    parser.add_argument(
        "--drop-empty",
        action="store_true",
        help="leave out pairs with an empty side, which are an error otherwise",
    )


def add_task_files(parser: argparse.ArgumentParser, who: str) -> None:
    """Files for the dual encoder's other tasks, and who learns from them."""
    for name, what in (
        ("dialogues", "comments with their responses, a pair a line"),
        ("running-text", "sentences in their order, a line each, an empty line between documents"),
        ("nli", "SNLI's or MultiNLI's JSON lines"),
    ):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="FILE", help=f"{what}, for {who}; repeatable"
        )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where to compute."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda:0 (default: auto)")


def add_encoder(parser: Any, *, default: str = "use", specs: str = SPECS) -> None:
    """An encoder by its name, of those that `specs` tells of."""
    parser.add_argument("--encoder", default=default, metavar="SPEC", help=f"{specs} (default: {default})")


def add_encoder_or_run(parser: argparse.ArgumentParser) -> None:
    """An encoder by its name, or by the run that specialised it."""
    which = parser.add_mutually_exclusive_group()
    add_encoder(which)
    which.add_argument("--run", metavar="DIR", help="a finished run's specialised encoder")


def encoder_of(options: argparse.Namespace) -> str:
    """Return the spec that `add_encoder_or_run` read, for `load_encoder`."""
    return f"run:{options.run}" if options.run else str(options.encoder)


def mapping_of(options: argparse.Namespace) -> "ColumnMapping":
    """Return the columns that were named."""
    from emu_core.data.labelled.columns import ColumnMapping

    return ColumnMapping(
        text=options.text_column,
        intent=options.intent_column,
        language=options.language_column,
        id=options.id_column,
        split=options.split_column,
    )


def data_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_data` read, as the functions of `emu_core` take it."""
    return {"device": options.device, "mapping": mapping_of(options), "language": options.language}


def listed(value: str) -> list[str]:
    """The codes of en,de."""
    return [code.strip() for code in value.split(",") if code.strip()]


def add_run(parser: argparse.ArgumentParser, tuned: str) -> None:
    """Add the folder of a run, its seed, and its defaults: the tuned ones, or the paper's."""
    parser.add_argument("--out", metavar="DIR", help="the run's folder (default: a new one under runs/)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of every random draw (default: 0)")
    parser.add_argument(
        "--preset",
        default="tuned",
        choices=["tuned", "paper"],
        help=f"defaults {tuned}, or the paper's own (default: tuned)",
    )
    parser.add_argument(
        "--snapshots",
        action="store_true",
        help="store some sentences with their vectors after each epoch",
    )


def run_folder(options: argparse.Namespace, what: str) -> Path:
    """The run's folder that was asked for, or a new one named after the method and `what`.

    Raises:
        RunError: its name can't name a run.
    """
    runs = Path("runs")
    out = Path(options.out) if options.out else runs / new_run_name(runs, options.method, what)
    if not NAME.fullmatch(out.name):
        raise RunError(
            f"'{out.name}' can't name a run: use lower-case letters, digits, '.', '_' and '-' in --out"
        )
    return out

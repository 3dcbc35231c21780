"""Options that several verbs share."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu_core.cli.verb import option
from emu_core.formats.tables.formats import FORMAT_TITLES

if TYPE_CHECKING:
    from emu_core.data.reading import Reading

FRESH = "use, e5-small, laser, hf:NAME_OR_PATH"
SPECS = f"{FRESH}, run:DIR or A+B"
OF_VECTORS = "fp32 or bf16, of vectors (default: bf16 on a CPU that has it, else fp32)"
COLUMN_ROLES = ("intent", "language", "id", "split", "description")  # roles of columns, beside the text


def add_data(
    parser: argparse.ArgumentParser,
    what: str = f"{FORMAT_TITLES} files, or the word demo",
    kind: Callable[[str], Any] = Path,
    default: str | None = None,
    precision: str = OF_VECTORS,
) -> None:
    """Add files, or what else `kind` makes of the arguments, their columns and language, and the device.

    `precision` is that of `add_device`.
    """
    count: dict[str, Any] = {"nargs": "+"} if default is None else {"nargs": "*", "default": [kind(default)]}
    parser.add_argument("data", **count, metavar="DATA", help=what, type=kind)
    option(parser, "--text-column NAME", "of sentences; also --{intent,language,id,split,description}-column")
    for role in COLUMN_ROLES:
        option(parser, f"--{role}-column NAME", argparse.SUPPRESS)
    about = "language of files without a column of it (--missing WORDS: no values)"
    option(parser, "--language CODE", about)
    option(parser, "--missing WORDS", argparse.SUPPRESS, type=comma_list, default=[])
    add_device(parser, precision)


def add_intents(parser: argparse.ArgumentParser) -> None:
    """Add the merging of intents, and which of them stand for "none of these"."""
    about = "merge those that differ only in: case, language (at their end)"
    option(parser, "--merge-intents HOW", about, type=comma_list, default=[])
    about = "means none of these; repeatable (--real-intent: it does not)"
    option(parser, "--no-intent NAME", about, action="append", dest="no_intents", default=[])
    option(parser, "--real-intent NAME", argparse.SUPPRESS, action="append", dest="real_intents", default=[])


def add_descriptions(parser: argparse.ArgumentParser) -> None:
    """Add a table of descriptions of intents."""
    option(parser, "--intents FILE", "columns intent, description: what they are about")


def add_parallel_files(parser: argparse.ArgumentParser) -> None:
    """Add files of parallel text."""
    what = (
        "parallel text: two files of a sentence a line (x.en x.de), a table, pairs by tabs, TMX, XLIFF or PO"
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=what)
    option(
        parser, "--drop-empty", "leave out pairs with an empty side instead of failing", action="store_true"
    )


def add_task_files(parser: argparse.ArgumentParser, who: str) -> None:
    """Add files for the dual encoder's other tasks; `who` learns from them."""
    for name, what in (
        ("dialogues", "comments with their responses, one pair a line"),
        ("running-text", "consecutive sentences, one a line, with an empty line between documents"),
        ("nli", "SNLI's or MultiNLI's JSON lines"),
    ):
        option(parser, f"--{name} FILE", f"{what}, for {who}; repeatable", action="append", default=[])


def add_sts(parser: argparse.ArgumentParser) -> None:
    """Add a folder of scored pairs of sentences."""
    option(parser, "--sts FOLDER", "files such as de.dev.csv: two sentences and a score a row, no header")


def add_train_languages(parser: argparse.ArgumentParser) -> None:
    """Add the languages whose labels are used."""
    about = "labelled language; repeatable (default: en)"
    option(parser, "--train-language CODE", about, action="append", dest="train_languages")


def add_languages(parser: argparse.ArgumentParser, which: str) -> None:
    """Add a list of languages; `which` is the help."""
    option(parser, "--languages en,de", which, type=comma_list)


def add_device(parser: argparse.ArgumentParser, precision: str = OF_VECTORS) -> None:
    """Add the device to compute on and the precision there; `precision` is its help, "" for no such option."""
    option(parser, "--device", "auto, cpu, cuda:0 (default: auto)", default="auto")
    if precision:
        names = ["auto", "fp32", "bf16"]
        option(parser, "--precision TYPE", precision, default="auto", choices=names)


def join_precision(options: argparse.Namespace) -> argparse.Namespace:
    """Put the precision that was named after the device, as functions in `emu_core` take it: "cpu:fp32"."""
    if "device" in options and getattr(options, "precision", "auto") != "auto":
        options.device = f"{options.device}:{options.precision}"
    return options


def add_encoder(parser: Any, *, default: str = "use", specs: str = SPECS) -> None:
    """Add an encoder by name; `specs` lists the names in the help."""
    option(parser, "--encoder SPEC", f"{specs} (default: {default})", default=default)


def add_encoder_or_run(parser: argparse.ArgumentParser) -> None:
    """Add an encoder by name, or by the run that trained it."""
    which = parser.add_mutually_exclusive_group()
    add_encoder(which)
    option(which, "--run DIR", "a finished run's specialised encoder")


def add_engine(parser: argparse.ArgumentParser, out: str) -> None:
    """Add the engine of a cluster, and its address; `out` is what --out then names."""
    about = f"work on a cluster: DATA are Parquet files or folders, and --out is {out}"
    option(parser, "--engine ray", about, choices=["ray"])
    option(parser, "--address HOST:PORT", "of the cluster, or auto (default: start one on this machine)")


def engine_of(options: argparse.Namespace) -> str | None:
    """Return the engine that was named. Raises DataError for an address without one."""
    from emu_core.errors import DataError

    if options.address and not options.engine:
        raise DataError("the address is that of a cluster; name its engine, too, with --engine ray")
    return options.engine


def encoder_of(options: argparse.Namespace) -> str:
    """Return the encoder's spec for `load_encoder`, as read by `add_encoder_or_run`."""
    return f"run:{options.run}" if options.run else str(options.encoder)


def reading_of(options: argparse.Namespace) -> "Reading":
    """Return how data is to be read, as `add_data` and, if the verb has them, `add_intents` were told."""
    from emu_core.data.reading import OF_INTENTS, ColumnMapping, Reading

    columns = {role: getattr(options, f"{role}_column") for role in ("text", *COLUMN_ROLES)}
    of_intents = {name: value for name, value in vars(options).items() if name in OF_INTENTS}
    return Reading(ColumnMapping(**columns), options.language, missing=options.missing, **of_intents)


def data_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what was read by `add_data` and `add_intents`, as arguments of the functions in `emu_core`."""
    return {"reading": reading_of(options), "device": options.device}


def taken(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return some of the options by name."""
    return {name: getattr(options, name) for name in names}


def comma_list(value: str) -> list[str]:
    """Return the items of a comma-separated list such as en,de."""
    return [code.strip() for code in value.split(",") if code.strip()]


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints every figure, and not only the verdict."""
    option(parser, "--full", "print every figure, not only the verdict", action="store_true")

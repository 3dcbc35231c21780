"""The parser of a verb and its help. Imports only the standard library, since packages may be missing."""

import argparse
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

STDOUT = "-"  # where --json prints
Output = Mapping[str, object]  # of a verb, printed with --json; its exit status is `exit`
HELP_COLUMNS = 100  # width of the help, at most
FLAGS: dict[str, str] = {}
"""The flag of each option that `option` added, by the name under which its value is stored."""


class Verb(NamedTuple):
    """A verb of the command.

    Attributes:
        module: adds its options; only that of the verb that is needed is imported.
        summary: what it does, for the help.
    """

    module: str
    summary: str


VERBS = {
    "train": Verb("train", "specialise an encoder on a labelled set"),
    "resume": Verb("train", "start a queued run or benchmark, or resume a stopped one"),
    "pretrain": Verb("train", "train an encoder from scratch, on parallel text"),
    "evaluate": Verb("evaluate", "leave-one-out Acc@1, or queries against a pool"),
    "compare": Verb("compare", "compare a run with its base encoder, or any two encoders"),
    "forgetting": Verb(
        "evaluate",
        "measure similarity and translations before and after; without files, on a small built-in set",
    ),
    "embed": Verb("encoders", "write sentence embeddings to Parquet"),
    "predict": Verb("predict", "predict the intents of sentences, by a run or from labelled ones"),
    "start": Verb("start", "predict intents from their names alone, and choose the sentences to label first"),
    "export": Verb("encoders", "write an encoder for sentence-transformers, or as ONNX"),
    "encoders": Verb("encoders", "list the encoders, or fetch one's files"),
    "generate": Verb("generate", "generate commands in several languages, with annotated slots"),
    "bench": Verb("bench", "run a paper's experiments and today's peers on your own data"),
    "app": Verb("serve", "serve the app, on this machine or to others"),
    "doctor": Verb("doctor", "check packages, device and encoders, and tell how to install what is missing"),
}


class _Help(argparse.HelpFormatter):
    """Formats help to at most `HELP_COLUMNS` columns and keeps line breaks."""

    def __init__(self, prog: str) -> None:
        super().__init__(
            prog, max_help_position=30, width=min(HELP_COLUMNS, shutil.get_terminal_size().columns)
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [
            line for part in text.split("\n") for line in textwrap.wrap(part, width, break_on_hyphens=False)
        ]

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(textwrap.fill(line, width, initial_indent=indent) for line in text.split("\n"))


class VerbParser(argparse.ArgumentParser):
    """A parser that can add options depending on the arguments, with which it calls `complete`, if that is set."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"formatter_class": _Help, **kwargs})
        self.complete: Callable[[Sequence[str]], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the missing options once, then parse the arguments."""
        complete, self.complete = self.complete, None
        if complete is not None:
            complete(args)
        return super().parse_known_args(args, namespace)


def add_verb(
    verbs: Any,
    name: str,
    run: Callable[[argparse.Namespace], Output],
    summary: str = "",
    *,
    json_file: bool = False,
) -> VerbParser:
    """Add and return the parser of a verb of `VERBS`, or of what a verb is followed by, which has a summary of its own.

    With `json_file`, --json may name a file to write as well.
    """
    summary = summary or VERBS[name].summary
    parser: VerbParser = verbs.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", add_help=False
    )
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)  # who reads it knows
    parser.set_defaults(verb=run)
    if json_file:
        option(parser, "--json FILE", "print one JSON object, or write it to FILE", nargs="?", const=STDOUT)
    else:
        option(parser, "--json", "print one JSON object", action="store_const", const=STDOUT)
    return parser


def option(parser: Any, name: str, about: str, **form: Any) -> None:
    """Add an option to a parser or a group, named with the word that stands for its value, such as "--out DIR"."""
    flag, _, value = name.partition(" ")
    action = parser.add_argument(flag, help=about, **({"metavar": value} if value else {}), **form)
    FLAGS[action.dest] = flag

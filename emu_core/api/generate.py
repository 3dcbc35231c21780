"""Generate slot-annotated commands in several languages, as files."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.commands.generate import CommandsReport, commands_report, generate_commands
from emu_core.data.commands.groups import COMMAND_PACKAGES
from emu_core.data.export_csv import safe_csv
from emu_core.data.languages import language_name
from emu_core.data.sets import LabelledSet
from emu_core.errors import DataError
from emu_core.files import whole_folder, write_whole

NOTE = "README.md"


class GeneratedReport(CommandsReport):
    """The result of `generate`, which explains the keys."""

    made_from: list[str]
    seed: int
    sha256: str
    rows: dict[str, dict[str, int]]


def generate(languages: Sequence[str], pairs: int, seed: int, out: str | Path) -> GeneratedReport:
    """Generate commands, and write a folder with a CSV file for each language and a README.md with the licence.

    Args:
        languages: codes or names, at least one.
        pairs: number of meanings, each written once in every language.
        seed: the same seed gives the same files.
        out: the folder to write; a new one appears when it is complete. None of the files may exist already.

    Returns:
        What `commands_report` counts, `rows` by language and split, `seed`, `sha256`, and `made_from`, the packages.

    Raises:
        DataError: see `generate_commands`; or a file exists already or can't be written.
    """
    commands = generate_commands(languages, pairs, seed=seed)
    report = commands_report(commands.languages)
    files = {
        f"{language}.csv": safe_csv(commands.select(languages=[language]).frame)
        for language in commands.languages
    }
    files[NOTE] = _note(commands, report["weak"], seed).encode()
    _write(Path(out), files)
    rows: dict[str, dict[str, int]] = {language: {} for language in commands.languages}
    for (language, split), count in commands.frame.groupby(["language", "split"]).size().items():
        rows[language][split] = int(count)
    return {
        "made_from": list(COMMAND_PACKAGES),
        "seed": seed,
        "sha256": commands.sha256(),
        "rows": rows,
        **report,
    }


def _note(commands: LabelledSet, sentences: Sequence[str], seed: int) -> str:
    names = ", ".join(language_name(language) for language in commands.languages)
    meanings = commands.frame["id"].nunique()
    weak = "".join(f"\n- {sentence}" for sentence in sentences)
    return f"""# Commands to a home's voice assistant

{meanings:,} meanings in {names}, each once in every language, with seed {seed}. One CSV file per language, with
the columns id, text, intent, language, split and annotated. The same id means the same in every language;
`annotated` marks slots as `[slot : value]`. Train, dev and test share no id; some wordings of dev and test are in
no train row.

## Licence

These files are under [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/). They are made from the sentence
templates of [Home Assistant Intents](https://github.com/OHF-Voice/intents), by the Home Assistant Authors and the
contributors of each language, under CC BY 4.0; packages used: {", ".join(COMMAND_PACKAGES)}.

What was changed: templates were expanded at random; some of their rules and lists of words were replaced, and
expansions that are ungrammatical or that mean another thing in another language were left out; articles and
prepositions before values were made to agree; names of rooms, devices, shopping items, tasks, timers, messages and
media were added, which the templates leave to the user; values were marked as slots, and sentences with the same
intent, slots and values were paired across languages.
{f"{chr(10)}## Weak pairs{chr(10)}{weak}{chr(10)}" if weak else ""}"""


def _write(folder: Path, files: dict[str, bytes]) -> None:
    if present := [name for name in files if (folder / name).exists()]:
        raise DataError(f"{folder / present[0]} exists already; name another folder or remove it")
    try:
        if folder.is_dir() and any(folder.iterdir()):  # keep the other files
            for name, content in files.items():
                write_whole(folder / name, content)
            return
        with whole_folder(folder) as partial:
            for name, content in files.items():
                (partial / name).write_bytes(content)
    except OSError as fault:
        raise DataError(
            f"{folder} can't be written ({fault.strerror or fault}); name another folder"
        ) from fault

"""What the verbs share: naming data, naming methods, measuring a labelled set."""

from collections.abc import Callable, Sequence
from pathlib import Path

from emu_core.config import Method
from emu_core.data.demo import DEMO
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.data.labelled.load import read_labelled
from emu_core.encoders.base import FloatArray
from emu_core.errors import DataError, TrainingError
from emu_core.evaluation.leave_one_out import LeaveOneOut, leave_one_out

Data = LabelledSet | str | Path | Sequence[str | Path]
ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")


def labelled_set(
    data: Data, *, mapping: ColumnMapping | None = None, language: str | None = None
) -> tuple[LabelledSet, tuple[str, ...]]:
    """The set itself, or read from files, folders of files, or the word "demo"; with what the audit found.

    Raises:
        DataError: it can't be read.
    """
    if isinstance(data, LabelledSet):
        return data, ()
    named = [data] if isinstance(data, str | Path) else list(data)
    labelled, audit = read_labelled(files_of(named), mapping=mapping, language=language)
    return labelled, tuple(audit.summary())


def files_of(named: Sequence[str | Path]) -> list[str | Path]:
    """Replace each folder by the data files in it, in order of name."""
    files: list[str | Path] = []
    for source in named:
        folder = Path(source)
        if source == DEMO or not folder.is_dir():
            files.append(source)
            continue
        inside = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
        if not inside:
            raise DataError(f"no {', '.join(ENDINGS)} file in the folder {folder}; name the files themselves")
        files += inside
    return files


def method_named(name: str) -> Method:
    """The method. Raises TrainingError for an unknown name."""
    try:
        return Method(name)
    except ValueError:
        raise TrainingError(f"no method '{name}'; there are: {', '.join(Method)}") from None


def measure(
    labelled: LabelledSet,
    encode: Callable[[Sequence[str]], FloatArray],
    languages: Sequence[str] | None = None,
) -> LeaveOneOut:
    """Leave-one-out Acc@1 of every ordered pair of the set's languages."""
    part = labelled if languages is None else labelled.select(languages=languages)
    frame = part.frame
    return leave_one_out(
        encode(frame["text"].tolist()),
        frame["intent"].tolist(),
        frame["language"].tolist(),
        frame["id"].tolist(),
    )

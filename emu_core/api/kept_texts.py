"""The texts a run trains on from scratch, stored in its folder until it is finished, so that it can be resumed."""

from collections.abc import Sequence

from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.stored import read_texts, write_texts
from emu_core.data.texts.text import Text
from emu_core.errors import DataError, RunError
from emu_core.runs.run import Run
from emu_core.trainers.dual_tasks import Tasks


def keep_texts(run: Run, tasks: Tasks, dev: Sequence[ParallelText], test: Sequence[ParallelText]) -> None:
    """Write everything that training and evaluation read into the run's training folder."""
    run.training_folder.mkdir(exist_ok=True)
    train: list[Text] = [*tasks.translation, *tasks.dialogues, *tasks.running_text, *tasks.nli]
    write_texts(run.training_folder, {"train": train, "dev": dev, "test": test})


def kept_texts(run: Run) -> tuple[Tasks, list[ParallelText], list[ParallelText]]:
    """Read what `keep_texts` wrote: to train on, dev, test. Raises RunError where that is damaged."""
    try:
        parts = read_texts(run.training_folder)
    except DataError:
        raise RunError(f"the texts in {run.training_folder} are damaged; train the run again") from None
    train = parts.get("train", [])
    tasks = Tasks(
        [text for text in train if isinstance(text, ParallelText)],
        [text for text in train if isinstance(text, Dialogues)],
        [text for text in train if isinstance(text, RunningText)],
        [text for text in train if isinstance(text, Nli)],
    )
    dev, test = (
        [text for text in parts.get(part, []) if isinstance(text, ParallelText)] for part in ("dev", "test")
    )
    return tasks, dev, test

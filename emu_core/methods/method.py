"""A training method as the rest of the product sees it: its name, its settings, its data and its training."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from emu_core.config.settings import Settings, infos
from emu_core.errors import TrainingError

if TYPE_CHECKING:
    from emu_core.methods.job import Job, Outcome
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import LabelledData, ParallelData

Presets = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


class Needs(StrEnum):
    """The data that a method learns from."""

    INTENTS = "labelled sentences"
    SLOTS = "translations with annotated slots"
    PARALLEL_TEXT = "parallel text"


def _none(_encoder: str, _changes: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}


def _reads_no_unlabelled(_settings: Any) -> bool:
    return False


# With its libraries and encoder, and a batch: the most that was measured, and some more, as how much of the libraries'
# files counts depends on the machine. A method from scratch has no encoder yet; of such, one and the same training was
# seen to take from 508 to 607 MB.
_PROCESS = {"use": 1000 * 2**20, "e5-small": 1650 * 2**20, "": 650 * 2**20}
_VECTOR = 512 * 24  # bytes of a held-out sentence's vectors and of what is computed of them
WORDS = 20  # of a sentence that is learnt from scratch
_ROW = 1500  # bytes of a row of data as it is read, checked and stored


def process_memory(data: "LabelledData", config: "RunConfig") -> int | None:
    """Return the bytes that a run takes whatever its method; None for an encoder that was not measured.

    They are those of the process and the encoder, of the rows, and of the vectors that it is evaluated on.
    """
    own = _PROCESS.get(config.encoder)
    if own is None:
        return None
    held_out = data.labelled.held_out_part()
    return own + _ROW * len(data.labelled) + (0 if held_out is None else len(held_out) * _VECTOR)


def scratch_memory(data: "ParallelData") -> tuple[int, int]:
    """Return the bytes that a training from scratch takes for its process and examples, and all characters of these."""
    texts = (*data.tasks.all, *data.dev, *data.test)
    cells = (cell for text in texts for _, column in text.to_frame().items() for cell in column)
    characters = sum(len(cell) for cell in cells if isinstance(cell, str))
    return _PROCESS[""] + _ROW * sum(map(len, texts)), characters


def _check_nothing(_data: "LabelledData", _config: "RunConfig", _settings: Any) -> None:
    return


@dataclass(frozen=True)
class Method:
    """A training method.

    The functions import torch where they are called and not before: this table is read for `--help`, too.

    Attributes:
        name: on the command line and in config.json.
        title: on pages.
        summary: one sentence for people who choose a method.
        settings: the class of its hyper-parameters; the defaults of its fields are the paper's.
        needs: the data that it learns from.
        train: trains an encoder on the data of a job; gets the job and the settings.
        variant: the fields of the settings that make it what it is, where several methods share a class.
        tuned: the fields for which better defaults than the paper's were measured; gets the kind of encoder ("" where
            an encoder is trained from scratch) and the fields that a user sets.
        encoder: the spec taken where none is named; "" trains an encoder from scratch.
        reads_tokens: whether it needs an encoder that gives a state for each token.
        reads_tasks: whether it learns from dialogues, running text and NLI pairs beside parallel text.
        reads_unlabelled: whether it reads sentences without labels, with the given settings.
        check: raises where data and settings do not fit, before an encoder is loaded; gets the data, the run's
            configuration and the settings. Read for methods that learn from a labelled set.
        memory: estimates the most memory that a training takes, in bytes, from above; gets the data (`LabelledData` or
            `ParallelData`), the run's configuration and the settings. None, as the function or from it, says nothing
            and refuses nothing.
    """

    name: str
    title: str
    summary: str
    settings: type[Settings]
    needs: Needs
    train: Callable[["Job", Any], "Outcome"]
    variant: Mapping[str, Any] = field(default_factory=dict)
    tuned: Presets = _none
    encoder: str = "use"
    reads_tokens: bool = False
    reads_tasks: bool = False
    reads_unlabelled: Callable[[Any], bool] = _reads_no_unlabelled
    check: Callable[["LabelledData", "RunConfig", Any], None] = _check_nothing
    memory: Callable[[Any, "RunConfig", Any], int | None] | None = None

    def configure(self, encoder: str | None = None, **changes: Any) -> Settings:
        """Return the method's settings.

        Args:
            encoder: start from the defaults measured for this kind of encoder ("" where one is trained from scratch);
                None starts from the paper's own values.
            changes: fields to set on top.

        Raises:
            TrainingError: a value is outside its range, or the method has no such setting.
        """
        unknown = sorted(set(changes) - {info.name for info in infos(self.settings)})
        if unknown:
            raise TrainingError(
                f"the method {self.name} has no setting {', '.join(unknown)}; leave it out, or use another method"
            )
        tuned = {} if encoder is None else self.tuned(encoder, changes)
        return self.settings(**{**tuned, **self.variant, **changes})

    def settings_from(self, values: Mapping[str, Any]) -> Settings:
        """Return settings as config.json of a run holds them.

        Raises:
            TrainingError: they are not all there, or another version of this library wrote them.
        """
        names = {one.name: one.added for one in infos(self.settings)}
        if wrong := sorted(name for name in names.keys() ^ values.keys() if not names.get(name)):
            raise TrainingError(
                f"the settings of the method {self.name} are damaged, or another version wrote them "
                f"({', '.join(wrong)[:200]} missing or unknown); train again"
            )
        return self.settings(**values)

    def check_settings(self, settings: Settings) -> dict[str, Any]:
        """Return settings as config.json holds them.

        Raises:
            TrainingError: they are another method's.
        """
        if type(settings) is not self.settings:
            raise TrainingError(
                f"the settings are a {type(settings).__name__}, which is not what the method {self.name} takes; name "
                f'the method too, or make them with configure("{self.name}")'
            )
        return asdict(settings)

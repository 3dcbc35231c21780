"""The definition of a training method: its name, settings, data and training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from emu_core.encoders.specs import parts_of
from emu_core.errors import Fix, TrainingError
from emu_core.settings import JoinedSettings, Settings, infos

if TYPE_CHECKING:
    from emu_core.runs.config import Hyperparameters, RunConfig
    from emu_core.runs.stored_data import LabelledData, ParallelData
    from emu_core.training.frozen import FitFrozen
    from emu_core.training.job import Job, Outcome

Presets = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


class Needs(StrEnum):
    """The data that a method learns from."""

    INTENTS = "labelled sentences"
    SLOTS = "translations with annotated slots"
    SENTENCES = "sentences without labels"
    PARALLEL_TEXT = "parallel text"


# The process with libraries, encoder and a batch: the largest measured value and a margin, since machines differ in how
# much of the libraries' files counts. Without an encoder, the same training was seen to take from 508 to 607 MB.
_PROCESS = {"use": 1000 * 2**20, "e5-small": 1650 * 2**20, "": 650 * 2**20}
_VECTOR = 512 * 24  # bytes of a held-out sentence's vectors and of what is computed from them
WORDS = 20  # per sentence, in training from scratch
_ROW = 1500  # bytes of a row of data as it is read, checked and stored


def process_memory(data: "LabelledData", config: "RunConfig") -> int | None:
    """Return the bytes that a run needs with any method; None for an encoder that was not measured.

    They comprise the process with the encoder, the rows, and the vectors for the evaluation.
    """
    base_bytes = _PROCESS.get(config.encoder)
    if base_bytes is None:
        return None
    held_out = data.labelled.held_out_part()
    return base_bytes + _ROW * len(data.labelled) + (0 if held_out is None else len(held_out) * _VECTOR)


def scratch_memory(data: "ParallelData") -> tuple[int, int]:
    """Return the bytes that training from scratch needs for process and examples, and their number of characters."""
    texts = (*data.tasks.all, *data.dev, *data.test)
    cells = (cell for text in texts for _, column in text.to_frame().items() for cell in column)
    characters = sum(len(cell) for cell in cells if isinstance(cell, str))
    return _PROCESS[""] + _ROW * sum(map(len, texts)), characters


def joined_memory(needed: Sequence[int]) -> int:
    """Return the bytes for training the parts of a joined encoder in turn, given those of runs of their own."""
    return sum(needed) - (len(needed) - 1) * _PROCESS[""]  # one process, in which every part's encoder stays


@dataclass(frozen=True)
class Part:
    """The training of a part of an encoder in a run of its own, or of the whole if it isn't joined."""

    method: "Method"
    settings: Settings
    config: "RunConfig"


@dataclass(frozen=True)
class Method:
    """A training method.

    Its functions import torch only when they are called, since the command's help reads this table, too.

    Attributes:
        name: on the command line and in config.json.
        list_order: its place in lists of methods, from 0.
        is_default: whether it is used where no method is named, among those that learn from the same kind of data.
        title: in the app.
        summary: one sentence that helps to choose a method.
        settings: the class of its hyper-parameters, whose defaults are the paper's.
        needs: the data that it learns from.
        train: trains an encoder, given a job and the settings.
        variant: the settings that define the method, if several methods share a class.
        tuned: returns measured defaults that are better than the paper's, given the kind of encoder ("" for training
            from scratch) and the settings that a user changes.
        encoder: the default encoder's spec; "" for a method that trains from scratch.
        reads_tokens: whether it needs an encoder with a state for each token.
        reads_tasks: whether it also learns from dialogues, running text and NLI pairs.
        reads_unlabelled: returns whether it reads unlabelled sentences under the given settings.
        check: raises an error if data, run configuration and settings do not match, before an encoder is loaded. Called
            for methods that learn from a labelled set.
        memory: returns an upper estimate of the memory that training needs, in bytes, given data, run configuration
            and settings. None, as the function or its value, means that it is unknown.
        fit_frozen: fits the method in seconds on vectors of an encoder that stays as it is; None for a method that
            trains for longer.
    """

    name: str
    title: str
    summary: str
    settings: type[Settings]
    needs: Needs
    train: Callable[["Job", Any], "Outcome"]
    variant: Mapping[str, Any] = field(default_factory=dict)
    tuned: Presets = lambda _encoder, _changes: {}
    encoder: str = "use"
    reads_tokens: bool = False
    reads_tasks: bool = False
    reads_unlabelled: Callable[[Any], bool] = lambda _settings: False
    check: Callable[["LabelledData", "RunConfig", Any], None] = lambda _data, _config, _settings: None
    memory: Callable[[Any, "RunConfig", Any], int | None] | None = None
    fit_frozen: "FitFrozen | None" = None
    list_order: int = 100
    is_default: bool = False

    def configure(self, encoder: str | Sequence[str] | None = None, **changes: Any) -> Settings:
        """Return the method's settings, or those of each part of a joined encoder (`JoinedSettings`).

        Args:
            encoder: start from the defaults measured for this kind of encoder ("" for training from scratch), or for
                each of several that are joined; None starts from the paper's values.
            changes: settings that differ from these defaults.

        Raises:
            TrainingError: a value is out of range, or the method has no such setting.
        """
        names = [info.name for info in infos(self.settings)]
        if unknown := sorted(set(changes) - set(names)):
            near = get_close_matches(unknown[0], names, 1, 0.5) or names
            raise TrainingError(
                f"the method {self.name} has no setting {', '.join(unknown)}, but {', '.join(near)}; leave it out, or "
                "use another ",
                Fix("method"),
            )
        kinds = parts_of(encoder) if isinstance(encoder, str) else encoder
        if kinds is not None and len(kinds) > 1:
            return JoinedSettings(tuple(self.configure(kind, **changes) for kind in kinds))
        tuned = {} if kinds is None else self.tuned(kinds[0], changes)
        return self.settings(**{**tuned, **self.variant, **changes})

    def other_encoders(self, values: "Hyperparameters") -> tuple[str, ...]:
        """Return the encoders, besides the one that is trained, from which it learns under a run's settings."""
        named = (values.get(info.name) for info in infos(self.settings) if info.is_encoder)
        return tuple(str(encoder) for encoder in named if encoder)

    def learning_from(self, settings: Settings, encoder: str) -> Settings:
        """Return settings under which the method learns from another encoder."""
        return replace(settings, **{info.name: encoder for info in infos(self.settings) if info.is_encoder})

    def settings_from(self, values: Mapping[str, Any]) -> Settings:
        """Return the settings for values from a run's config.json.

        Raises:
            TrainingError: settings are missing or unknown, for example because another version wrote them.
        """
        if wrong := sorted({info.name for info in infos(self.settings)} ^ values.keys()):
            raise TrainingError(
                f"the settings of the method {self.name} are damaged, or another version wrote them "
                f"({', '.join(wrong)[:200]} missing or unknown); train again"
            )
        return self.settings(**values)

    def check_settings(self, settings: Settings) -> "Hyperparameters":
        """Return settings as values for config.json.

        Raises:
            TrainingError: they belong to another method.
        """
        if type(settings) is not self.settings:
            raise TrainingError(
                f"the settings are a {type(settings).__name__}, which is not what the method {self.name} takes; name "
                f'the method too, or make them with configure("{self.name}")'
            )
        return asdict(settings)

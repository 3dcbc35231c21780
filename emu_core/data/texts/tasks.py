"""The texts that an encoder is trained on from scratch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.text import Text


@dataclass(frozen=True)
class Tasks:
    """Any of these, each text a task of its own (Chidambaram et al. 2019, section 2.2)."""

    translation: Sequence[ParallelText] = ()
    dialogues: Sequence[Dialogues] = ()
    running_text: Sequence[RunningText] = ()
    nli: Sequence[Nli] = ()

    @classmethod
    def of(cls, texts: Sequence[Text]) -> Self:
        """Sort texts by their kind."""
        return cls(
            tuple(text for text in texts if isinstance(text, ParallelText)),
            tuple(text for text in texts if isinstance(text, Dialogues)),
            tuple(text for text in texts if isinstance(text, RunningText)),
            tuple(text for text in texts if isinstance(text, Nli)),
        )

    @property
    def all(self) -> list[Text]:
        """Every text, translation first."""
        return [*self.translation, *self.dialogues, *self.running_text, *self.nli]

    @property
    def sizes(self) -> list[int]:
        """The number of examples of each text, translation first; of running text those of quick thought."""
        return [len(text) for text in self.all]

    @property
    def notes(self) -> list[str]:
        """The readers' notes, each once."""
        return list(dict.fromkeys(note for text in self.all for note in text.notes))

"""The texts that an encoder is trained on from scratch."""

from collections.abc import Sequence
from dataclasses import dataclass

from emu_core.data.dialogues import Dialogues
from emu_core.data.nli import Nli
from emu_core.data.parallel_text import ParallelText
from emu_core.data.running_text import RunningText


@dataclass(frozen=True)
class Tasks:
    """Any of these, each text a task of its own (Chidambaram et al. 2019, section 2.2)."""

    translation: Sequence[ParallelText] = ()
    dialogues: Sequence[Dialogues] = ()
    running_text: Sequence[RunningText] = ()
    nli: Sequence[Nli] = ()

    @property
    def sizes(self) -> list[int]:
        """The number of examples of each text, translation first; of running text those of quick thought."""
        return [len(text) for text in (*self.translation, *self.dialogues, *self.running_text, *self.nli)]

    @property
    def notes(self) -> list[str]:
        """What the readers found odd, each sentence once."""
        texts = (*self.translation, *self.dialogues, *self.running_text, *self.nli)
        return list(dict.fromkeys(note for text in texts for note in text.notes))

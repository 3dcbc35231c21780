"""Dialogues: comments and their responses, for the conversational response task."""

from dataclasses import dataclass
from typing import ClassVar

from emu_core.data.texts.text import TrainingText
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError


@dataclass(frozen=True)
class Dialogues(TrainingText):
    """Comments and their responses in one language.

    Attributes:
        language: its code.
        comments: N texts, none blank.
        responses: the N responses, in the same order, none blank.
    """

    kind: ClassVar = "dialogues"
    columns: ClassVar = {"comments": "comment", "responses": "response"}
    language: str
    comments: tuple[str, ...]
    responses: tuple[str, ...]
    name: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.comments) != len(self.responses) or not self.comments:
            raise DataError(
                f"{shown(self.name)} has {counted(len(self.comments), 'comment')} and "
                f"{counted(len(self.responses), 'response')}; give each comment its response"
            )

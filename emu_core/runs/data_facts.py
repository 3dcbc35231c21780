"""The contents of data.json: name, hash and counts of a run's data, by the kind of data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec


@dataclass(frozen=True)
class DataFacts:
    """The facts of any data.

    Attributes:
        name: for people.
        sha256: a checksum of the sentences that are learnt from, with their labels; "" if it is unknown.
    """

    name: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class LabelledFacts(DataFacts):
    """The facts of sentences with intents.

    Attributes:
        rows: the number of sentences in all splits.
        labelled: the number of those whose labels are used.
        intents: the number of intents.
        counts: the number of sentences by language and split, such as "en train".
        audit: the findings of the audit, a sentence each.
        hold_out: the share drawn as split test, where the data had no splits.
    """

    rows: int = 0
    labelled: int = 0
    intents: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    audit: tuple[str, ...] = ()
    hold_out: float = 0.0


@dataclass(frozen=True)
class ParallelFacts(DataFacts):
    """The facts of texts that an encoder is trained on from scratch.

    Attributes:
        pairs: the number of translations by language pair, such as "en-de".
        dev: those that select the epoch.
        test: those that the encoder is measured on.
        dialogues: the number of comments with responses.
        running_text: the number of sentences of running text.
        nli: the number of NLI pairs.
    """

    pairs: Mapping[str, int] = field(default_factory=dict)
    dev: Mapping[str, int] = field(default_factory=dict)
    test: Mapping[str, int] = field(default_factory=dict)
    dialogues: int = 0
    running_text: int = 0
    nli: int = 0


def facts_of(values: Mapping[str, Any]) -> DataFacts:
    """Return the facts in parsed JSON, as those of the first kind of data whose fields are all there.

    Raises:
        msgspec.ValidationError: a field is not of its type.
    """
    kinds: tuple[type[DataFacts], ...] = (LabelledFacts, ParallelFacts, DataFacts)
    kind = next(
        (kind for kind in kinds if {field.name for field in fields(kind)} <= values.keys()), DataFacts
    )
    return msgspec.convert(values, kind)

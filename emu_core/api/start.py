"""Start without labels: the intents of unlabelled sentences from the intents' names alone, and which to label next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.api.predict import sentences_of
from emu_core.data.detection import detected_or_stated
from emu_core.data.languages import UNDETERMINED
from emu_core.data.none_of_these import usual_names
from emu_core.data.reading import DescribedIntents, Reading, checked_reading
from emu_core.data.wording import counted, listed
from emu_core.devices import pick_device
from emu_core.encoders.remembered import opened_encoder
from emu_core.encoders.specs import BOTH, joined_spec
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.projection import project, stratified_sample
from emu_core.formats.descriptions import read_intents
from emu_core.formats.in_memory import Sources
from emu_core.intents.answers import NO_INTENT
from emu_core.intents.names import have_letters, name_texts, name_vectors
from emu_core.intents.without_labels import fit_names
from emu_core.reports.map_pages import maps_page

_LEAST_PROBABILITY = 1e-12
MOST_ON_MAP = 2_000  # sentences, which t-SNE lays out in about 6 seconds
ENCODER = joined_spec(BOTH)  # names alone say so little that both encoders together are worth their time


@dataclass(frozen=True, eq=False)
class Started:
    """Sentences with the intents that their names suggest, and those to label next.

    Attributes:
        predictions: a row a sentence, with the columns id if the data has ids, text, language, intent, "no known
            intent" of a text without a letter, and lead: how far it is ahead of the next one, in log-probability, which
            no labels have calibrated.
        next: those of them to label next, in the same columns: of every intent, those that are least sure.
        texts: what each intent was told by: its description, or the words of its name.
        vectors: (N, dim), of the sentences, without the mean of their language.
        encoder: the spec of the encoder.
    """

    predictions: pd.DataFrame
    next: pd.DataFrame
    texts: dict[str, str]
    vectors: Vectors
    encoder: str

    def at(self, index: pd.Index) -> "Started":
        """Return the same with another index of the N sentences."""
        predictions = self.predictions.set_axis(index)
        return replace(self, predictions=predictions, next=self.next.set_axis(index[self.next.index]))

    @cached_property
    def drawn(self) -> NDArray[np.intp]:
        """The rows on the map: all, or of many a sample of each language and intent."""
        rows = self.predictions
        return stratified_sample(rows["language"].tolist(), rows["intent"].tolist(), MOST_ON_MAP)

    def map_page(self, method: str = "tsne") -> str:
        """Return a map of the sentences, coloured by their predicted intents, as an HTML page that needs no network.

        Args:
            method: "pca" takes a moment, "tsne" and "umap" take seconds.

        Raises:
            DataError: the method is unknown, or there are too few sentences for it.
        """
        points = self.predictions.iloc[self.drawn].assign(row=self.drawn)
        points["language"] = points["language"].replace("", UNDETERMINED)
        places = project(self.vectors[self.drawn], method)
        return maps_page(
            {self.encoder: places}, points.reset_index(drop=True), "intent", frozenset()
        ).decode()


def start(
    intents: DescribedIntents,
    data: Sources,
    *,
    encoder: str = ENCODER,
    count: int = 10,
    device: str = "auto",
    reading: Reading | None = None,
    on_note: Callable[[str], object] | None = None,
) -> Started:
    """Predict the intents of sentences from the intents' names or descriptions, without any label.

    The sentences also say what is meant by the names (`emu_core.intents.without_labels.fit_names`), so that the answer
    to one depends on the others, if there are 30 or more.

    Args:
        intents: names, a dict of descriptions by name, or a file: a table with the columns intent and description, or
            a text file with a name a line.
        data: sentences, as `predict` takes them.
        encoder: what `load_encoder` takes.
        count: number of sentences to label next.
        device: "auto", "cpu", "cuda:0".
        reading: columns with unusual names, and the language of files that state none; see `Reading`.
        on_note: called with a note on rows without a sentence, which are left out.

    Raises:
        DataError: the intents or the sentences can't be read, or a name has no words and no description.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> import emu_core
        >>> mails = ["Wo kann ich schwimmen?", "Ich brauche ein Taxi zum Flughafen", "Where is the pool?"]
        >>> started = emu_core.start(["swimming_pool", "taxi"], mails, encoder="use")
        >>> started.predictions["intent"].tolist()
        ['swimming_pool', 'taxi', 'swimming_pool']
        >>> started.map_page("pca").count("<html")
        1
    """
    described = _real(read_intents(intents))
    texts = name_texts(list(described), described)
    if silent := [name for name in described if name not in texts]:
        raise DataError(
            f"no words say what is meant by {listed(silent, 3)}; describe it, or give it a name of words"
        )
    sentences = sentences_of(
        data, checked_reading(reading).of_sentences(), columns=("id", "text", "language"), on_note=on_note
    )
    index, sentences = sentences.index, sentences.reset_index(drop=True)
    if not len(sentences):
        raise DataError("there are no sentences; check that the data has rows")
    opened = opened_encoder(encoder, pick_device(device)).without_head
    names = name_vectors(opened.encode, list(described), described)
    asked_texts = sentences["text"].tolist()
    languages, note = detected_or_stated(asked_texts, sentences["language"].tolist(), opened.read_languages)
    sentences = sentences.assign(language=languages)
    if note and on_note is not None:
        on_note(note)
    vectors = opened.encode(asked_texts)
    model, asked = fit_names(names, vectors, asked_texts, languages, opened.part_dims)
    probabilities, has_letters = model.probabilities(asked), have_letters(asked_texts)
    first, second = (np.partition(probabilities, -rank, axis=1)[:, -rank] for rank in (1, 2))
    named = np.array(model.intents_, dtype=object)[probabilities.argmax(axis=1)]
    lead = np.log(first / np.maximum(second, _LEAST_PROBABILITY))
    predictions = sentences.assign(
        intent=np.where(has_letters, named, NO_INTENT), lead=np.where(has_letters, lead, np.nan)
    )
    if not (predictions["id"] != "").any():
        del predictions["id"]
    started = Started(predictions, predictions.iloc[_next(predictions, count)], texts, asked, encoder)
    return started.at(index)


def _real(described: Mapping[str, str]) -> dict[str, str]:
    """Return the intents without those that stand for none of these. Raises DataError if fewer than two are left."""
    none = usual_names(described)
    real = {name: text for name, text in described.items() if name not in none}
    if len(real) < 2:
        raise DataError(
            f"{counted(len(real), 'intent')} named beside what stands for none of these ({listed(sorted(none), 3)}); "
            "name 2 or more"
        )
    return real


def _next(predictions: pd.DataFrame, count: int) -> NDArray[np.intp]:
    """Return the rows to label next: of each intent in turn, the sentence that is least sure."""
    unsure = predictions.dropna(subset="lead").drop_duplicates("text").sort_values("lead", kind="stable")
    turn = unsure.groupby("intent").cumcount()
    rows: NDArray[np.intp] = turn.sort_values(kind="stable").index.to_numpy()[:count]
    return rows

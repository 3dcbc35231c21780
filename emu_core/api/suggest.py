"""Which sentences to label next, and what the labels have brought so far: the default method, refitted each time."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import torch

from emu_core.api.inputs import Data, labelled_set
from emu_core.config import PosteriorConfig
from emu_core.data.demo import reference_texts
from emu_core.data.labelled import LabelledSet, UnlabelledSet, read_unlabelled
from emu_core.data.labelled.columns import ColumnMapping
from emu_core.devices import pick_device
from emu_core.encoders.base import FloatArray
from emu_core.encoders.encode import head_after
from emu_core.encoders.registry import load_encoder
from emu_core.evaluation.active_learning import Uncertainty, choose_sentences, uncertainty
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.leave_one_out import pool_accuracy
from emu_core.methods.registry import configure
from emu_core.trainers.posterior import fit_head, sampled_rows


class Suggester:
    """The default method, `posterior`, fitted on what is labelled: what to label next, and how good it is by now.

    Attributes:
        pool_: the labelled sentences that it was fitted on, those of split train where there are splits.
        head_: the fitted head.
    """

    def __init__(self, encoder: str = "use", *, encode: Encode | None = None, device: str = "auto") -> None:
        """Choose an encoder; nothing is loaded.

        Args:
            encoder: what `load_encoder` takes, by which the method's settings are chosen.
            encode: computes its vectors, where they are known already; None loads the encoder.
            device: "auto", "cpu", "cuda:0".
        """
        self.encoder, self.device = encoder, device
        self.settings = cast(PosteriorConfig, configure("posterior", encoder))
        self._encoder = encode

    def _encode(self, texts: Sequence[str]) -> FloatArray:
        if self._encoder is None:
            self._encoder = load_encoder(self.encoder, device=pick_device(self.device)).encode
        return self._encoder(texts)

    def reference(self) -> dict[str, list[str]]:
        """Return the sentences that are encoded beside the labelled ones, by language; `use` needs none."""
        needed = self.settings.language_directions or self.settings.centering
        return reference_texts() if needed else {}

    def fit(self, labelled: LabelledSet) -> "Suggester":
        """Fit the default method on a set's sentences of split train, or on all where there are no splits.

        Raises:
            DataError: there are splits, but none is train.
            EncoderError: the encoder can't be opened.
            TrainingError: the sentences have a single intent.
        """
        self.pool_ = labelled.train_part()
        frame, settings = self.pool_.frame, self.settings
        labels = np.searchsorted(self.pool_.intents, frame["intent"]).tolist()
        some = sampled_rows(labels) or list(range(len(labels)))
        reference = {language: self._encode(texts) for language, texts in self.reference().items()}
        vectors, ids = self._encode(frame["text"].tolist()), frame["id"].tolist()
        with warnings.catch_warnings():  # scikit-learn expects more than two sentences of an intent
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            self.head_ = fit_head(
                vectors[some], [labels[row] for row in some], reference, settings, [ids[row] for row in some]
            )
        return self

    def suggest(
        self, unlabelled: UnlabelledSet, count: int = 20, *, by: Uncertainty | str = Uncertainty.MARGIN
    ) -> pd.DataFrame:
        """Rank the sentences that are worth a label most; see `emu_core.evaluation.active_learning`.

        Args:
            unlabelled: the sentences to choose from; those whose text and language are labelled already are left out.
            count: how many to choose, a fair share of each language.
            by: how unsure the method is of a sentence, by its probabilities of the intents.

        Returns:
            Up to `count` rows, the most uncertain first: `row`, counted from 0 in the set; `text`, `language`, `id`;
            `intent`, the most probable one; `probability` of it; `uncertainty`, from 0 to 1.

        Raises:
            DataError: `count` is below 1.
        """
        known = pd.MultiIndex.from_frame(self.pool_.frame[["text", "language"]])
        frame = unlabelled.frame.reset_index(names="row")
        frame = frame[~pd.MultiIndex.from_frame(frame[["text", "language"]]).isin(known)]
        columns = ["row", "text", "language", "id", "intent", "probability", "uncertainty"]
        if frame.empty:
            return pd.DataFrame(columns=columns)
        with torch.no_grad():
            vectors = torch.from_numpy(self._encode(frame["text"].tolist()))
            probabilities = self.head_.in_parts(vectors, self.head_.posterior).numpy()
            moved = self.head_.moved(vectors).numpy()
        unsure = uncertainty(probabilities, Uncertainty(by))
        rows = choose_sentences(
            moved, unsure, frame["language"].tolist(), count, self.pool_.frame["language"].tolist()
        )
        names = np.array(self.pool_.intents, dtype=object)
        found = frame.iloc[rows].assign(
            intent=names[probabilities[rows].argmax(axis=1)],
            probability=probabilities[rows].max(axis=1),
            uncertainty=unsure[rows],
        )
        return found[columns].reset_index(drop=True)

    def score(self, held_out: LabelledSet) -> dict[str, float]:
        """Measure how many held-out sentences have the intent of their nearest labelled sentence.

        Args:
            held_out: sentences that the method was not fitted on.

        Returns:
            Percent, the mean over the held-out sentences' languages: `base` by the encoder as it is, and `fitted` by
            the fitted method.
        """
        asked, pool = held_out.frame, self.pool_.frame

        def mean_accuracy(encode: Encode) -> float:
            found = pool_accuracy(
                encode(asked["text"].tolist()),
                asked["intent"].tolist(),
                asked["language"].tolist(),
                encode(pool["text"].tolist()),
                pool["intent"].tolist(),
                pool["language"].tolist(),
                query_ids=asked["id"].tolist(),
                pool_ids=pool["id"].tolist(),
            )
            return float(np.mean(list(found.by_language.values())))

        return {
            "base": mean_accuracy(self._encode),
            "fitted": mean_accuracy(head_after(self._encode, self.head_)),
        }


def suggest_labels(
    unlabelled: UnlabelledSet | str | Path | Sequence[str | Path],
    labelled: Data,
    count: int = 20,
    *,
    by: Uncertainty | str = Uncertainty.MARGIN,
    encoder: str = "use",
    device: str = "auto",
    mapping: ColumnMapping | None = None,
    language: str | None = None,
) -> pd.DataFrame:
    """Rank the sentences without a label that are worth one most, each with the intent that is most probable now.

    The default method is fitted on the labelled sentences, which takes seconds. Chosen are sentences that it is unsure
    of, that are unlike each other, and a fair share of each language: the mini-batch of Zhdanov 2019 (see
    `emu_core.evaluation.active_learning`). With labels for them, ask again.

    Args:
        unlabelled: sentences, or files of them: tables, or text with a sentence a line.
        labelled: a labelled set, files, folders, or "demo"; of a set with splits the rows of split train.
        count: how many to choose.
        by: how unsure the method is of a sentence, "margin" or "entropy".
        encoder: what `load_encoder` takes.
        device: "auto", "cpu", "cuda:0".
        mapping: columns of the files, where their names are unusual.
        language: language of files that do not say it.

    Returns:
        What `Suggester.suggest` does.

    Raises:
        DataError: the sentences or the labelled set can't be read, or `count` is below 1.
        TrainingError: the labelled sentences have a single intent.
        EncoderError: the encoder can't be opened.
    """
    pool, _ = labelled_set(labelled, mapping=mapping, language=language)
    if not isinstance(unlabelled, UnlabelledSet):
        files = [unlabelled] if isinstance(unlabelled, str | Path) else unlabelled
        unlabelled = read_unlabelled(files, mapping=mapping, language=language)
    return Suggester(encoder, device=device).fit(pool).suggest(unlabelled, count, by=by)

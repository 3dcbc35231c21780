"""Suggest which sentences to label next, by the default method fitted on those labelled so far."""

import numpy as np
import pandas as pd

from emu_core.api.evaluate import against_pool
from emu_core.api.inputs import labelled_set, lazy_encode, unlabelled_set
from emu_core.data.reading import Reading, checked_reading
from emu_core.data.repeats import is_repeat, repeat_keys, sentence_groups
from emu_core.data.sets import LabelledSet, UnlabelledSet
from emu_core.encoders.specs import parts_of
from emu_core.errors import DataError, TrainingError
from emu_core.evaluation.active_learning import Uncertainty, choose_sentences, uncertainty
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.learning_curve import Gain, forecast_gain, rows_to_leave_out
from emu_core.formats.in_memory import Sources
from emu_core.methods.registry import default_method, method_named
from emu_core.training.frozen import FrozenFit

_FOLDS, _MOST_GUESSED = 5, 200  # of labelled sentences in languages without held-out ones
_LIKELY = 9  # intents beside each suggested sentence, one for each key from 1 to 9


class Suggester:
    """Suggests sentences to label, by the default method fitted on the labelled sentences.

    Attributes:
        pool_: the labelled sentences that it was fitted on (split train, if there are splits).
        fitted_: the fitted method, as functions of vectors.

    Examples:
        >>> import emu_core
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> english, german = emu_core.Reading(language="en"), emu_core.Reading(language="de")
        >>> labelled, _ = emu_core.read_labelled((texts, ["pool", "pool", "taxi", "taxi"]), reading=english)
        >>> sentences = emu_core.read_unlabelled(["Wo ist mein Auto?", "Ist das Wasser warm?"], reading=german)
        >>> suggester = emu_core.Suggester().fit(labelled)
        >>> suggester.suggest(sentences, 1)["language"].item()
        'de'
    """

    def __init__(self, encoder: str = "use", *, encode: Encode | None = None, device: str = "auto") -> None:
        """Choose an encoder, without loading it.

        Args:
            encoder: what `load_encoder` takes; the method's settings depend on it.
            encode: returns the encoder's vectors, if they are known already; None loads the encoder.
            device: "auto", "cpu", "cuda:0".
        """
        method = method_named(default_method())
        if method.fit_frozen is None:
            raise TrainingError(f"the default method {method.name} can't be fitted in seconds")
        # On a joined encoder, the method is fitted once, on the joined vectors.
        kind = encoder if len(parts_of(encoder)) == 1 else "joined"
        self._method, self.settings = method.fit_frozen, method.configure(kind)
        self._encode = encode or lazy_encode(encoder, device)

    def reference(self) -> dict[str, list[str]]:
        """Return reference sentences by language that the method needs as well; none for `use`."""
        return {language: list(texts) for language, texts in self._method.reference(self.settings).items()}

    def fit(self, labelled: Sources) -> "Suggester":
        """Fit the default method on a set's split train, or on all sentences if there are no splits.

        Args:
            labelled: labelled sentences, as `read_labelled` takes them.

        Raises:
            DataError: the sentences can't be read, or there are splits, but no train.
            EncoderError: the encoder can't be opened.
            TrainingError: the sentences have a single intent.
        """
        self.pool_ = labelled_set(labelled)[0].train_part()
        self.fitted_ = self._fitted(self.pool_)
        return self

    def _fitted(self, pool: LabelledSet) -> FrozenFit:
        frame = pool.frame
        labels = np.searchsorted(pool.intents, frame["intent"]).tolist()
        return self._method.fit(
            self.settings, self._encode, frame["text"].tolist(), labels, sentence_groups(frame)
        )

    def suggest(
        self, unlabelled: Sources, count: int = 20, *, by: Uncertainty | str = Uncertainty.MARGIN
    ) -> pd.DataFrame:
        """Choose the sentences that are most worth labelling; see `emu_core.evaluation.active_learning`.

        Args:
            unlabelled: the sentences to choose from, as `read_unlabelled` takes them; repeats, and sentences that are
                labelled already, are ignored.
            count: number of sentences to choose, with a fair share for each language.
            by: measure of the method's uncertainty, computed from the intent probabilities.

        Returns:
            Up to `count` rows, the most uncertain first: `row`, the row number in the set from 0; `text`, `language`,
            `id`; `intent`, the most probable one; its `probability`; `uncertainty`, from 0 to 1; `intents`, the nine
            most probable ones, the first one first.

        Raises:
            DataError: the sentences can't be read, or `count` is below 1.
        """
        frame = unlabelled_set(unlabelled).frame.reset_index(names="row")
        frame = frame[~repeat_keys(frame).duplicated() & ~is_repeat(frame, self.pool_.frame)]
        columns = ["row", "text", "language", "id", "intent", "probability", "uncertainty", "intents"]
        if frame.empty:
            return pd.DataFrame(columns=columns)
        vectors = self._encode(frame["text"].tolist())
        probabilities, mapped = self.fitted_.probabilities(vectors), self.fitted_.mapped(vectors)
        unsure = uncertainty(probabilities, Uncertainty(by))
        rows = choose_sentences(
            mapped, unsure, frame["language"].tolist(), count, self.pool_.frame["language"].tolist()
        )
        names = np.array(self.pool_.intents, dtype=object)
        likely = np.argsort(-probabilities[rows], axis=1, kind="stable")[:, :_LIKELY]
        suggestions = frame.iloc[rows].assign(
            intent=names[probabilities[rows].argmax(axis=1)],
            probability=probabilities[rows].max(axis=1),
            uncertainty=unsure[rows],
            intents=names[likely].tolist(),
        )
        return suggestions[columns].reset_index(drop=True)

    def forecast(self, held_out: Sources, more: int = 20, *, repeats: int = 8) -> dict[str, Gain]:
        """Forecast what more labels, of sentences like those labelled so far, would add to the accuracy.

        As many of the labels are left out at random, again and again, and the method is fitted without them: see
        `emu_core.evaluation.learning_curve`.

        Args:
            held_out: labelled sentences, as `read_labelled` takes them.
            more: the number of further labels.
            repeats: how often the method is fitted without some of the labels.

        Returns:
            The gain in points by language of the held-out sentences, and "" for the mean over them.

        Raises:
            DataError: there are too few labels to leave out some, or `more` is below 1.
        """
        queries, _ = labelled_set(held_out)
        pool = self.pool_
        now = self._accuracies(queries, pool, self.fitted_.encode_with(self._encode))
        gains: dict[str, list[float]] = {language: [] for language in now}
        left_out = 0
        for seed in range(repeats):
            rows = rows_to_leave_out(pool.frame["intent"].tolist(), more, seed)
            if not len(rows):
                raise DataError(
                    "there are too few labels to forecast what more of them add; label some first"
                )
            left_out, fewer = len(rows), pool.drop(rows.tolist())
            before = self._accuracies(queries, fewer, self._fitted(fewer).encode_with(self._encode))
            for language, accuracy in now.items():
                gains[language].append(accuracy - before[language])
        return {
            language: forecast_gain(np.array(values), len(pool), left_out, more, now[language])
            for language, values in gains.items()
        }

    def accuracies(self, held_out: Sources) -> dict[str, float]:
        """Measure `score` by language, with the fitted method; "" is the mean over the languages."""
        return self._accuracies(labelled_set(held_out)[0], self.pool_, self.fitted_.encode_with(self._encode))

    def guesses(self, held_out: Sources) -> pd.DataFrame:
        """Guess the intents of sentences that the method was fitted without.

        These are the held-out sentences and, of languages that have none, up to 200 of the labelled ones: each is
        guessed by a method that is fitted without it and its translations, in five parts.

        Args:
            held_out: labelled sentences, as `read_labelled` takes them.

        Returns:
            A row for each sentence: its `language`, the `probability` of the guess, and whether it `is_right`.
        """
        queries, _ = labelled_set(held_out)
        parts = [self._guesses(self.fitted_, self.pool_, queries.frame)]
        frame = self.pool_.frame
        own = frame[~frame["language"].isin(queries.languages)]
        own = own.sample(min(len(own), _MOST_GUESSED), random_state=0)
        names = pd.Series(sentence_groups(frame), index=frame.index)
        groups = names.where(names != "", " row " + names.index.astype("str"))
        folds = groups.map(
            {group: number % _FOLDS for number, group in enumerate(groups[own.index].unique())}
        )
        for fold in sorted(folds[own.index].unique()):
            rest = LabelledSet(frame[folds != fold].reset_index(drop=True), self.pool_.name)
            if len(rest.intents) > 1:
                part = own[folds[own.index] == fold]
                parts.append(self._guesses(self._fitted(rest), rest, part))
        return pd.concat(parts, ignore_index=True)

    def _guesses(self, fitted: FrozenFit, pool: LabelledSet, asked: pd.DataFrame) -> pd.DataFrame:
        probabilities = fitted.probabilities(self._encode(asked["text"].tolist()))
        guessed = np.array(pool.intents, dtype=object)[probabilities.argmax(axis=1)]
        return pd.DataFrame(
            {
                "language": asked["language"].to_numpy(object),
                "probability": probabilities.max(axis=1),
                "is_right": guessed == asked["intent"].to_numpy(object),
            }
        )

    @staticmethod
    def _accuracies(queries: LabelledSet, pool: LabelledSet, encode: Encode) -> dict[str, float]:
        by_language = against_pool(queries, pool, encode).by_language
        return dict(by_language) | {"": float(np.mean(list(by_language.values())))}

    def score(self, held_out: Sources) -> dict[str, float]:
        """Measure how many held-out sentences have the same intent as their nearest labelled sentence.

        Args:
            held_out: labelled sentences, as `read_labelled` takes them.

        Returns:
            Percentages, averaged over the held-out sentences' languages: `base` for the encoder alone, `fitted` for
            the fitted method.
        """
        queries, _ = labelled_set(held_out)

        fitted = self.fitted_.encode_with(self._encode)
        return {
            "base": self._accuracies(queries, self.pool_, self._encode)[""],
            "fitted": self._accuracies(queries, self.pool_, fitted)[""],
        }


def suggest_labels(
    unlabelled: Sources,
    labelled: Sources,
    count: int = 20,
    *,
    by: Uncertainty | str = Uncertainty.MARGIN,
    encoder: str = "use",
    device: str = "auto",
    reading: Reading | None = None,
) -> pd.DataFrame:
    """Choose the unlabelled sentences that are most worth labelling, each with its most probable intent.

    The default method is fitted on the labelled sentences, which takes seconds. It chooses sentences that it is
    uncertain of, that differ from each other, and a fair share for each language (mini-batches as in Zhdanov 2019, see
    `emu_core.evaluation.active_learning`). Call it again with their labels.

    Args:
        unlabelled: sentences (a list, a Series, a DataFrame with a column of them), or files of them: tables, or text
            with a sentence a line.
        labelled: labelled sentences, as `read_labelled` takes them; if there are splits, only split train is used.
        count: number of sentences to choose.
        by: measure of uncertainty, "margin" or "entropy".
        encoder: what `load_encoder` takes.
        device: "auto", "cpu", "cuda:0".
        reading: columns with unusual names, the language of files that state none, and more; see `Reading`.

    Returns:
        See `Suggester.suggest`.

    Raises:
        DataError: the sentences or the labelled set can't be read, or `count` is below 1.
        TrainingError: the labelled sentences have a single intent.
        EncoderError: the encoder can't be opened.

    Examples:
        >>> import emu_core
        >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
        >>> labelled = (texts, ["pool", "pool", "taxi", "taxi"])
        >>> unlabelled = ["Is the water warm?", "I need a taxi", "Where is my car?"]
        >>> table = emu_core.suggest_labels(unlabelled, labelled, 2, reading=emu_core.Reading(language="en"))
        >>> len(table), list(table)
        (2, ['row', 'text', 'language', 'id', 'intent', 'probability', 'uncertainty', 'intents'])
    """
    reading = checked_reading(reading)
    elsewhere = () if isinstance(unlabelled, UnlabelledSet) else ("mapping", "language")
    pool, _ = labelled_set(labelled, reading, elsewhere=elsewhere)
    sentences = unlabelled_set(unlabelled, reading.of_sentences())
    return Suggester(encoder, device=device).fit(pool).suggest(sentences, count, by=by)

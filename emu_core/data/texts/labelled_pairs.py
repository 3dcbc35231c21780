"""Parallel text from a labelled set, whose translations share an id."""

from emu_core.data.sets import LabelledSet
from emu_core.data.texts.parallel import ParallelText


def labelled_pairs(labelled: LabelledSet) -> list[ParallelText]:
    """Pair the sentences of English, or else of the set's first language, with each language that shares an id with it.

    Sentences without an id are left out; of those with one id in one language the first is taken.
    """
    with_id = labelled.frame[labelled.frame["id"] != ""].drop_duplicates(["id", "language"])
    by_id = with_id.pivot(index="id", columns="language", values="text")
    pivot, *other_languages = labelled.languages
    texts = []
    for other in other_languages:
        sentence_pairs = by_id.reindex(columns=[pivot, other]).dropna()
        if len(sentence_pairs):
            name = f"{labelled.name} ({pivot}-{other})"
            first, second = tuple(sentence_pairs[pivot]), tuple(sentence_pairs[other])
            texts.append(ParallelText(pivot, other, first, second, name))
    return texts

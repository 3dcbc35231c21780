"""Parallel text from a labelled set, whose translations share an id."""

from emu_core.data.labelled.sets import LabelledSet
from emu_core.data.parallel.text import ParallelText


def labelled_pairs(labelled: LabelledSet) -> list[ParallelText]:
    """Pair the sentences of English, or else of the set's first language, with each language that shares an id with it.

    Sentences without an id are left out; of those with one id in one language the first is taken.
    """
    with_id = labelled.frame[labelled.frame["id"] != ""].drop_duplicates(["id", "language"])
    by_id = with_id.pivot(index="id", columns="language", values="text")
    pivot, *others = labelled.languages
    found = []
    for other in others:
        both = by_id.reindex(columns=[pivot, other]).dropna()
        if len(both):
            name = f"{labelled.name} ({pivot}-{other})"
            found.append(ParallelText(pivot, other, tuple(both[pivot]), tuple(both[other]), name))
    return found

"""Parallel text out of a labelled set, whose translations share an id."""

from emu_core.data.demo import load_demo
from emu_core.data.labelled.sets import LabelledSet
from emu_core.data.parallel.text import ParallelText


def labelled_pairs(labelled: LabelledSet) -> list[ParallelText]:
    """Pair the sentences of English, or else of the set's first language, with their translations in each other one.

    Sentences without an id are left out; of those with one id in one language the first stands for them.

    Returns:
        A text for each language that shares an id with the first; none where no two languages share one.
    """
    with_id = labelled.frame[labelled.frame["id"] != ""].drop_duplicates(["id", "language"])
    by_id = with_id.pivot(index="id", columns="language", values="text")
    pivot, *others = labelled.languages
    found = []
    for other in others:
        if {pivot, other} <= set(by_id.columns):
            both = by_id[[pivot, other]].dropna()
            if len(both):
                name = f"{labelled.name} ({pivot}-{other})"
                found.append(
                    ParallelText(pivot, other, tuple(both[pivot].tolist()), tuple(both[other].tolist()), name)
                )
    return found


def demo_pairs() -> list[ParallelText]:
    """Return the demo set as parallel text: English with each of its five other languages, 504 sentences each."""
    return labelled_pairs(load_demo())

"""What a disentangled encoder's embeddings are each good for, as it stands in metrics.json."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from emu_core.data.labelled import LabelledSet
from emu_core.data.parallel_slots import SlotPairs, slot_pairs
from emu_core.data.template_pairs import template_pairs
from emu_core.encoders.base import FloatArray
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.errors import DataError
from emu_core.evaluation.leakage import language_leakage
from emu_core.evaluation.template_retrieval import template_retrieval
from emu_core.evaluation.translation_retrieval import translation_retrieval
from emu_core.models.parts import Part

Parts = dict[Part, FloatArray]


def disentangled_metrics(
    encoder: DisentangledEncoder, held_out: LabelledSet, pairs: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Measure every embedding on held-out sentences, each encoded once.

    Returns:
        By embedding: `translation` (Acc@1 in percent by "s-t", queries in s), `template` (Acc@1 by language) and
        `probe` (how well a linear probe tells the language, in percent); and beside them `counts` of queries. A
        measure for which the sentences do not do is left out, with the reason in `notes`.
    """
    notes: list[str] = []
    found: dict[str, Any] = {part.value: {"translation": {}, "template": {}} for part in encoder.part_names}
    counts: dict[str, dict[str, int]] = {"translation": {}, "template": {}}
    try:
        paired = slot_pairs(held_out, [(a, b) for a, b in pairs])
    except DataError as error:
        return {**found, "counts": counts, "notes": [str(error)]}
    utterances = {code: _side(paired, code) for pair in paired for code in (pair.source, pair.target)}
    vectors = {code: encoder.parts([one.text for one in own]) for code, own in utterances.items()}
    for pair in paired:
        row = {code: {one.id: n for n, one in enumerate(utterances[code])} for code in utterances}
        for queries, pool in ((pair.first, pair.second), (pair.second, pair.first)):
            source, target = queries[0].language, pool[0].language
            counts["translation"][f"{source}-{target}"] = len(queries)
            asked, looked = [row[source][one.id] for one in queries], [row[target][one.id] for one in pool]
            for part in encoder.part_names:
                right = translation_retrieval(
                    vectors[source][part][asked], vectors[target][part][looked], [one.text for one in pool]
                )
                found[part]["translation"][f"{source}-{target}"] = round(right.accuracy, 2)
    for code, own in utterances.items():
        try:
            made = template_pairs(own, distinct_templates=True)
        except DataError as error:
            notes.append(f"{code}: {error}")
            continue
        counts["template"][code] = len(made)
        targets = encoder.parts(made.target_texts)
        for part in encoder.part_names:
            retrieved = template_retrieval(
                vectors[code][part][list(made.rows)], targets[part], made.target_texts
            )
            found[part]["template"][code] = round(retrieved.accuracy, 2)
    _probes(encoder, utterances, vectors, found, notes)
    return {**found, "counts": counts, "notes": notes}


def _side(paired: Sequence[SlotPairs], code: str) -> list[Any]:
    sides = [
        pair.first if pair.source == code else pair.second
        for pair in paired
        if code in (pair.source, pair.target)
    ]
    return list({one.id: one for side in sides for one in side}.values())


def _probes(
    encoder: DisentangledEncoder,
    utterances: dict[str, list[Any]],
    vectors: dict[str, Parts],
    found: dict[str, Any],
    notes: list[str],
) -> None:
    languages = [code for code, own in utterances.items() for _ in own]
    ids = [one.id for own in utterances.values() for one in own]
    try:
        for part in encoder.part_names:
            together = np.concatenate([vectors[code][part] for code in utterances])
            found[part]["probe"] = round(language_leakage(together, languages, ids).probe, 2)
    except DataError as error:
        notes.append(str(error))

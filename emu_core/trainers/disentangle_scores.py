"""What chooses the epoch of FMDA and of its baseline: retrieval on held-out sentences."""

import numpy as np
import torch
from torch import Tensor

from emu_core.encoders.base import FloatArray
from emu_core.encoders.transformer.token_states import TokenStates
from emu_core.evaluation.template_retrieval import template_retrieval
from emu_core.evaluation.translation_retrieval import translation_retrieval
from emu_core.models.fmda import Fmda
from emu_core.models.meaning_language import MeaningLanguage
from emu_core.models.parts import Part
from emu_core.trainers.disentangle import Score
from emu_core.trainers.disentangle_data import HeldOut

BATCH = 1024  # sentences at a time


def translation_score(model: Fmda | MeaningLanguage, held_out: HeldOut | None) -> Score | None:
    """Acc@1 in percent of the meaning embeddings in cross-lingual retrieval, mean over pairs and both ways."""
    if held_out is None:
        return None

    def score() -> float:
        vectors = part_vectors(model, held_out.states, Part.MEANING)
        found = []
        for pairs in held_out.pairs:
            first, second = (vectors[_rows(column)] for column in pairs.T)
            found += [translation_retrieval(a, b).accuracy for a, b in ((first, second), (second, first))]
        return float(np.mean(found))

    return score


def template_score(model: Fmda, held_out: HeldOut | None) -> Score | None:
    """Acc@1 in percent of the template embeddings in template retrieval, mean over languages."""
    if held_out is None or not held_out.templates:
        return None

    def score() -> float:
        vectors = part_vectors(model, held_out.states, Part.TEMPLATE)
        found = []
        for pairs in held_out.templates:
            sources, targets = (vectors[_rows(column)] for column in pairs.T)
            found.append(template_retrieval(sources, targets).accuracy)
        return float(np.mean(found))

    return score


@torch.no_grad()
def part_vectors(model: Fmda | MeaningLanguage, states: TokenStates, part: Part) -> FloatArray:
    """One embedding of every sentence: (N, d)."""
    every = torch.arange(len(states), device=states.starts.device)
    return torch.cat([model(*states.batch(some)).parts()[part] for some in every.split(BATCH)]).cpu().numpy()


def _rows(column: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = column.cpu().numpy()
    return rows

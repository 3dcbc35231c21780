"""Which sentences are of no labelled intent: learnt from intents that are left out in turn."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from emu_core.config import PosteriorConfig
from emu_core.models.posterior_head import signs_of_intent
from emu_core.trainers.posterior_regression import MOST_ROWS, groups, members, regression, weights

SENTENCES = 4  # parts into which the sentences are divided
Classes = NDArray[np.int64]
Mask = NDArray[np.bool_]


def learn_known(
    x: Tensor, classes: Classes, config: PosteriorConfig, inverse_penalty: float, ids: Sequence[str] = ()
) -> Tensor:
    """Learn the weights of the gate: u_0, u_1 and u_2 of `PosteriorHead`, or none.

    The intents are divided into parts, and so are the sentences. A part of the intents and a part of the other
    intents' sentences are left out; what the head would compute of both, fitted on the rest, are the examples of a
    logistic regression: of no labelled intent, and of one. Both kinds weigh alike.

    Args:
        x: (N, d), as the head's training sentences.
        classes: N class numbers, from 0.
        config: how many parts of intents there are, and the temperature of nearness.
        inverse_penalty: C of the head's own logistic regression.
        ids: N, or none; sentences with the same one are left out together.

    Returns:
        (3,), or (0,) where there are too few intents to leave one out, or one part is asked for.
    """
    drawn = np.random.default_rng(0)  # always the same: the labels decide, and nothing else
    group = groups(ids) if ids else np.arange(len(x))
    part_of_group = drawn.permutation(group.max() + 1) % SENTENCES
    rows = np.sort(drawn.permutation(len(x))[:MOST_ROWS])
    x, classes, sentence_part = x[torch.from_numpy(rows)], classes[rows], part_of_group[group[rows]]
    k = int(classes.max()) + 1
    intent_part = drawn.permutation(k) % max(1, min(config.intent_parts, k))
    signs: list[NDArray[np.float64]] = []
    known: list[bool] = []
    for new, held, others in _left_out(classes, intent_part, sentence_part):
        own, numbers = np.unique(classes[others], return_inverse=True)
        fitted = regression(inverse_penalty).fit(x[others].numpy().astype(np.float64), numbers)
        weight, bias = (torch.from_numpy(part.astype(np.float32)) for part in weights(fitted))
        belongs = torch.from_numpy(members(numbers, len(own)).astype(np.float32))
        for asked, is_known in ((new, False), (held & np.isin(classes, own), True)):
            part = x[asked]
            found = signs_of_intent(
                part @ weight.T + bias, part @ x[others].T, belongs, config.gate_temperature
            )
            signs.append(found.double().numpy())
            known += [is_known] * len(found)
    if len(set(known)) < 2:
        return torch.zeros(0)
    wide = np.concatenate(signs)
    mean, scale = wide.mean(axis=0), np.maximum(wide.std(axis=0), 1e-6)
    learnt = LogisticRegression(class_weight="balanced").fit((wide - mean) / scale, known)
    slopes = learnt.coef_[0] / scale
    return torch.tensor([learnt.intercept_[0] - slopes @ mean, *slopes], dtype=torch.float32)


def _left_out(
    classes: Classes, intent_part: Classes, sentence_part: Classes
) -> Iterator[tuple[Mask, Mask, Mask]]:
    """Yield the sentences of a part of the intents, a part of the others, and the rest: of two intents or more."""
    for part in range(int(intent_part.max()) + 1 if len(set(intent_part)) > 1 else 0):
        new = intent_part[classes] == part
        held = ~new & (sentence_part == part % SENTENCES)
        rest = ~new & ~held
        if len(np.unique(classes[rest])) > 1:
            yield new, held, rest

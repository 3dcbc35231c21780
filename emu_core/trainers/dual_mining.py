"""Hard negatives: sentences that a model takes for nearly the right translation (Guo et al. 2018, section 3.3)."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from emu_core.encoders.base import evaluation_mode
from emu_core.encoders.dual.batch import Ints, Sentences
from emu_core.encoders.dual.encoder import DualEncoder

ROWS = 256


def mine(
    encoder: DualEncoder,
    columns: Sequence[Sentences],
    sides: int,
    each: int,
    pool: int,
    rng: np.random.Generator,
) -> list[Ints]:
    """Find hard negatives of a text's pairs.

    Args:
        encoder: trained on translation.
        columns: sources and targets.
        sides: 1 for negatives among the sources, 2 for those among the targets too.
        each: how many a pair.
        pool: sentences, at most, that they are chosen from.
        rng: chooses the pool.

    Returns:
        For each side (N, each or fewer) rows, nearest first, of that side's nearest neighbours by cosine. A row whose
        source or whose target is that of the pair itself, word by word, is none. Fewer where some pair has no more.
    """
    chosen = np.sort(rng.permutation(len(columns[0]))[:pool])
    same = [_numbers(column) for column in columns]
    return [neighbours(encode(encoder, column), chosen, same, each) for column in columns[:sides]]


def neighbours(vectors: Tensor, pool: Ints, same: Sequence[Ints], each: int) -> Ints:
    """Find the rows (N, each or fewer) of each row's nearest neighbours among `pool`, but for its equals.

    Args:
        vectors: (N, dim).
        pool: rows that can be neighbours.
        same: arrays (N,); two rows with the same number in one of them are equal.
        each: how many.
    """
    units = F.normalize(vectors, dim=-1)
    of_pool = torch.from_numpy(pool).to(units.device)
    numbers = [torch.from_numpy(one).to(units.device) for one in same]
    found, each = [], min(each, len(pool))
    for rows in torch.arange(len(units), device=units.device).split(ROWS):
        cosine = units[rows] @ units[of_pool].T
        for one in numbers:
            cosine.masked_fill_(one[rows].unsqueeze(1) == one[of_pool], -torch.inf)
        best = cosine.topk(each, dim=1)
        each = min(each, int((best.values > -torch.inf).sum(dim=1).min()))
        found.append(of_pool[best.indices])
    return torch.cat([part[:, :each] for part in found]).cpu().numpy()


@torch.no_grad()
def encode(encoder: DualEncoder, sentences: Sentences) -> Tensor:
    """Compute vectors (N, dim) without gradient, in evaluation mode."""
    counts = np.diff(sentences.ends, prepend=0)
    out = torch.empty(len(sentences), encoder.dim, device=encoder.device)
    order = np.argsort(counts, kind="stable")
    with evaluation_mode(encoder):
        for begin in range(0, len(order), ROWS):
            rows = order[begin : begin + ROWS]
            out[torch.from_numpy(rows).to(out.device)] = encoder(encoder.batch(sentences.take(rows)))
    return out


def _numbers(sentences: Sentences) -> Ints:
    """Number the sentences, the same for those of the same words."""
    seen: dict[bytes, int] = {}
    parts = np.split(sentences.ids, sentences.ends[:-1])
    return np.array([seen.setdefault(part.tobytes(), len(seen)) for part in parts], dtype=np.int64)

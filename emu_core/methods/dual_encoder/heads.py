"""The task heads on the dual encoder (Chidambaram et al. 2019, section 2.2)."""

from collections import OrderedDict

from torch import Tensor, nn

from emu_core.losses.inference import relation


class TaskHeads(nn.Module):
    """Feed-forward layers of each task except translation ranking, shared by all languages.

    Args:
        dim: length of the encoder's vectors, and of the ranking heads' results.
        hidden: width of the ranking heads' first layer.
        nli_hidden: width of the layer over relations.
        gain: the factor of vectors before a head.
    """

    def __init__(self, dim: int, hidden: int, nli_hidden: int, gain: float = 1.0) -> None:
        super().__init__()
        self.gain = gain
        self.response = _ranking_head(dim, hidden)  # for conversation
        self.before = _ranking_head(dim, hidden)  # for quick thought, on a sentence's predecessor
        self.sentence = _ranking_head(dim, hidden)
        self.after = _ranking_head(dim, hidden)
        self.nli = nli_layers(dim, nli_hidden)

    def conversation(self, responses: Tensor) -> Tensor:
        """Return g^R of responses (B, dim); the comments' g^I is the encoder's own vector."""
        return self.response(self.gain * responses)

    def quick_thought(self, before: Tensor, sentence: Tensor, after: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return g^P, g^I and g^R, each (B, dim)."""
        return (
            self.before(self.gain * before),
            self.sentence(self.gain * sentence),
            self.after(self.gain * after),
        )

    def inference(self, premises: Tensor, hypotheses: Tensor) -> Tensor:
        """Return logits (B, 3) of pairs of vectors (B, dim)."""
        return self.nli(relation(self.gain * premises, self.gain * hypotheses))


def nli_layers(dim: int, hidden: int) -> nn.Sequential:
    """Return random layers from the relation of two vectors (dim,) to three logits."""
    return nn.Sequential(nn.Linear(4 * dim, hidden), nn.Tanh(), nn.Linear(hidden, 3))


def _ranking_head(dim: int, hidden: int) -> nn.Sequential:
    layers = OrderedDict(
        first=nn.Linear(dim, hidden), bend=nn.Tanh(), second=nn.Linear(hidden, dim), end=nn.Tanh()
    )
    return nn.Sequential(layers)

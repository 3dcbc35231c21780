"""`use` as a plain graph: dense arithmetic on padded batches, which ONNX can hold."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from emu_core.encoders.use.encoder import CHANNELS, NgramBlock, UseEncoder


class UseGraph(nn.Module):
    """The same vectors as `UseEncoder.forward`, over the same weights.

    The encoder skips padding and shares what depends on the piece alone, which takes shapes that depend on the data.
    Here padding is computed and then set to zero.
    """

    def __init__(self, encoder: UseEncoder) -> None:
        """Take the weights of an encoder; they are not copied."""
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) piece ids, (B, T) 1 on tokens and 0 on padding -> (B, 512) unit vectors."""
        encoder = self.encoder
        real = attention_mask.unsqueeze(-1).float()  # (B, T, 1)
        embedded = encoder._embed(input_ids)  # (B, T, 512)
        projected = encoder.projection_norm(encoder.projection(embedded)) * real  # (B, T, 768)
        blocks = [block for block in encoder.ngrams if isinstance(block, NgramBlock)]
        grams = [
            _grams(block, part, real)
            for block, part in zip(blocks, projected.split(CHANNELS, dim=-1), strict=True)
        ]
        tokens = encoder.norm(torch.cat([embedded, *grams], dim=-1)) * real  # (B, T, 1280)
        length = real.sum(dim=1)  # (B, 1)
        summed = F.linear(tokens.sum(dim=1), encoder.cnn.weight) + length * encoder.cnn.bias
        sentence = summed * length.rsqrt()  # (B, 512)
        first = F.relu(encoder.skip1(sentence) + encoder.dense1(F.relu(encoder.dense0(sentence))))  # (B, 320)
        out = torch.tanh(encoder.skip3(first) + encoder.dense3(F.relu(encoder.dense2(first))))  # (B, 512)
        return out * out.square().sum(dim=-1, keepdim=True).clamp_min(encoder.eps).rsqrt()


def _grams(block: NgramBlock, x: Tensor, real: Tensor) -> Tensor:
    hidden = (F.relu(_windows(x, block.first, block.left)) + x) * real
    return F.relu(_windows(hidden, block.second, block.left)) + hidden


def _windows(x: Tensor, layer: nn.Linear, left: int) -> Tensor:
    """(B, T, 256) -> (B, T, 256): a linear layer over windows is a convolution."""
    kernel = layer.weight.unflatten(1, (-1, CHANNELS)).transpose(1, 2)  # (out, channels, order)
    padded = F.pad(x.transpose(1, 2), (left, kernel.shape[-1] - 1 - left))
    return F.conv1d(padded, kernel, layer.bias).transpose(1, 2)

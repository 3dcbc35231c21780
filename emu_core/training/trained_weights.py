"""The encoder's weights that training changes: their choice, their checkpoint, and an average with those before."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from emu_core.encoders.base import Encoder
from emu_core.errors import Fix, TrainingError
from emu_core.training.weight_settings import Trained, WeightSettings


@contextmanager
def trained_weights(
    encoder: Encoder, config: WeightSettings, *, interpolation: float = 1.0
) -> Iterator[None]:
    """Make only the weights that `config.trained` names require gradients, for the duration of training.

    LoRA's low-rank updates (Hu et al. 2022, section 4.1) are added to every linear layer of the transformer and merged
    into its weights at the end.

    Args:
        encoder: on its device.
        config: which weights are trained.
        interpolation: at the end, the share of the weights after training in their average with those before
            (Wortsman et al. 2022, eq. 1).

    Raises:
        TrainingError: LoRA with an encoder that is not a transformer, more layers than there are, or nothing to train.
    """
    before = [(weight, weight.requires_grad) for weight in encoder.parameters()]
    base = [weight.detach().clone() for weight, _ in before] if interpolation < 1 else []
    encoder.requires_grad_(False)
    try:
        if config.trained is Trained.LORA:
            with _lora(encoder, config):
                yield
        else:
            for weight in _chosen(encoder, config):
                weight.requires_grad_(True)
            yield
        with torch.no_grad():
            for weight, old in zip(encoder.parameters(), base, strict=bool(base)):
                weight.copy_(torch.lerp(old, weight, interpolation))
    finally:
        for weight, flag in before:
            weight.requires_grad_(flag)


def weights_in_training(encoder: Encoder) -> dict[str, Tensor]:
    """Return by name the weights that require gradients."""
    named = encoder.named_parameters()
    return {name: weight.detach() for name, weight in named if weight.requires_grad}


@torch.no_grad()
def restore_weights(encoder: Encoder, weights: Mapping[str, Tensor]) -> None:
    """Restore what `weights_in_training` returned. Raises ValueError if those are other weights."""
    trained = weights_in_training(encoder)
    if {name: weight.shape for name, weight in trained.items()} != {
        name: weight.shape for name, weight in weights.items()
    }:
        raise ValueError("other weights than those that are trained")
    for name, weight in trained.items():
        weight.copy_(weights[name])


def _chosen(encoder: Encoder, config: WeightSettings) -> list[nn.Parameter]:
    layers = encoder.layers()
    if config.trained is Trained.LAST_LAYERS:
        if config.last_layers > len(layers):
            raise TrainingError(
                f"the encoder '{encoder.spec}' has {len(layers)} layers, so its last {config.last_layers} can't be "
                "trained; lower ",
                Fix("last_layers"),
            )
        layers = layers[-config.last_layers :]
    chosen = [weight for layer in layers for weight in layer]
    if config.trained is Trained.ALL:
        chosen += encoder.embeddings()
    if not chosen:
        raise TrainingError(
            f"the encoder '{encoder.spec}' has no weights except its embeddings, which are not trained; train all (",
            Fix("trained", "all"),
            "), or use a method that leaves the encoder as it is",
        )
    return chosen


@contextmanager
def _lora(encoder: Encoder, config: WeightSettings) -> Iterator[None]:
    from emu_core.encoders.transformer.encoder import TransformerEncoder

    encoder = encoder.bare
    if not isinstance(encoder, TransformerEncoder):
        raise TrainingError(
            f"LoRA needs a transformer, and '{encoder.spec}' is none; choose another ",
            Fix("trained"),
            ", or the encoder e5-small",
        )
    from peft import LoraConfig, get_peft_model

    # This changes the backbone in place; `adapted` is only needed to merge the updates.
    adapted = get_peft_model(
        encoder.backbone,
        LoraConfig(r=config.lora_rank, lora_alpha=config.lora_alpha, target_modules="all-linear"),
    )
    try:
        yield
    finally:
        adapted.merge_and_unload()
        encoder.weights_changed()

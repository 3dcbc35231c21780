"""The choice of the weights of an encoder that a training run changes."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from emu_core.config import EmuConfig, Trained
from emu_core.encoders.base import Encoder
from emu_core.errors import TrainingError


@contextmanager
def trained_weights(encoder: Encoder, config: EmuConfig) -> Iterator[None]:
    """Let gradients reach the weights that `config.trained` names, and no others, for the time of a training run.

    LoRA's low-rank updates (Hu et al. 2022, section 4.1) are added to every linear map of the transformer, and
    merged into its weights at the end: a specialised encoder is always a plain one.

    Raises:
        TrainingError: LoRA on an encoder that is no transformer; more layers than there are; nothing to train.
    """
    before = [(weight, weight.requires_grad) for weight in encoder.parameters()]
    encoder.requires_grad_(False)
    try:
        if config.trained is Trained.LORA:
            with _lora(encoder, config):
                yield
        else:
            chosen = _chosen(encoder, config)
            if not chosen:
                raise TrainingError(
                    f"the encoder '{encoder.spec}' has no weights but its embeddings, and those are not trained; train "
                    "them with --trained all, or use the method posterior, which trains none"
                )
            for weight in chosen:
                weight.requires_grad_(True)
            yield
    finally:
        for weight, flag in before:
            weight.requires_grad_(flag)


def _chosen(encoder: Encoder, config: EmuConfig) -> list[nn.Parameter]:
    layers = encoder.layers()
    match config.trained:
        case Trained.LAST_LAYERS:
            if config.last_layers > len(layers):
                raise TrainingError(
                    f"the encoder '{encoder.spec}' has {len(layers)} layers, so its last {config.last_layers} can't be "
                    "trained; lower --last-layers"
                )
            return [weight for layer in layers[-config.last_layers :] for weight in layer]
        case Trained.ALL:
            return [*encoder.embeddings(), *(weight for layer in layers for weight in layer)]
        case _:
            return [weight for layer in layers for weight in layer]


@contextmanager
def _lora(encoder: Encoder, config: EmuConfig) -> Iterator[None]:
    from emu_core.encoders.transformer.encoder import TransformerEncoder

    encoder = encoder.bare
    if not isinstance(encoder, TransformerEncoder):
        raise TrainingError(
            f"LoRA is for transformers, and '{encoder.spec}' is none; choose another --trained, or the encoder e5-small"
        )
    from peft import LoraConfig, get_peft_model

    # Weights are put into the backbone where it stands; `adapted` only knows how to take them out again.
    adapted = get_peft_model(
        encoder.backbone,
        LoraConfig(r=config.lora_rank, lora_alpha=config.lora_alpha, target_modules="all-linear"),
    )
    try:
        yield
    finally:
        adapted.merge_and_unload()

"""An encoder as an ONNX graph, checked against torch in onnxruntime."""

import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from emu_core.encoders.base import Encoder, FloatArray, TokenIds, pad
from emu_core.encoders.bicvm.encoder import BicvmEncoder
from emu_core.encoders.bicvm.graph import BicvmGraph
from emu_core.encoders.disentangled import DisentangledEncoder, DisentangledGraph
from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.encoders.dual.graph import DualGraph
from emu_core.encoders.graph import CHECK_TEXTS
from emu_core.encoders.laser.encoder import LaserEncoder
from emu_core.encoders.laser.graph import LaserGraph
from emu_core.encoders.posterior import PosteriorEncoder, PosteriorGraph
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.graph import TransformerGraph
from emu_core.encoders.use.encoder import UseEncoder
from emu_core.encoders.use.graph import UseGraph
from emu_core.errors import EncoderError
from emu_core.exporting.token_files import write_token_files

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

GRAPH = "model.onnx"
INPUTS, OUTPUT = ("input_ids", "attention_mask"), "sentence_embedding"
OPSET = 18  # the exporter's own: no conversion between versions comes after it
LOWEST_COSINE = 0.9999
LONGEST = 512  # tokens of the longest sentence that is checked
SINGLE_FILE = 1_900_000_000  # bytes of weights: a single ONNX file can't have more than 2 GiB

_GRAPHS: tuple[tuple[type[Encoder], Callable[[Any], nn.Module]], ...] = (
    (UseEncoder, UseGraph),
    (LaserEncoder, LaserGraph),
    (TransformerEncoder, TransformerGraph),
    (DualEncoder, DualGraph),
    (BicvmEncoder, BicvmGraph),
    (DisentangledEncoder, DisentangledGraph),
)


def write_onnx(encoder: Encoder, folder: Path) -> str:
    """Write model.onnx, the tokenizer's files and config.json.

    The graph takes `input_ids` and `attention_mask`, both int64 (batch, tokens), and gives `sentence_embedding`,
    float32 (batch, dim). It is opened in onnxruntime and compared with torch in many languages and lengths.

    Args:
        encoder: on the CPU.
        folder: where to write.

    Returns:
        How to use the folder, in Markdown.

    Raises:
        EncoderError: the encoder has no graph, or a cosine to torch's vector is below 0.9999.
    """
    was_training = encoder.training
    encoder.eval()
    try:
        ids = _check_ids(encoder)
        how = write_token_files(encoder, folder)
        write_graph(encoder, folder / GRAPH)
        lowest = lowest_cosine(encoder, folder / GRAPH, ids)
    finally:
        encoder.train(was_training)
    config = {
        "encoder": encoder.spec,
        "dim": encoder.dim,
        "max_tokens": encoder.max_tokens,
        "inputs": INPUTS,
        "output": OUTPUT,
        "opset": OPSET,
        "lowest_cosine_to_torch": lowest,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    return how


def write_graph(encoder: Encoder, path: Path) -> None:
    """Export an encoder that is in evaluation mode. Raises EncoderError when it can't be a graph."""
    tokens = torch.full((2, 5), 1)
    mask = torch.ones_like(tokens)
    mask[1, 3:] = 0  # a graph traced without padding may leave the mask out
    axes = {0: "batch", 1: "tokens"}
    try:
        with _silently(), torch.no_grad():
            program = torch.onnx.export(
                _graph_of(encoder),
                (tokens, mask),
                input_names=INPUTS,
                output_names=[OUTPUT],
                dynamic_shapes=dict.fromkeys(INPUTS, axes),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        raise EncoderError(
            f"the encoder '{encoder.spec}' can't be exported to ONNX, for torch can't make a graph of this model; "
            "export it with --format sentence-transformers"
        ) from error
    if program is None:
        raise TypeError("torch exported without its ONNX program")
    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()  # where in whose files each operation was written
    weights = [*encoder.parameters(), *encoder.buffers()]
    program.save(path, external_data=sum(weight.nbytes for weight in weights) > SINGLE_FILE)


def lowest_cosine(encoder: Encoder, path: Path, ids: Sequence[TokenIds]) -> float:
    """The lowest cosine between a vector of the graph and torch's.

    Args:
        encoder: in evaluation mode.
        path: the graph.
        ids: the sentences, of which a long one is made too.

    Raises:
        EncoderError: it is below 0.9999.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = InferenceSession(path, options, providers=["CPUExecutionProvider"])
    batches = _batches(ids, encoder.max_tokens)
    lowest = np.concatenate([_cosines(encoder, session, batch) for batch in batches]).min()
    if not lowest >= LOWEST_COSINE:  # so that no number fails too
        raise EncoderError(
            f"the ONNX graph of '{encoder.spec}' is not its encoder: a cosine to torch's vector is {lowest:.6f}; "
            "export it with --format sentence-transformers, and report this model"
        )
    return float(lowest)


def _graph_of(encoder: Encoder) -> nn.Module:
    if isinstance(encoder, PosteriorEncoder):
        return PosteriorGraph(_graph_of(encoder.base), encoder.head)
    for kind, graph in _GRAPHS:
        if isinstance(encoder, kind):
            return graph(encoder)
    raise EncoderError(
        f"the encoder '{encoder.spec}' can't be exported to ONNX; export it with --format sentence-transformers"
    )


def _check_ids(encoder: Encoder) -> list[TokenIds]:
    bare = encoder.bare
    if isinstance(bare, LaserEncoder):  # left to guess, it wants further packages for two of the languages
        return bare.token_ids(CHECK_TEXTS, ["en"] * len(CHECK_TEXTS))
    if isinstance(bare, BicvmEncoder):  # it may know no word of those texts
        known = range(1, min(len(bare.vocabulary), len(CHECK_TEXTS)) + 1)
        return [*bare.token_ids(CHECK_TEXTS), *([*range(1, last + 1)] for last in known)]
    return encoder.token_ids(CHECK_TEXTS)


def _batches(ids: Sequence[TokenIds], max_tokens: int) -> list[list[TokenIds]]:
    """All together, the shortest and the longest alone, and long ones with much padding beside them."""
    endless = [token for sentence in ids for token in sentence] * LONGEST
    long = endless[: min(LONGEST, max_tokens)]
    by_length = sorted(ids, key=len)
    return [
        list(ids),
        by_length[:1],
        by_length[-1:],
        [long],
        [by_length[0], by_length[len(ids) // 2], long],
    ]


def _cosines(encoder: Encoder, session: "InferenceSession", ids: Sequence[TokenIds]) -> FloatArray:
    features = encoder.collate(ids)
    with torch.no_grad():
        theirs = encoder(features).cpu().numpy()
    if isinstance(encoder.bare, DualEncoder):  # whose batches have each word once
        features = dict(zip(INPUTS, pad(ids, pad_id=0), strict=True))
    feed = {name: features[name].cpu().numpy().astype(np.int64) for name in INPUTS}
    (ours,) = session.run([OUTPUT], feed)
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    with np.errstate(all="ignore"):  # no number is looked for by the caller
        cosines: FloatArray = (ours * theirs).sum(axis=1) / norms
    return cosines


@contextmanager
def _silently() -> Iterator[None]:
    """Keep the exporter's notes on what isn't installed and on its own future off the screen."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)

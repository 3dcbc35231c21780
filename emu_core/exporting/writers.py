"""Exports of an encoder: an ONNX graph, compared with torch in onnxruntime, or a sentence-transformers folder."""

import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, FloatArray, TokenIds, evaluation_mode, pad
from emu_core.encoders.onnx_parts import Graph, OnnxParts
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import quiet_loggers, quietly
from emu_core.errors import EncoderError, Fix

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

GRAPH = "model.onnx"
MODULES = "modules.json"  # in a folder of sentence-transformers
INPUTS, OUTPUT = ("input_ids", "attention_mask"), "sentence_embedding"
_PACKAGES = ("onnx", "onnxruntime", "onnxscript")  # torch's exporter writes the graph with the last
OPSET = 18  # the exporter's own, which needs no conversion
_MIN_COSINE = 0.9999
_MIN_INT8_COSINE = 0.9
_MAX_COMPARED_TOKENS = 512  # tokens of the longest sentence that is compared
_ANY_SIZE = 2**62
_MAX_SINGLE_FILE_BYTES = 1_900_000_000  # an ONNX file is limited to 2 GiB


@dataclass(frozen=True)
class OnnxExport:
    """The facts that a user of model.onnx must know.

    Attributes:
        parts: the encoder's imports and its function `token_ids`, as lines of Python.
        pad_id: the token id of padding.
        dim: the length of a vector.
        max_tokens: the length of the longest sentence, in `parts.counted`.
        int8_cosine: of weights in 8 bits, the mean cosine to the vectors of torch; None for float32.
    """

    parts: OnnxParts
    pad_id: int
    dim: int
    max_tokens: int
    int8_cosine: float | None = None


@dataclass(frozen=True)
class SentenceTransformersExport:
    """The facts that a user of the folder must know: the encoder, and whether it opens without emu_core."""

    spec: str
    is_transformer: bool


Export = OnnxExport | SentenceTransformersExport


def write_onnx(encoder: Encoder, folder: Path, *, int8: bool = False) -> OnnxExport:
    """Write model.onnx, the tokenizer's files and config.json.

    The graph maps `input_ids` and `attention_mask`, both int64 (batch, tokens), to `sentence_embedding`, float32
    (batch, dim). It is opened in onnxruntime and compared with torch, on the CPU, in many languages and lengths.

    Args:
        encoder: what is exported.
        folder: where to write.
        int8: whether to store the weights of linear layers and embedding tables in 8 bits.

    Raises:
        EncoderError: the extra "onnx" is missing, the encoder has no graph, or a cosine to torch's vector is below
            0.9999, of a graph in 8 bits below 0.9.
    """
    if any(find_spec(package) is None for package in _PACKAGES):
        raise EncoderError('ONNX needs packages of its own: pip install "emu-core[onnx]"')
    with evaluation_mode(encoder):
        parts = encoder.onnx_parts(folder)
        of_heads = write_graph(encoder, parts.graph, folder / GRAPH, parts.alternating)
        cosines = checked_cosines(encoder, folder / GRAPH, parts.check_ids)
        if int8:
            quantise(folder / GRAPH, of_heads)
            cosines = checked_cosines(encoder, folder / GRAPH, parts.check_ids, _MIN_INT8_COSINE)
    config = {
        "encoder": encoder.spec,
        "dim": encoder.dim,
        "max_tokens": encoder.max_tokens,
        "inputs": INPUTS,
        "output": OUTPUT,
        "opset": OPSET,
        "weights": "int8" if int8 else "float32",
        "lowest_cosine_to_torch": float(cosines.min()),
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    mean = float(cosines.mean()) if int8 else None
    return OnnxExport(parts, encoder.pad_id, encoder.dim, encoder.max_tokens, mean)


class GraphModule(nn.Module):
    """A graph that is a function, with the encoder whose weights it reads."""

    def __init__(self, encoder: Encoder, graph: Graph) -> None:
        super().__init__()
        self.encoder, self.graph = encoder, graph

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return vectors (B, dim) of token ids (B, T); the mask (B, T) is 1 on tokens and 0 on padding."""
        return self.graph(input_ids, attention_mask)


def write_graph(encoder: Encoder, graph: Graph, path: Path, alternating: int = 1) -> list[str]:
    """Export the graph of an encoder in evaluation mode.

    Returns:
        The names of the nodes of heads.

    Raises:
        EncoderError: torch can't trace it.
    """
    from onnxscript import optimizer

    tokens = torch.full(
        (2, 5 * alternating), 1
    )  # a single token of an encoder would be traced as the only size
    mask = torch.ones_like(tokens)
    mask[1, 3 * alternating :] = 0  # a graph traced without padding may omit the mask
    axes = {0: "batch", 1: "tokens"}
    try:
        # The exporter warns of missing packages and its own future.
        with quiet_loggers("torch.onnx"), warnings.catch_warnings(action="ignore"), torch.no_grad():
            program = torch.onnx.export(
                GraphModule(encoder, graph),
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
            f"the encoder '{encoder.spec}' can't be exported to ONNX, because torch can't make a graph of this model; "
            "export it for sentence-transformers: ",
            Fix("format", "sentence-transformers"),
        ) from error
    if program is None:
        raise TypeError("torch exported without its ONNX program")
    of_heads = []
    for node in program.model.graph.all_nodes():
        scopes = node.metadata_props.get("pkg.torch.onnx.name_scopes", "")
        if node.name and re.search(r"\.head\b", scopes):
            of_heads.append(node.name)
        node.metadata_props.clear()  # the place of each operation in the source files
    # Of weights that are first transposed and the like, the results are stored: quantisation takes no others.
    optimizer.optimize(program.model, input_size_limit=_ANY_SIZE, output_size_limit=_ANY_SIZE)
    weights = [*encoder.parameters(), *encoder.buffers()]
    program.save(path, external_data=sum(weight.nbytes for weight in weights) > _MAX_SINGLE_FILE_BYTES)
    return of_heads


def quantise(path: Path, kept: Sequence[str] = ()) -> None:
    """Store the weights of a graph's linear layers, one scale an output channel, and its tables in 8 bits.

    Activations are quantised as they come (dynamic quantisation). Convolutions stay as they are: onnxruntime computes
    them more slowly in integers.

    Args:
        path: the graph, which is replaced.
        kept: names of nodes that stay as they are, such as those of a head, whose exponentials enlarge any difference.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_name(f"whole-{path.name}")
    data = path.with_name(f"{path.name}.data")
    path.rename(whole)
    try:
        with quiet_loggers(""):  # which advises to optimise the graph first, as was done
            quantize_dynamic(
                whole,
                path,
                op_types_to_quantize=["MatMul", "Gemm", "Gather"],
                nodes_to_exclude=list(kept),
                per_channel=True,
                weight_type=QuantType.QInt8,
            )
    finally:
        whole.unlink()
        data.unlink(missing_ok=True)


def checked_cosines(
    encoder: Encoder, path: Path, ids: Sequence[TokenIds], least: float = _MIN_COSINE
) -> FloatArray:
    """Return the cosines between the vectors of a graph's file and of an encoder in evaluation mode.

    Besides the sentences `ids` together, the shortest, the longest and one combined of all are compared, alone and long
    ones with short ones. Raises EncoderError if a cosine is below the least.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = InferenceSession(path, options, providers=["CPUExecutionProvider"])
    long = encoder.combined_ids(ids, _MAX_COMPARED_TOKENS)
    by_length = sorted(ids, key=len)
    mixed = [by_length[0], by_length[len(ids) // 2], long]
    batches = [ids, by_length[:1], by_length[-1:], [long], mixed]
    cosines: FloatArray = np.concatenate([_cosines(encoder, session, batch) for batch in batches])
    if not (lowest := cosines.min()) >= least:  # not a number fails too
        if least < _MIN_COSINE:
            raise EncoderError(
                f"weights in 8 bits change the vectors of '{encoder.spec}' too much: a cosine is {lowest:.3f}; export "
                "it in float32: ",
                Fix("int8", False),
            )
        raise EncoderError(
            f"the ONNX graph of '{encoder.spec}' is not its encoder: a cosine to torch's vector is {lowest:.6f}; "
            "report this model, and export it for sentence-transformers: ",
            Fix("format", "sentence-transformers"),
        )
    return cosines


def _cosines(encoder: Encoder, session: "InferenceSession", ids: Sequence[TokenIds]) -> FloatArray:
    with torch.no_grad():
        torch_vectors = encoder(encoder.collate(ids)).cpu().numpy()
    inputs = (tensor.long().numpy() for tensor in pad(ids, encoder.pad_id))
    (graph_vectors,) = session.run([OUTPUT], dict(zip(INPUTS, inputs, strict=True)))
    norms = np.linalg.norm(graph_vectors, axis=1) * np.linalg.norm(torch_vectors, axis=1)
    with np.errstate(all="ignore"):  # the caller checks for what is not a number
        cosines: FloatArray = (graph_vectors * torch_vectors).sum(axis=1) / norms
    return cosines


def write_sentence_transformers(encoder: Encoder, folder: Path) -> SentenceTransformersExport:
    """Write a sentence-transformers folder.

    A transformer opens with sentence-transformers alone; any other encoder also needs emu_core.
    """
    from emu_core.encoders.sentence_transformers_module import to_sentence_transformers

    with quietly():
        to_sentence_transformers(encoder).save_pretrained(str(folder), create_model_card=False)
    return SentenceTransformersExport(encoder.spec, isinstance(encoder, TransformerEncoder))

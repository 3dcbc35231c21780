"""An encoder as a folder: an ONNX graph, checked against torch in onnxruntime, or sentence-transformers' files."""

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.encoders.base import Encoder, FloatArray, TokenIds, pad
from emu_core.encoders.onnx_parts import Graph
from emu_core.encoders.transformer.encoder import TransformerEncoder
from emu_core.encoders.transformer.opening import quietly
from emu_core.errors import EncoderError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

GRAPH = "model.onnx"
INPUTS, OUTPUT = ("input_ids", "attention_mask"), "sentence_embedding"
OPSET = 18  # the exporter's own: no conversion between versions comes after it
LOWEST_COSINE = 0.9999
LONGEST = 512  # tokens of the longest sentence that is checked
SINGLE_FILE = 1_900_000_000  # bytes of weights: a single ONNX file can't have more than 2 GiB
EXAMPLE = """\
`model.onnx` takes `input_ids` and `attention_mask` (1 on tokens, 0 on padding), both int64 (batch, tokens) and of at
most {max_tokens} {counted}, and gives `sentence_embedding`, float32 (batch, {dim}). In this folder:

```python
import os
{imports}
import numpy as np

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # or onnxruntime sends usage data
import onnxruntime

{token_ids}

session = onnxruntime.InferenceSession("model.onnx")


def encode(texts):
    ids = [token_ids(text) for text in texts]
    width = max(1, *(len(row) for row in ids))
    tokens = [row + [{pad}] * (width - len(row)) for row in ids]
    mask = [[1] * len(row) + [0] * (width - len(row)) for row in ids]
    feed = {{"input_ids": np.array(tokens, np.int64), "attention_mask": np.array(mask, np.int64)}}
    return session.run(["sentence_embedding"], feed)[0]


print(encode(["Where is the pool?"]).shape)
```
"""


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
        parts = encoder.onnx_parts(folder)
        write_graph(encoder, parts.graph, folder / GRAPH)
        lowest = lowest_cosine(encoder, folder / GRAPH, parts.check_ids)
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
    return EXAMPLE.format(
        imports=parts.imports.rstrip(),
        token_ids=parts.token_ids.rstrip(),
        pad=encoder.pad_id,
        dim=encoder.dim,
        max_tokens=encoder.max_tokens,
        counted=parts.counted,
    )


class GraphModule(nn.Module):
    """A graph that is a function, with the encoder whose weights it reads."""

    def __init__(self, encoder: Encoder, graph: Graph) -> None:
        super().__init__()
        self.encoder, self.graph = encoder, graph

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, T) token ids, (B, T) 1 on tokens and 0 on padding -> (B, dim)."""
        return self.graph(input_ids, attention_mask)


def write_graph(encoder: Encoder, graph: Graph, path: Path) -> None:
    """Export the graph of an encoder in evaluation mode. Raises EncoderError when torch can't trace it."""
    tokens = torch.full((2, 5), 1)
    mask = torch.ones_like(tokens)
    mask[1, 3:] = 0  # a graph traced without padding may leave the mask out
    axes = {0: "batch", 1: "tokens"}
    try:
        with _silently(), torch.no_grad():
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
    """Return the lowest cosine between a vector of the graph and torch's.

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
    if not lowest >= LOWEST_COSINE:  # not a number fails too
        raise EncoderError(
            f"the ONNX graph of '{encoder.spec}' is not its encoder: a cosine to torch's vector is {lowest:.6f}; "
            "export it with --format sentence-transformers, and report this model"
        )
    return float(lowest)


def _batches(ids: Sequence[TokenIds], max_tokens: int) -> list[list[TokenIds]]:
    """Return all together, the shortest and the longest alone, and long ones with short ones."""
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
    with torch.no_grad():
        theirs = encoder(encoder.collate(ids)).cpu().numpy()
    feed = {
        name: tensor.long().numpy() for name, tensor in zip(INPUTS, pad(ids, encoder.pad_id), strict=True)
    }
    (ours,) = session.run([OUTPUT], feed)
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    with np.errstate(all="ignore"):  # the caller looks for what is not a number
        cosines: FloatArray = (ours * theirs).sum(axis=1) / norms
    return cosines


@contextmanager
def _silently() -> Iterator[None]:
    """Hide the exporter's notes on packages that aren't installed and on its own future."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


PLAIN = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
print(model.encode(["Where is the pool?"]).shape)
```
"""
WITH_EMU = """\
The encoder `{spec}` is no plain transformer, so emu_core must be installed. This folder holds weights and JSON, no
code:

```python
from emu_core.encoders.sentence_transformers_module import EmuModule
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(modules=[EmuModule.load("path/to/this/folder")])
print(model.encode(["Where is the pool?"]).shape)
```

Where a program opens it by its folder's name alone, sentence-transformers 6 and later wants
`SentenceTransformer("path/to/this/folder", trust_remote_code=True)` before it imports any class that is not its own,
installed packages included.
"""


def write_sentence_transformers(encoder: Encoder, folder: Path) -> str:
    """Write the encoder's files.

    A transformer opens in sentence-transformers alone; any other encoder needs emu_core beside it.

    Returns:
        How to open the folder, in Markdown.
    """
    if isinstance(encoder, TransformerEncoder):
        with quietly():
            encoder.model.save_pretrained(str(folder), create_model_card=False)
        return PLAIN

    from sentence_transformers import SentenceTransformer

    from emu_core.encoders.sentence_transformers_module import EmuModule

    model = SentenceTransformer(modules=[EmuModule(encoder)], device="cpu", similarity_fn_name="cosine")
    model.save_pretrained(str(folder), create_model_card=False)
    return WITH_EMU.format(spec=encoder.spec)

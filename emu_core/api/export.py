"""Export an encoder as a folder that other programs open."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeGuard

from emu_core.api.inputs import EncoderSource, open_encoder_of
from emu_core.devices import Precision, with_precision
from emu_core.encoders.base import Encoder, ReportProgress
from emu_core.encoders.estimators import HoldsEncoder, is_estimator
from emu_core.encoders.joined import base_spec
from emu_core.errors import EmuError, EncoderError, Fix, RunError
from emu_core.exporting import ExportFormat
from emu_core.exporting.push import check_push, push_folder
from emu_core.exporting.writers import GRAPH, MODULES, Export, write_onnx, write_sentence_transformers
from emu_core.files import disk_fault, whole_folder
from emu_core.reports.export_readme import write_readme
from emu_core.runs.run import cant_write

if TYPE_CHECKING:  # seconds to import
    from sentence_transformers import SentenceTransformer

WRITERS: Mapping[ExportFormat, Callable[[Encoder, Path], Export]] = {
    ExportFormat.SENTENCE_TRANSFORMERS: write_sentence_transformers,
    ExportFormat.ONNX: write_onnx,
}


def export(
    source: EncoderSource,
    out: str | Path,
    *,
    format: ExportFormat | str = "sentence-transformers",
    int8: bool = False,
    on_progress: ReportProgress | None = None,
) -> Path:
    """Write an encoder for sentence-transformers, or as an ONNX graph, with a README.md that says how to open it.

    A transformer opens in plain sentence-transformers; `use` and `laser` also need emu_core to be installed. An ONNX
    graph is checked against torch first.

    Args:
        source: a finished run; a fitted `SpecialisedEncoder`, `SentenceEncoder` or `IntentClassifier`; the folder that
            one of these was written to; or what `load_encoder` takes, such as "e5-small". Of a classifier it is the
            encoder of its vectors, without the intents.
        out: the folder to write, new or empty; it appears when it is complete.
        format: "sentence-transformers" or "onnx".
        int8: store weights of the graph in 8 bits: a smaller file, and vectors that differ a little. Its README.md and
            config.json say how much.
        on_progress: called with (steps done, steps): the encoder is loaded; it is written and checked.

    Returns:
        The folder.

    Raises:
        RunError: the run is not finished, or `out` is in use or can't be written.
        InputError: the source has no encoder, or is an estimator's folder that is damaged.
        NotFittedError: the estimator is not fitted.
        EncoderError: unknown encoder or format, or the graph's vectors differ from torch's.

    Examples:
        >>> import emu_core
        >>> folder = emu_core.export("runs/hotel", "hotel-encoder")
        >>> (folder / "README.md").is_file()
        True
    """
    try:
        kind = ExportFormat(format)
    except ValueError:
        raise EncoderError(f"no format '{format}'; there are: {', '.join(ExportFormat)}") from None
    if int8 and kind is not ExportFormat.ONNX:
        raise EncoderError("only a graph has weights in 8 bits; export one: ", Fix("format", "onnx"))
    target = Path(out).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RunError(f"{out} is in use; choose another folder (", Fix("out"), "), or delete it")
    tell = on_progress or (lambda done, parts: None)
    encoder, run = open_encoder_of(source, "export")
    title, spec, card = str(source), str(source), ""
    if isinstance(source, HoldsEncoder):
        title, spec = type(source).__name__, base_spec(encoder)
    elif is_estimator(Path(source)):
        spec = base_spec(encoder)
    if run is not None:
        title = run.name
        with suppress(FileNotFoundError):
            card = (run.folder / "README.md").read_text("utf-8")
    tell(1, 2)
    try:
        with whole_folder(target) as folder:
            written = write_onnx(encoder, folder, int8=True) if int8 else WRITERS[kind](encoder, folder)
            write_readme(folder, title, written, spec, card)
    except Exception as error:
        if isinstance(error, EmuError) or not (why := disk_fault(error)):
            raise
        raise cant_write(Path(out), why) from error
    tell(2, 2)
    return Path(out)


def to_sentence_transformers(source: EncoderSource, *, device: str = "cpu") -> "SentenceTransformer":
    """Open an encoder as a live `SentenceTransformer`, as an export of it would open.

    Args:
        source: what `export` takes.
        device: for its weights, such as "cpu" or "cuda:0".

    Returns:
        The model, with weights of its own in float32.

    Raises:
        RunError: the run is not finished.
        InputError: the source has no encoder, or is an estimator's folder that is damaged.
        NotFittedError: the estimator is not fitted.
        EncoderError: as `load_encoder`.

    Examples:
        >>> import emu_core
        >>> emu_core.to_sentence_transformers("runs/hotel").encode(["Wo ist der Pool?"]).shape
        (1, 512)
    """
    from emu_core.encoders import sentence_transformers_module

    encoder, _ = open_encoder_of(source, "open", device=with_precision(device, Precision.FP32))
    return sentence_transformers_module.to_sentence_transformers(encoder)


def push_to_hub(
    source: EncoderSource,
    repo: str,
    *,
    public: bool = False,
    format: ExportFormat | str = "sentence-transformers",
    int8: bool = False,
) -> str:
    """Export an encoder into a new repository of the Hugging Face hub, with the token of huggingface_hub.

    An encoder can say something about the sentences that it learnt from, so that a repository is private unless you
    ask for a public one. The token is that of `hf auth login`, or HF_TOKEN; it is neither shown nor stored.

    Args:
        source: what `export` takes, or a folder that it wrote.
        repo: the new repository, such as "user/hotel-encoder"; without a user it is your own.
        public: let everybody see it.
        format: as in `export`.
        int8: as in `export`.

    Returns:
        The address of the repository.

    Raises:
        RunError: there is no token, it may not write, the repository exists, or the hub can't be reached.
        EncoderError: as in `export`.

    Examples:
        >>> import emu_core
        >>> emu_core.push_to_hub("runs/hotel", "my hotel")
        Traceback (most recent call last):
        emu_core.errors.RunError: 'my hotel' is no name of a repository; give one such as user/hotel-encoder
    """
    check_push(repo)
    if is_export(source):
        return push_folder(Path(source), repo, public=public)
    with TemporaryDirectory() as folder:
        return push_folder(
            export(source, Path(folder) / "export", format=format, int8=int8), repo, public=public
        )


def is_export(source: EncoderSource) -> TypeGuard[str | Path]:
    """Return whether a source is a folder that `export` wrote."""
    return isinstance(source, str | Path) and any(
        (Path(source) / name).is_file() for name in (MODULES, GRAPH)
    )

"""`emu export`: an encoder as a folder that other programs open."""

from pathlib import Path

from emu_core.encoders.base import Encoder, Progress
from emu_core.encoders.registry import available_encoders, load_encoder
from emu_core.errors import EmuError, EncoderError, RunError
from emu_core.exporting import ExportFormat
from emu_core.exporting.writers import write_onnx, write_sentence_transformers
from emu_core.files import disk_fault, whole_folder
from emu_core.runs.run import Run, RunState, cant_write

WRITERS = {ExportFormat.SENTENCE_TRANSFORMERS: write_sentence_transformers, ExportFormat.ONNX: write_onnx}


def export(
    source: Run | str | Path,
    out: str | Path,
    *,
    format: ExportFormat | str = "sentence-transformers",
    on_progress: Progress | None = None,
) -> Path:
    """Write an encoder for sentence-transformers, or as an ONNX graph. The folder's README.md says how to open it.

    A transformer opens in plain sentence-transformers; `use` and `laser` need emu_core installed beside it. An ONNX
    graph is compared with torch first.

    Args:
        source: a finished run, its folder, or what `load_encoder` takes, such as "e5-small".
        out: the folder to write, new or empty; it is there when it is whole, or not at all.
        format: what to write.
        on_progress: called with (parts done, parts): the encoder is open, it is written and checked.

    Returns:
        The folder.

    Raises:
        RunError: the run is not finished, or `out` is in use or can't be written.
        EncoderError: no such encoder or format, or the graph's vectors are not torch's.
    """
    kind = _format(format)
    target = Path(out).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RunError(f"{out} is in use; choose another folder with --out, or delete it")
    tell = on_progress or (lambda done, parts: None)
    encoder, title, card = _open(source)
    tell(1, 2)
    try:
        with whole_folder(target) as folder:
            how = WRITERS[kind](encoder, folder)
            (folder / "README.md").write_text(f"# {title}\n\n{how}\n{card}", "utf-8")
    except Exception as error:
        if isinstance(error, EmuError) or not (why := disk_fault(error)):
            raise
        raise cant_write(Path(out), why) from error
    tell(2, 2)
    return Path(out)


def _format(name: ExportFormat | str) -> ExportFormat:
    try:
        return ExportFormat(name)
    except ValueError:
        raise EncoderError(f"no format '{name}'; there are: {', '.join(ExportFormat)}") from None


def _open(source: Run | str | Path) -> tuple[Encoder, str, str]:
    """Return the encoder, its title and the rest of its card."""
    if isinstance(source, str) and _is_spec(source):
        return load_encoder(source), source, ""
    run = source if isinstance(source, Run) else Run(Path(source))
    state = run.status().state
    if state is not RunState.FINISHED:
        raise RunError(f"the run {run.name} is {state}; only a finished run can be exported")
    try:
        card = (run.folder / "README.md").read_text("utf-8")
    except FileNotFoundError:
        card = ""
    return load_encoder(f"run:{run.folder}"), run.name, card.removeprefix(f"# {run.name}\n")


def _is_spec(name: str) -> bool:
    specs = [info.spec for info in available_encoders()] + ["run:"]
    return any(name.startswith(spec) if spec.endswith(":") else name == spec for spec in specs)

"""`emu export`: a specialised encoder as a folder that sentence-transformers opens."""

from pathlib import Path

from emu_core.encoders.registry import load_encoder
from emu_core.errors import RunError
from emu_core.runs import Run, RunState


def export(run: Run | str | Path, out: str | Path) -> Path:
    """Write a sentence-transformers folder.

    The folder holds weights and JSON, no code: sentence-transformers imports the module's class from the installed
    emu_core. Since version 6 it asks for `trust_remote_code=True` before it imports any class that is not its own,
    installed packages included.

    Args:
        run: a finished run, or its folder.
        out: the folder to write; must be new or empty.

    Returns:
        The folder.

    Raises:
        RunError: the run is not finished, or `out` is in use.
    """
    from sentence_transformers import SentenceTransformer  # seconds to import, and only this verb needs it

    from emu_core.encoders.sentence_transformers_module import EmuModule

    run = run if isinstance(run, Run) else Run(Path(run))
    state = run.status().state
    if state is not RunState.FINISHED:
        raise RunError(f"the run {run.name} is {state}; only a finished run can be exported")
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} is in use; choose another folder with --out, or delete it")
    encoder = load_encoder(f"run:{run.folder}")
    model = SentenceTransformer(modules=[EmuModule(encoder)], device="cpu", similarity_fn_name="cosine")
    model.save_pretrained(str(folder), create_model_card=False)
    card = run.folder / "README.md"
    if card.exists():
        (folder / "README.md").write_text(card.read_text("utf-8"), "utf-8")
    return folder

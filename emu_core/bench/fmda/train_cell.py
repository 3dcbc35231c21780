"""How a cell's system is made: the frozen encoder as it is, or a method of this library trained as anybody would."""

from pathlib import Path

from emu_core.api.train import train
from emu_core.bench.fmda.cells import System
from emu_core.bench.fmda.request import FmdaRequest
from emu_core.bench.fmda.setting import method_of
from emu_core.bench.fmda.systems import FmdaSystem
from emu_core.bench.methods import Clock
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.registry import load_encoder
from emu_core.encoders.transformer.token_states import require_transformer
from emu_core.models.meaning_language import MeaningLanguage


def trained_system(request: FmdaRequest, labelled: LabelledSet, folder: Path) -> FmdaSystem:
    """Make what the request's cell says.

    Args:
        request: the cell, and what all cells share.
        labelled: rows of split train, and of dev where there is one.
        folder: where the run is put.

    Raises:
        EmuError: what can't be trained, with the mend.
    """
    cell, setting = request.cell, request.setting
    if cell.system is System.BASE:
        base = require_transformer(load_encoder(setting.encoder, device=setting.device))
        # The layers are not trained and not read: [CLS] and the mean are the frozen encoder's own.
        return FmdaSystem(DisentangledEncoder(base, MeaningLanguage(base.state_dim, setting.pairs[0])).parts)
    clock = Clock()
    run = train(
        labelled,
        out=folder / "run",
        method=method_of(cell.system),
        encoder=setting.encoder,
        pairs=cell.pairs,
        seed=cell.seed,
        device=setting.device,
        config=setting.config(cell.system),
        cache=request.cache,
        checkpoint_s=1e9,  # a cell that is killed is begun again
        on_progress=clock,
    )
    encoder = load_encoder(f"run:{run.folder}", device=setting.device)
    if not isinstance(encoder, DisentangledEncoder):
        raise TypeError(f"{cell.system} left an encoder of another kind: {type(encoder).__name__}")
    warnings = run.metrics()["warnings"]
    return FmdaSystem(encoder.parts, clock.took, {"warnings": warnings} if warnings else {})

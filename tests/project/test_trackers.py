"""The page's examples for trackers of experiments, with stand-ins for these: no test needs them installed."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest

import emu_core
from emu_core.runs.log import Record, RecordKind
from emu_core.runs.run import Status
from tests.support.docs_pages import blocks
from tests.support.paths import DOCS

STEP = Record(kind=RecordKind.STEP, step=1, epoch=1, loss=0.5, figures={"center": 0.25})
EPOCH = Record(kind=RecordKind.EPOCH, step=2, epoch=1, loss=0.4)


@pytest.mark.parametrize("name", ["wandb", "mlflow", "tensorboard"])
def test_the_example_hands_over_each_loss_and_figure(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = MagicMock()
    module = "torch.utils.tensorboard" if name == "tensorboard" else name
    stand_in = ModuleType(module)
    stand_in.__getattr__ = lambda attribute: getattr(tracker, attribute)  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, module, stand_in)

    def train(data: str, *, on_progress: Callable[[Status], None], **_settings: Any) -> None:
        assert data == "demo"
        on_progress(Status())
        on_progress(Status(records=(STEP, EPOCH)))

    monkeypatch.setattr(emu_core, "train", train)
    [text] = [block.text for block in blocks(DOCS / "runs.md") if block.title == name]
    exec(compile(text, name, "exec"), {})  # noqa: S102
    calls = {
        "wandb": tracker.init.return_value.__enter__.return_value.log,
        "mlflow": tracker.log_metrics,
        "tensorboard": tracker.SummaryWriter.return_value.__enter__.return_value.add_scalar,
    }[name]
    told = [(call.args, call.kwargs) for call in calls.call_args_list]
    assert (
        told
        == {
            "wandb": [
                (({"step": 0.5, "center": 0.25, "after": 1},), {}),
                (({"epoch": 0.4, "after": 2},), {}),
            ],
            "mlflow": [(({"step": 0.5, "center": 0.25},), {"step": 1}), (({"epoch": 0.4},), {"step": 2})],
            "tensorboard": [(("step", 0.5, 1), {}), (("center", 0.25, 1), {}), (("epoch", 0.4, 2), {})],
        }[name]
    )

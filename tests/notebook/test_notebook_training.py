"""Training in a real kernel: a bar and curves, a stop that leaves a checkpoint, and resuming to the end."""

import math
import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from emu_core.errors import DataError
from emu_core.notebook.training import live_progress
from emu_core.reports.cells import progress_cell
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run, RunState
from tests.support.records import record

pytestmark = pytest.mark.slow

CELLS = (
    """
%reset -f
%cd -q FOLDER
import os, signal
from dataclasses import replace
import emu_core
from emu_core.notebook import training
from emu_core.runs import progress
from tests.support.small import small_set

class StoppedAtItsFirstStep(training.LiveProgress):  # later, there may be no step left to resume
    def __call__(self, status):
        super().__call__(status)
        if status.step and training.LiveProgress is StoppedAtItsFirstStep:
            training.LiveProgress = usual[-1]
            os.kill(os.getpid(), signal.SIGINT)  # what Jupyter's stop button sends

usual = training.BAR_INTERVAL_S, training.SHARE, progress.STATUS_INTERVAL_S, training.LiveProgress
training.BAR_INTERVAL_S = training.SHARE = progress.STATUS_INTERVAL_S = 0  # tell and draw every step
training.LiveProgress = StoppedAtItsFirstStep
config = replace(emu_core.configure("emu", "use"), epochs=4, critic_steps=1)
emu_core.train(small_set(("en", "de")), out="run", method="emu", config=config, device="cpu")
""",
    "from emu_core.runs.run import Run; Run('run')",
    "assert Run('run').checkpoint.exists() and Run('run').can_resume",
    """
import tqdm.auto, tqdm.std
bar = tqdm.auto.tqdm
tqdm.auto.tqdm = tqdm.std.tqdm  # what it is where ipywidgets is not installed
run = emu_core.resume('run')
""",
    "run",
    """
training.BAR_INTERVAL_S, training.SHARE, progress.STATUS_INTERVAL_S = usual[:3]  # others run in this kernel, too
tqdm.auto.tqdm = bar
""",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


class Client(NotebookClient):
    """Keeps what the kernel says on the way to a cell's last output."""

    said: ClassVar[list[tuple[int, dict[str, Any]]]] = []

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        self.said.append((cell_index, msg["content"]))
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def notebook(folder: Path, kernel: AsyncKernelManager) -> NotebookNode:
    cells = [nbformat.v4.new_code_cell(source.replace("FOLDER", str(folder))) for source in CELLS]
    made = nbformat.v4.new_notebook(cells=cells)
    Client(made, km=kernel, timeout=600, allow_errors=True).execute()
    return made


def pages(cell: NotebookNode) -> list[str]:
    found = [output.get("data", {}) for output in cell.outputs]
    return [data["text/html"] for data in found if "text/html" in data]


def test_the_stop_button_leaves_a_run_that_can_be_resumed(notebook: NotebookNode) -> None:
    progress, error = notebook.cells[0].outputs  # the bar was replaced by its end, and nothing was printed
    assert error["ename"] == "CancelledError" and len(error["traceback"]) == 1
    assert "resume it with" in error["traceback"][0] and "execute.py" not in error["traceback"][0]
    page = progress["data"]["text/html"]
    assert "cancelled after" in page and "emu_core.resume(&#39;run&#39;)" in page and "<progress" not in page
    (card,) = pages(notebook.cells[1])
    assert "Cancelled, " in card and "use, specialised with the method emu on small" in card
    assert notebook.cells[2].outputs == []


def test_the_bar_is_a_widget_that_moves_and_goes(notebook: NotebookNode) -> None:
    said = [content for cell, content in Client.said if cell == 0]
    kinds = [kind for content in said for kind in content.get("data", {}) if "widget-view" in kind]
    assert len(kinds) == 1
    states = [content["data"]["state"] for content in said if "state" in content.get("data", {})]
    texts = [str(state["value"]) for state in states if "value" in state]
    assert any(text.startswith("<div") and "<polyline" in text for text in texts)
    assert any("step" in text and "epoch" in text and "loss=" in text for text in texts)
    assert not [
        kind
        for cell in notebook.cells
        for output in cell.outputs
        for kind in output.get("data", {})
        if "widget" in kind
    ]


def test_without_widgets_the_bar_is_text(notebook: NotebookNode) -> None:
    said = [content["data"] for cell, content in Client.said if cell == 3 and "data" in content]
    assert not [data for data in said if any("widget" in kind for kind in data)]
    bars = [
        bar for data in said for bar in re.findall("<pre>(.*?)</pre>", data.get("text/html", ""), re.DOTALL)
    ]
    assert any("step" in bar for bar in bars) and all("|" in bar for bar in bars), bars
    (output,) = notebook.cells[3].outputs
    assert "<pre>" not in output["data"]["text/html"]


def test_it_is_resumed_to_its_end(notebook: NotebookNode, folder: Path) -> None:
    run = Run(folder / "run")
    assert run.status().state is RunState.FINISHED
    assert [record.step for record in run.history() if record.is_step] == list(
        range(1, run.status().steps + 1)
    )
    (page,) = pages(notebook.cells[3])
    assert "finished in" in page and page.count("<polyline") >= 2
    (card,) = pages(notebook.cells[4])
    metrics = run.metrics()
    assert escape(run_verdict(metrics).sentence) in card
    for change in metrics.similar_sentences.by_language.values():
        assert f"<td>{change.difference:+.1f}</td>" in card
    assert "<polyline" in card


def test_outside_a_notebook_nothing_is_drawn(tmp_path: Path) -> None:
    assert live_progress(Run(tmp_path)) is None


def test_what_is_no_run_says_so(tmp_path: Path) -> None:
    assert "is not a run: it has no status.json" in Run(tmp_path)._repr_html_()
    assert DataError("no <b>")._render_traceback_() == ["DataError: no <b>"]


@pytest.mark.parametrize("name", ["<script>", "a" * 90])
def test_names_are_no_markup(name: str) -> None:
    history = [record("step", step=n, loss=math.nan, **{name: float(n)}) for n in range(1, 40)]
    page = progress_cell(history)
    assert (
        "<script" not in page
        and page.count("<polyline") == 1
        and page.partition("<polyline")[2].count(",") == 39
    )

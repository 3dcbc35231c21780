"""The notebook of a page: it runs from top to bottom, on the data that a run has stored, and trains the same run."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager

from emu_core.api.train import plan_training
from emu_core.data.sets import LabelledSet
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.registry import configure
from emu_core.notebook.builder import make_notebook
from emu_core.runs.run import Run, RunState, create_run
from tests.support.small import small_set
from tools.run_notebooks import execute

pytestmark = pytest.mark.slow


def sources(text: str) -> str:
    cells = json.loads(text)["cells"]
    code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    ast.parse(code)
    return code


def test_it_runs_from_top_to_bottom(tmp_path: Path, kernel: AsyncKernelManager) -> None:
    labelled = small_set(("en", "de"))
    config, data = plan_training(LabelledSet(labelled.frame, "it's <b>'\n.csv"), method="head", seed=3)
    stored = create_run(tmp_path / "stored", config, data).training_folder / "labelled.parquet"
    path = tmp_path / "page.ipynb"
    path.write_text(make_notebook(config, "runs/new", data=stored, split="test", layout="pca"), "utf-8")
    nbformat.validate(nbformat.read(path, as_version=4))
    notebook = execute(path, kernel=kernel)
    run = Run(tmp_path / "runs" / "new")
    assert run.status().state is RunState.FINISHED
    assert replace(run.plan(), data=config.data) == config
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert kinds.count("application/vnd.plotly.v1+json") >= 4
    assert {"application/vnd.jupyter.widget-view+json", "image/png"} <= set(outputs[-1]["data"])
    pages = [output["data"].get("text/html", "") for output in outputs if "data" in output]
    assert any("new compared with use" in page for page in pages)
    assert not [output for output in outputs if output["output_type"] in ("error", "stream")]


def test_settings_that_are_no_defaults_are_named() -> None:
    usual = configure("emu", "use")
    assert isinstance(usual, EmuConfig)
    settings = replace(usual, epochs=usual.epochs + 1)
    config, _ = plan_training(small_set(), method="emu", config=settings, unlabelled_languages=["ja"])
    code = sources(make_notebook(config, "runs/a", is_demo=True, languages=["en", "ja"]))
    assert f"configure('emu', 'use', epochs={settings.epochs})" in code
    assert "unlabelled_languages=['ja']" in code and "DATA = 'demo'\n" in code
    assert "emu_core.compare(DATA, run, languages=['en', 'ja'])" in code


def test_an_uploaded_file_is_for_the_person_to_name() -> None:
    config, _ = plan_training(small_set(), method="head")
    code = sources(make_notebook(replace(config, data="a'\n__import__('os')"), "runs/a"))
    assert "DATA = \"a'\\n__import__('os')\"  # the path of the file that was uploaded" in code

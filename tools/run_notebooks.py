"""Run notebooks top to bottom and store their outputs: `make notebooks`, or `python -m tools.run_notebooks FILE...`."""

import base64
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools import ROOT
from tools.pictures import pictures, small

FOLDER = ROOT / "notebooks"
PLOTLY = "application/vnd.plotly.v1+json"
COLAB = "https://colab.research.google.com"
BADGE = "[![Open in Colab]("
CELL_TIMEOUT_S = 1800  # a machine may be busy; a cell that hangs must still end

# Importing Streamlit sets another backend, which a kernel would inherit, and then no figure is shown.
INLINE = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}

# These two run in the kernel, before and after the notebook. Whoever asks for a figure, the canvas's print_figure draws
# it. An axes' data limits are infinite until something with a finite point was drawn in it. A kernel that has run
# another notebook forgets its names, but for the modules that are imported, which its garbage collector passes over.
WATCH = """
%reset -f
import gc as _gc
import matplotlib.backend_bases as _bases
import numpy as _np

_gc.freeze()
_empty = []
_print_figure = getattr(_bases, "_print_figure", _bases.FigureCanvasBase.print_figure)
_bases._print_figure = _print_figure


def _watched(canvas, *args, **kwargs):
    for axes in canvas.figure.axes:
        if not (axes.has_data() and _np.isfinite(axes.dataLim.get_points()).all()):
            _empty.append(f"axes without data, titled {axes.get_title()!r}")
    return _print_figure(canvas, *args, **kwargs)


_bases.FigureCanvasBase.print_figure = _watched
"""
NO_AXES = "with 0 Axes>"  # what IPython shows of a figure without axes, which it does not draw
VERDICT = "if _empty:\n    raise RuntimeError('empty figure: ' + '; '.join(_empty))"


def execute(
    path: Path, instead: Mapping[str, str] | None = None, kernel: AsyncKernelManager | None = None
) -> NotebookNode:
    """Run a notebook in its folder and return it with its outputs; the file stays as it is.

    Args:
        path: of the notebook.
        instead: code to run in place of some of the notebook's, which has to hold it.
        kernel: to run it in, which goes on; a new one by default.

    Raises:
        ValueError: the notebook does not hold the code that is to be replaced.
        CellExecutionError: a cell failed; or, at the end, the axes of a matplotlib figure had no data.
        RuntimeError: a matplotlib figure had no axes.
    """
    notebook = nbformat.read(path, as_version=4)
    cells = notebook.cells
    for old, new in (instead or {}).items():
        holding = [cell for cell in cells if cell.cell_type == "code" and old in cell.source]
        if not holding:
            raise ValueError(f"{path.name} has no code {old!r}")
        for cell in holding:
            cell.source = cell.source.replace(old, new)
    watch, verdict = (nbformat.v4.new_code_cell(source) for source in (WATCH, VERDICT))
    watch.source += f"\n%cd -q {path.parent}"  # of a kernel that runs, `resources` say nothing
    notebook.cells = [watch, *cells, verdict]
    NotebookClient(
        notebook,
        km=kernel,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,  # of a bar that is done, or of maps that have a picture
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    ).execute(env=os.environ | INLINE)
    notebook.cells = cells
    for number, cell in enumerate((cell for cell in cells if cell.cell_type == "code"), start=1):
        cell.execution_count = number  # as if there were no cell before
        for output in cell.outputs:
            if NO_AXES in output.get("data", {}).get("text/plain", ""):
                raise RuntimeError(f"empty figure: without axes, in code cell {number}")
            if "execution_count" in output:
                output.execution_count = number
    # Of no use to a reader, and new with each update of Python.
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def add_stills(notebook: NotebookNode) -> None:
    """Put a picture beside each Plotly figure, for readers without Plotly: GitHub, nbconvert."""
    outputs = [
        output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output
    ]
    found = [data for data in outputs if PLOTLY in data and "image/png" not in data]
    for data, picture in zip(found, pictures([data[PLOTLY] for data in found]), strict=True):
        data["image/png"] = base64.b64encode(small(picture)).decode()


def repository() -> str:
    """Return OWNER/NAME of the project's public address on GitHub; empty where pyproject.toml names none."""
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text("utf-8"))["project"]
    found = re.fullmatch(
        r"https://github\.com/([^/]+/[^/]+?)(\.git)?/?", project.get("urls", {}).get("Repository", "")
    )
    return found[1] if found else ""


def add_badge(notebook: NotebookNode, name: str, owner_and_name: str) -> None:
    """Put the badge that opens a notebook in Colab above its title, in place of an earlier one."""
    first = notebook.cells[0]
    _, title = first.source.split("\n\n", 1) if first.source.startswith(BADGE) else ("", first.source)
    address = f"{COLAB}/github/{owner_and_name}/blob/main/notebooks/{name}"
    badge = f"{BADGE}{COLAB}/assets/colab-badge.svg)]({address})\n\n"
    first.source = badge + title if owner_and_name else title


def main(names: list[str]) -> int:
    """Execute the notebooks named, or all there are, and store their outputs in them."""
    for path in [Path(name) for name in names] or sorted(FOLDER.glob("*.ipynb")):
        try:
            notebook = execute(path)
            add_stills(notebook)
            add_badge(notebook, path.name, repository())
            nbformat.write(notebook, path)
        except (CellExecutionError, RuntimeError) as fault:
            sys.stderr.write(f"{path.name}: {fault}\n")
            return 1
        sys.stderr.write(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

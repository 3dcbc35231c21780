"""Every notebook runs top to bottom, holds the outputs it has when run, and shows no empty figure."""

import ast
import base64
import re
from io import BytesIO
from pathlib import Path

import nbformat
import numpy as np
import pytest
from jupyter_client.manager import AsyncKernelManager
from matplotlib.image import imread
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tests.support.tiny_transformer import tiny_transformer
from tools.run_notebooks import BADGE, FOLDER, PLOTLY, add_badge, execute, repository

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 1_000_000
MOST_LINES = 35  # of a function
FEWEST_PICTURES = 4
PLACES = re.compile(r"/(?:tmp|home|root|Users|usr|work|var)/|site-packages|[A-Z]:\\\\")

# What is enough to see that all cells run and draw; `make notebooks` trains on all, and as long as the text says.
TINY = "hf:TINY"  # stands for a transformer that a test makes
SIX = 'isin(["pool", "breakfast", "parking", "wifi", "check_out", "taxi"])'
SHORTER = {
    "1_textual_similarity_bias_and_emu": {
        "demo = load_demo()": f"demo = load_demo().frame[lambda rows: rows['intent'].{SIX}]\n"
        "demo = LabelledSet(demo.reset_index(drop=True), 'demo')",
        "e5-small": TINY,
        "steps: int = 150": "steps: int = 16",
        "lr=5e-3), 200)": "lr=5e-3), 20)",
        "steps=250": "steps=16",
        '"contrastive", "n-pair", "softmax", "emu-without-ld-cl", ': "",
        "epochs=3": "epochs=1",
        'changed["change"])': 'changed["change"]).reindex(columns=["fixed", "broken"], fill_value=0)',
    },
    "2_fmda": {'"epochs": 10': '"epochs": 1', "pairs=800": "pairs=200", "e5-small": TINY},
    "3_dual_encoder": {
        '["en", "de"])\n(text,)': '["en", "de"])\n'
        f"demo = type(demo)(demo.frame[lambda rows: rows['intent'].{SIX}].reset_index(drop=True), demo.name)\n"
        "(text,)",
        "1500, seed=0": "500, seed=0",
        "range(400 if": "range(20 if",
        "[12, 400, 900, 1400]": "[12, 100, 200, 300]",
        "iloc[::260]": "iloc[::100]",
        '"epochs": 10': '"epochs": 2',
        '"epochs": 5': '"epochs": 1',
    },
    "4_bicvm": {
        "2200, seed=0": "900, seed=0",
        "range(241)": "range(41)",
        "range(401)": "range(41)",
        "epochs=20": "epochs=2",
        'configure("bicvm", "")': 'configure("bicvm", "", epochs=2)',
        'method="bicvm", dev=dev, test': 'method="bicvm", config=settings["ours"], dev=dev, test',
        ">= 180": ">= 75",
        "(25, 50, 100, 200, 400, 800, 1600)": "(25, 50)",
    },
    "5_bring_your_own_data": {
        "demo = load_demo().frame": f"demo = load_demo().frame[lambda rows: rows['intent'].{SIX}]",
        "epochs=2": "epochs=1",
        "e5-small": "use",
    },
    "6_from_labels_to_a_decision": {"pairs=1500": "pairs=200"},
}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An encoder of hardly any size."""
    return f"hf:{tiny_transformer(tmp_path_factory.mktemp('tiny'), letters=True)}"


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def shapes(notebook: NotebookNode) -> list[list[list[str]]]:
    """For each code cell, what sorts of output it has, beside training's progress and the stills of Plotly figures."""
    return [
        [
            sorted(
                kind for kind in output.get("data", {}) if kind != "image/png" or PLOTLY not in output.data
            )
            or [output.output_type]
            for output in cell.outputs
            if "finished in" not in output.get("data", {}).get("text/html", "")
        ]
        for cell in code_cells(notebook)
    ]


def pictures(notebook: NotebookNode) -> list[np.ndarray]:
    found = [output.get("data", {}).get("image/png") for output in outputs(notebook)]
    return [imread(BytesIO(base64.b64decode(png)), format="png") for png in found if png]


def check_figures(notebook: NotebookNode) -> None:
    """No picture of one colour, no Plotly figure without traces or with a trace without points."""
    for number, picture in enumerate(pictures(notebook), start=1):
        assert (picture != picture[0, 0]).any(), f"picture {number} is blank"
    for output in outputs(notebook):
        plotly = output.get("data", {}).get(PLOTLY)
        if plotly is not None:
            assert plotly["data"], "a Plotly figure has no trace"
            for trace in plotly["data"]:
                assert any(len(trace.get(name) or ()) for name in "xyz"), "a Plotly trace has no point"


def written(folder: Path, *cells: str) -> Path:
    path = folder / "made.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return path


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3
    assert [path.name[:2] for path in NOTEBOOKS] == sorted({path.name[:2] for path in NOTEBOOKS})


@each_notebook
def test_runs_as_stored(path: Path, tiny: str, kernel: AsyncKernelManager) -> None:
    instead = {old: new.replace(TINY, tiny) for old, new in SHORTER.get(path.stem, {}).items()}
    stored, fresh = nbformat.read(path, as_version=4), execute(path, instead, kernel)
    assert shapes(stored) == shapes(fresh), f"{path.name} holds other outputs than it has: make notebooks"
    for notebook in (stored, fresh):
        check_figures(notebook)
        assert not [output for output in outputs(notebook) if output.output_type in ("error", "stream")]


@each_notebook
def test_stored_outputs(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    assert path.stat().st_size < MOST_BYTES
    assert len(pictures(stored)) >= FEWEST_PICTURES
    counts = [cell.execution_count for cell in code_cells(stored)]
    assert counts == list(range(1, len(counts) + 1)), f"{path.name} was not run top to bottom: make notebooks"
    said = "\n".join(
        value if isinstance(value, str) else str(value)
        for output in outputs(stored)
        for kind, value in output.get("data", {"": output.get("text", "")}).items()
        if not kind.startswith("image/")
    )
    assert not PLACES.findall(said), "an output tells where it was made"
    assert "Warning" not in said


@each_notebook
def test_teaches_with_the_library(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    prose = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    assert prose.count("<details>") == prose.count("</details>") >= 3
    assert prose.count("$$") >= 2
    assert prose.count("$$") % 2 == 0
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", prose):
        assert (path.parent / link).exists(), f"{path.name} points to {link}, which is not there"
    trees = [ast.parse(cell.source) for cell in code_cells(stored)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    assert not [node for node in nodes if isinstance(node, ast.ClassDef)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:  # such as a loss on a plane; what is longer belongs into the library
        assert function.end_lineno - function.lineno < MOST_LINES, f"{function.name} is long"
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert any(module.split(".")[0] == "emu_core" for module in modules)


@each_notebook
def test_the_badge_is_that_of_the_project(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    before = stored.cells[0].source
    add_badge(stored, path.name, repository())
    assert stored.cells[0].source == before, "make notebooks"


def test_a_badge_is_put_in_replaced_and_taken_away() -> None:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 1\n\ntext")])
    for owner_and_name in ("a/b", "c/d"):
        add_badge(made, "1.ipynb", owner_and_name)
        source = made.cells[0].source
        assert source.startswith(BADGE) and source.endswith(
            f"(https://colab.research.google.com/github/{owner_and_name}/blob/main/notebooks/1.ipynb)\n\n# 1\n\ntext"
        )
    assert source.count(BADGE) == 1
    add_badge(made, "1.ipynb", "")
    assert made.cells[0].source == "# 1\n\ntext"


@pytest.mark.parametrize(
    ("urls", "found"),
    [
        ('Repository = "https://github.com/a/b"', "a/b"),
        ('Repository = "https://github.com/a/b.git"', "a/b"),
        ('Repository = "https://example.org/a/b"', ""),
        ("", ""),
    ],
)
def test_the_address_is_the_one_in_pyproject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, urls: str, found: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[project.urls]\n{urls}\n")
    monkeypatch.setattr("tools.run_notebooks.FOLDER", tmp_path / "notebooks")
    assert repository() == found


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("plt.figure(); plt.show()", "without axes"),
        ("plt.subplots(); plt.show()", "axes without data"),
        ("plt.plot([], []); plt.scatter([np.nan], [1]); plt.show()", "axes without data"),
        ("f, a = plt.subplots(1, 2); a[0].plot([1, 2]); a[1].set_title('right'); plt.show()", "'right'"),
        ("plt.subplots()", "axes without data"),  # shown because the cell ends
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_fault_in_a_notebook_is_found(
    tmp_path: Path, cell: str, fault: str, kernel: AsyncKernelManager
) -> None:
    path = written(tmp_path, "import matplotlib.pyplot as plt\nimport numpy as np", cell)
    with pytest.raises((CellExecutionError, RuntimeError), match=fault):
        execute(path, kernel=kernel)


def test_code_to_replace_has_to_be_there(tmp_path: Path, kernel: AsyncKernelManager) -> None:
    path = written(tmp_path, "epochs = 3\nepochs")
    assert outputs(execute(path, {"epochs = 3": "epochs = 1"}, kernel))[0].data["text/plain"] == "1"
    assert code_cells(nbformat.read(path, as_version=4))[0].source == "epochs = 3\nepochs"
    with pytest.raises(ValueError, match="no code 'epochs = 4'"):
        execute(path, {"epochs = 4": "epochs = 1"})


def test_figures_with_data_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")  # as where Streamlit was imported before
    drawn = (
        "a[0, 0].plot([1, 2]); a[0, 1].bar(['x'], [0.5]); a[0, 2].scatter([1], [1])",
        "f.colorbar(a[1, 0].imshow([[1, 2]])); a[1, 1].boxplot([[1, 2, 3]]); a[1, 2].contourf([[1, 2], [3, 4]])",
    )
    setup = "import matplotlib.pyplot as plt\nf, a = plt.subplots(2, 3)"
    notebook = execute(written(tmp_path, "\n".join([setup, *drawn, "plt.show()"])))
    assert shapes(notebook) == [[["image/png", "text/plain"]]]
    check_figures(notebook)
    assert code_cells(notebook)[0].execution_count == 1


@pytest.mark.parametrize("data", [[], [{"type": "scatter", "x": [], "y": []}]])
def test_an_empty_plotly_figure_is_found(data: list[dict[str, object]]) -> None:
    figure = {PLOTLY: {"data": data, "layout": {}}}
    cell = nbformat.v4.new_code_cell("figure", outputs=[nbformat.v4.new_output("display_data", figure)])
    with pytest.raises(AssertionError, match="Plotly"):
        check_figures(nbformat.v4.new_notebook(cells=[cell]))


def test_a_notebook_without_its_outputs_is_told_from_one_with_them(
    tmp_path: Path, kernel: AsyncKernelManager
) -> None:
    path = written(tmp_path, "1 + 1")
    assert shapes(nbformat.read(path, as_version=4)) != shapes(execute(path, kernel=kernel))

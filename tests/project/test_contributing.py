"""CONTRIBUTING.md: its picture is true, and whoever follows its steps arrives."""

import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.docs_pages import apply_diff, blocks
from tests.support.paths import DOCS, ROOT
from tests.support.processes import exit_code, python
from tests.support.small import small_file

GUIDE = ROOT / "CONTRIBUTING.md"
PAGES = (
    DOCS / "how-to/new-loss.md",
    DOCS / "how-to/own-encoder.md",
    GUIDE,
)  # the guide begins with files of others
RUFF = Path(sys.executable).with_name("ruff")
COPIED = ("emu_core", "app", "docs", "tests", "tools", "pyproject.toml", "README.md")


def test_the_example_walks_through_every_file_of_its_method() -> None:
    example = GUIDE.read_text("utf-8").partition("### Example: ")[2].partition("\n### ")[0]
    (folder,) = re.findall(r"`(emu_core/methods/\w+)`", example)
    files = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    walked = re.findall(r"^\d\. `(\w+\.py)`", example, re.MULTILINE)
    assert len(walked) == len(files) and set(walked) == files


@pytest.mark.parametrize(("title", "package"), [("from `train", "emu_core"), ("from a typed", "app/emu_app")])
def test_a_walk_of_a_value_is_short_and_names_files_that_are_there(title: str, package: str) -> None:
    walk = GUIDE.read_text("utf-8").partition(f"### Example: {title}")[2].partition("\n\n#")[0]
    walk = walk.partition("\nEverything that is particular")[0]
    assert 1 < len(re.findall(r"^\d+\. ", walk, re.MULTILINE)) <= 12
    named = re.findall(r"`([\w/]+\.(?:py|js))`", walk)
    assert len(named) > 4 and [name for name in named if not (ROOT / package / name).is_file()] == []


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which every step of the guide was taken, but for the commands."""
    place = tmp_path_factory.mktemp("house")
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, place / name)
    (place / "emu_app").symlink_to("app/emu_app")  # as it is installed
    small_file(place)
    for page in PAGES:
        for block in blocks(page):
            path = place / block.title
            if block.language == "diff":
                path.write_text(apply_diff(block.text, path.read_text("utf-8"), block.title), "utf-8")
            elif block.title and not path.exists():  # where the project itself has taken the step, it is done
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, "utf-8")
    return place


def commands() -> list[str]:
    """The guide's commands, in order."""
    return [line for block in blocks(GUIDE) if block.language == "sh" for line in block.text.splitlines()]


def touched(check: list[str]) -> list[str]:
    """The Python files that the guide writes or changes, but for those that ruff finds something in as they are."""
    titles = {block.title for page in PAGES for block in blocks(page) if block.title.endswith(".py")}
    return [
        title
        for title in sorted(titles)
        if not (ROOT / title).exists()
        or subprocess.run([RUFF, *check, ROOT / title], capture_output=True, check=False).returncode == 0
    ]


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_every_command_of_the_guide_works(command: str, house: Path, tmp_path: Path) -> None:
    program, *words = shlex.split(command)
    if program == "ruff":
        checked = [RUFF, *words[:-1], *touched(words[:-1])]
        ruff = subprocess.run(checked, cwd=house, capture_output=True, text=True, check=False)
        assert ruff.returncode == 0, ruff.stdout[-3000:] + ruff.stderr[-3000:]
        return
    out = tmp_path / "out"
    code = exit_code(python, str(house), ["-m", "emu_core", *words] if program == "emu" else words, str(out))
    said = out.read_text("utf-8")
    assert code == 0, said[-3000:] + Path(f"{out}.err").read_text("utf-8")[-3000:]
    if "runs/anisotropy" in words:  # the metric of the guide
        assert "\nAnisotropy\n" in said
        card = (house / "runs/anisotropy/README.md").read_text("utf-8")
        assert re.search(
            r"^## Anisotropy\n.*^\| cosine \| 0\.\d+ \| 0\.\d+ \|$", card, re.MULTILINE | re.DOTALL
        )
    if "pytest" in words:
        assert re.search(r"\b\d+ passed", said) and "skipped" not in said


def test_the_guide_has_all_it_promises() -> None:
    text = GUIDE.read_text("utf-8")
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    wanted = [
        "Architecture",
        "Add a loss",
        "Add a method",
        "Add an encoder",
        "Add a format of data",
        "Add a metric",
        "Add a page",
        "Before you submit",
    ]
    assert heads == wanted
    for head, after in pairwise(wanted[1:]):
        section = text[text.index(f"## {head}") : text.index(f"## {after}")]
        assert re.findall(r"^1\. ", section, re.MULTILINE), head
    for target in re.findall(r"^    make ([\w -]+?) +#", text, re.MULTILINE):
        for name in target.split():
            assert re.search(rf"^{name}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), name
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / link).is_file(), link

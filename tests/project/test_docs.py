"""The documentation: its examples run, its commands exist, its site builds."""

import importlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from emu_core.cli import main
from emu_core.cli.parser import command_parser
from emu_core.methods.registry import methods
from tests.support.docs_pages import apply_diff, blocks, differences, pages, undefined_names
from tests.support.paths import DOCS, ROOT
from tools.settings_page import PAGE, page

NAMES = [str(page.relative_to(DOCS)) for page in pages()]
RUN_WHOLE = ("tutorial.md",)  # whose commands are run, and not only parsed
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in NAMES if any(b.language == "python" for b in blocks(DOCS / name))]
)
def test_examples_run_and_print_what_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(DOCS / name)
    _put_files_in_place(name, tmp_path, monkeypatch)
    known: dict[str, object] = {}
    capsys.readouterr()
    for position, block in enumerate(found):
        where = f"{name}:{block.line}"
        if block.language == "python" and not block.title:
            (tmp_path / "example.py").write_text(block.text, "utf-8")
            known = runpy.run_path("example.py", known)
        elif block.language == "sh" and name in RUN_WHOLE:
            for line in block.text.splitlines():
                assert main(shlex.split(line, comments=True)[1:]) == 0, where
        else:
            continue
        said = capsys.readouterr().out
        after = found[position + 1] if position + 1 < len(found) else None
        if after is not None and after.language == "text":
            assert not differences(after.text, said), f"{where} printed:\n{said}"


@pytest.mark.parametrize("path", [*pages(), ROOT / "README.md"], ids=lambda path: path.name)
def test_examples_name_only_what_the_page_defines(path: Path) -> None:
    assert undefined_names(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("```python\nimport a\n\nb = a.c\n```\n\n```python\nprint(b, d)\n```\n", ["7: d"]),
        ('```python title="setfit"\nprint(texts)\n```\n', ["1: texts"]),
        ('```python\na = 1\n```\n\n```python title="own.py"\nprint(a)\n```\n', ["5: a"]),
        ("So:\n\n    comparison.plot(len(a))\n\nthen\n", ["3: comparison", "3: a"]),
        ("```python\nasync def f(x, *y, **z):\n    return [w for w in x if y or z]\n```\n", []),
        ("```python\ntry:\n    pass\nexcept OSError as e:\n    print(e)\n```\n", []),
        ("```sh\necho a\n```\n\n    a line of text\n", []),
    ],
)
def test_a_name_that_nothing_defines_is_found(text: str, names: list[str]) -> None:
    assert undefined_names(text) == names


def _put_files_in_place(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a page's files of emu_core aside, and let Python find them in their package."""
    for block in blocks(DOCS / name):
        if not block.title.startswith("emu_core/"):
            continue
        path = folder / block.title
        path.parent.mkdir(parents=True)
        path.write_text(block.text, "utf-8")
        package = importlib.import_module(".".join(Path(block.title).parent.parts))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
        module = ".".join(Path(block.title).with_suffix("").parts)
        importlib.import_module(module)
        monkeypatch.delitem(
            sys.modules, module
        )  # forgotten again after the test, whoever imports it meanwhile
        importlib.import_module(module)


def _commands() -> list[tuple[str, list[str]]]:
    found = []
    for name in NAMES:
        for block in blocks(DOCS / name):
            if block.language == "sh":
                lines = block.text.splitlines()
                found += [
                    (f"{name}:{block.line + 1 + i}", shlex.split(line, comments=True))
                    for i, line in enumerate(lines)
                ]
    return [(where, words) for where, words in found if words]


def assert_parses(arguments: list[str]) -> None:
    """The parser takes the arguments, and knows the verb's function."""
    assert callable(command_parser(arguments).parse_args(arguments).verb)


@pytest.mark.parametrize(("where", "words"), _commands(), ids=[where for where, _ in _commands()])
def test_every_command_exists(where: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    match words:
        case ["emu", "--version"]:
            with pytest.raises(SystemExit):
                main(["--version"])
        case ["emu", *arguments]:
            assert_parses(arguments)
        case ["accelerate", "launch", *_]:
            assert_parses(words[words.index("emu_core") + 1 :])
        case ["make", target]:
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), where
        case ["docker", *_]:
            services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
            assert words[1] in ("build", "run") or (
                words[1:3] == ["compose", "up"] and {*words[3:]} <= {*services}
            )
        case ["python", "-m", "pytest", file]:
            assert (ROOT / file).exists(), where
        case ["python", "-m", module, *_]:
            assert find_spec(module) is not None, where
        case _:
            pytest.fail(f"{where}: nobody knows whether this is right: {words}")


README = ROOT / "README.md"


def _readme_commands() -> list[str]:
    return re.findall(
        r"^    (?:accelerate launch .*-m emu_core|emu) (.*)$", README.read_text("utf-8"), re.MULTILINE
    )


@pytest.mark.parametrize("command", _readme_commands())
def test_every_command_of_the_readme_exists(command: str) -> None:
    assert_parses(shlex.split(command, comments=True))


@pytest.mark.slow
def test_the_readmes_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [example] = [block.text for block in blocks(README) if block.language == "python"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.py").write_text(example, "utf-8")
    runpy.run_path("example.py")
    printed = capsys.readouterr().out
    assert re.search(r"Finds similar sentences better \(\d+ → \d+ of 100\); names the intents", printed)
    assert "['pool', 'taxi']" in printed
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 10


def test_the_methods_page_has_every_method() -> None:
    text = (DOCS / "methods.md").read_text("utf-8")
    assert not [name for name in methods() if f"`{name}`" not in text]


def test_the_page_of_hyper_parameters_is_up_to_date() -> None:
    """Otherwise: python -m tools.settings_page."""
    assert PAGE.read_text("utf-8") == page()


def test_the_navigation_has_every_page_and_no_other() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    listed: list[str] = []
    waiting = [nav]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            listed.append(item)
        else:
            waiting += item if isinstance(item, list) else item.values()
    assert sorted(listed) == sorted(NAMES)


def test_figures_of_the_readme_are_the_evidence_pages() -> None:
    """A number that is measured anew is changed in both places."""
    figures = set(re.findall(r"\d+\.\d+", README.read_text("utf-8").split("## Results")[1]))
    known = set(re.findall(r"\d+\.\d+", (DOCS / "evidence.md").read_text("utf-8")))
    assert figures - {"2.0"} <= known  # the licence's


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 150


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    """Links, references to docstrings and pages that are not there stop it."""
    for name in ("mkdocs.yml", "docs"):
        place = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        place(ROOT / name, tmp_path / name)
    (tmp_path / "emu_core").symlink_to(ROOT / "emu_core")
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [zensical, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    site = tmp_path / "build/site"
    html = {path: path.read_text("utf-8") for path in site.rglob("*.html")}
    assert {str(path.relative_to(site)) for path in html} == {n.replace(".md", ".html") for n in NAMES} | {
        "404.html"
    }
    for path, text in html.items():
        assert not re.findall(r"\]\[emu_core[\w.]*\]", text), (
            path
        )  # a reference that leads nowhere stays as it is
        fetched = re.findall(r'(?:src|<link[^>]*href)="(https?:[^"]+)"', text)
        assert not [address for address in fetched if "canonical" not in address], path
    assert "leave_one_out" in html[site / "reference/evaluation.html"]


@pytest.mark.parametrize(
    ("told", "alike", "other"),
    [
        ("0.57", "0.58", "0.61"),
        ("58.1", "58.6", "58.8"),
        ("25.8", "25.4", "26.5"),
        ("-0.123", "-0.126", "0.123"),
        ("2,016", "2,030", "2,040"),
        ("33", "33", "34"),
    ],
)
def test_a_number_may_be_off_as_its_column_allows(told: str, alike: str, other: str) -> None:
    assert not differences(f"a {told} %", f"a {alike} %")
    assert differences(f"a {told} %", f"a {other} %")


def test_the_helpers_can_fail() -> None:
    assert not differences("a 1.0\n...\nc", "a 1.4 more\nb\nc")
    assert differences("c\na", "a\nc") and differences("a b", "a")
    assert apply_diff("@@\n a\n+b\n", "a\nc\n", "x") == "a\nb\nc\n"
    with pytest.raises(AssertionError):
        apply_diff("@@\n a\n+b\n", "a\na\n", "x")

"""A format of another package, found by its entry point, is read as ours are."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from emu_core.data.reading import Reading
from emu_core.errors import DataError
from emu_core.formats.collections import formats
from emu_core.formats.labelled import read_labelled, read_unlabelled

PACKAGE = Path(__file__).parents[1] / "outside_format"
TICKETS = """\
=== ticket billing
I was charged twice,
please help.
=== ticket access
My password does not work.
=== ticket access
"""


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package as if it were installed."""
    monkeypatch.syspath_prepend(PACKAGE)
    formats.collection_formats.cache_clear()
    yield
    formats.collection_formats.cache_clear()


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "tickets.en.desk").write_text(TICKETS)
    (folder / "README.md").write_text("Exported.\n")
    return folder


@pytest.mark.usefixtures("outside")
def test_a_folder_and_a_file_in_it_are_read(export: Path) -> None:
    for source in (export, export / "tickets.en.desk"):
        labelled, audit = read_labelled(source, reading=Reading(language="en"))
        assert labelled.frame[["text", "intent"]].to_numpy().tolist() == [
            ["I was charged twice, please help.", "billing"],
            ["My password does not work.", "access"],
        ]
        assert "Help desk: 2 examples, 2 intents." in audit.notes
        assert "Left out of tickets.en.desk, tickets without a text: 1 sentence." in audit.notes
    assert len(read_unlabelled(export, reading=Reading(language="en"))) == 2


def test_without_the_package_it_is_no_export(export: Path) -> None:
    with pytest.raises(
        DataError, match=r"desk: none of its files \(.*\) is .* an export of another tool that Emu knows"
    ):
        read_labelled(export, reading=Reading(language="en"))


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("name", "message"),
    [("NOTHING", "is no CollectionFormat"), ("TAKEN", "adds a format 'CLINC150', and there is one already")],
)
def test_what_is_no_format_or_takes_a_title_is_refused(
    name: str, message: str, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("desk", f"emu_help_desk.export:{name}", "emu.formats")
    monkeypatch.setattr(formats, "entry_points", lambda group: [entry])
    with pytest.raises(DataError, match=message):
        read_labelled(export, reading=Reading(language="en"))

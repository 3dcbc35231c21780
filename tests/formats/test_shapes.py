"""Tables without a header, with a column per language, and those of known data sets."""

from pathlib import Path

import pytest

from emu_core.data.audit import Audit
from emu_core.data.sets import LabelledSet
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled


def read(folder: Path, text: str | bytes, name: str = "hotel.en.csv") -> tuple[LabelledSet, Audit]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_labelled(path)


# Without a header


# A column per language


# Known data sets


def test_no_sentence_of_a_table_is_in_a_message(tmp_path: Path) -> None:
    for text in ("my secret is this?,pool\n5,6\n", "my secret is this?,my secret is this?\na,b\n"):
        with pytest.raises(DataError) as caught:
            read(tmp_path, text)
        assert "secret" not in str(caught.value)

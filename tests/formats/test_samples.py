"""Each sample of a format is read as it says beside it."""

import pytest

from emu_core.formats.collections.formats import COLLECTION_FORMATS
from tests.support.exports import NOTES, SAMPLES, expected_in, name_of_sample, read_sample

NAMES = sorted(path.name for path in SAMPLES.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_as_is_expected(name: str) -> None:
    expected = expected_in(SAMPLES / name)
    kinds = [kind for kind in expected if kind != NOTES]
    assert kinds
    for kind in kinds:
        rows, notes = read_sample(name, kind)
        assert rows == expected[kind]
        if kind == kinds[0]:
            assert notes == expected.get(NOTES, notes)


@pytest.mark.parametrize("title", [format.title for format in COLLECTION_FORMATS])
def test_every_format_has_a_sample_that_is_read_as_this_format(title: str) -> None:
    assert expected_in(SAMPLES / name_of_sample(title))[NOTES].startswith(f"{title}: ")

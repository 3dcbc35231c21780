"""Files and folders are replaced as a whole, and nothing is left where writing fails."""

import json
import os
from pathlib import Path

import pytest

from emu_core.files import remove_partial, whole_file, whole_folder, write_json, write_whole


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    write_whole(path, "old")
    with whole_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
        assert partial.parent == tmp_path
    assert path.read_text() == "new"
    assert _names(tmp_path) == ["status.json"]


@pytest.mark.parametrize("content", ["sauna\nπ", b"\x00\xff"])
def test_text_and_bytes_are_written_as_they_are(tmp_path: Path, content: str | bytes) -> None:
    write_whole(tmp_path / "file", content)
    expected = content.encode() if isinstance(content, str) else content
    assert (tmp_path / "file").read_bytes() == expected


def test_json_keeps_its_letters_and_survives_half_a_character(tmp_path: Path) -> None:
    write_json(tmp_path / "facts.json", {"name": "größe \ud800"})
    text = (tmp_path / "facts.json").read_text("utf-8")
    assert json.loads(text) == {"name": "größe ?"}
    assert "größe" in text


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "file", "")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "old")
    with pytest.raises(RuntimeError), whole_file(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert _names(tmp_path) == ["file"]


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    with whole_file(tmp_path / "file") as one, whole_file(tmp_path / "file") as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "file").read_text() == "one"  # the outer block ends last


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_appears_when_it_is_whole(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "encoder"
    if exists:
        path.mkdir()
    with whole_folder(path) as partial:
        (partial / "inner").mkdir()
        (partial / "inner" / "weights").write_bytes(b"1")
        assert not (path / "inner").exists()
    assert (path / "inner" / "weights").read_bytes() == b"1"
    assert _names(tmp_path) == ["encoder"]


def test_a_folder_with_files_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "encoder"
    path.mkdir()
    write_whole(path / "weights", "old")
    with pytest.raises(OSError), whole_folder(path) as partial:
        write_whole(partial / "weights", "new")
    assert (path / "weights").read_text() == "old"
    assert _names(tmp_path) == ["encoder"]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    for name in (".encoder.12-ab.part", "encoder", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / ".status.json.12-ab.part").touch()
    remove_partial(tmp_path)
    assert _names(tmp_path) == [".hidden", "encoder"]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())

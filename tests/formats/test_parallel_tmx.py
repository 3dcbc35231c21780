"""Translation memories: markup, encodings, and files that are made to do harm."""

import gzip
from pathlib import Path

import pytest

from emu_core.errors import DataError
from emu_core.formats.parallel.files import read_parallel
from emu_core.formats.parallel.tmx import read_tmx

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'


def unit(**texts: str) -> str:
    variants = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in texts.items())
    return f"<tu><note>a note</note>{variants}</tu>\n"


def memory(*units: str, head: str = HEAD) -> str:
    return f'{head}<tmx version="1.4"><header/><body>\n{"".join(units)}</body></tmx>'


def write(folder: Path, content: str | bytes, name: str = "m.tmx") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_segment_empty_on_one_side_is_named_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, memory(unit(en="one", de="eins"), unit(en="two", de=" ")))

    with pytest.raises(DataError, match=r"m\.tmx: line 5 is empty in de but not in en"):
        read_parallel([path])
    assert read_parallel([path], drop_empty=True)[0].first == ("one",)


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
    + "]>"
)
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
PARAMETER = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY % a SYSTEM "file:///etc/hostname"> %a;]>'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (memory(unit(en="&j;", de="x"), head=LAUGHS), "line 1 declares the entity 'a', which may expand"),
        (memory(unit(en="&a;", de="x"), head=OUTSIDE), "line 1 declares the entity 'a'"),
        (memory(unit(en="&a;", de="x"), head=PARAMETER), "line 1 declares the entity 'a'"),
        (memory(unit(en="a&nbsp;b", de="x")), "line 4 has the unknown entity '&nbsp;'"),
        (memory(unit(en="one", de="eins"))[:-12], "line 5 is not XML"),
        (memory(unit(en="one", de="für")).encode("latin-1"), r"line 4 is not XML in the encoding it names"),
        (memory(unit(en="one", de="x"), head='<?xml version="1.0" encoding="klingon"?>'), "line 1 is in an encoding"),
        (memory(unit(en="one"), unit(en="two")), "this has en; add the other"),
        (memory(unit(en="one", eng="two")), "line 4 has the language en twice in the unit that begins on line 4"),
        (memory("<tu><tuv><seg>one</seg></tuv></tu>"), "line 4 has a <tuv> of no language"),
        (memory('<tu><tuv xml:lang="?"><seg>one</seg></tuv></tu>'), "of the unknown language"),
        (memory(unit(en="one"), unit(de="zwei")), "no row has text in both en and de"),
        (memory(), "has no translation unit"),
        ("<html><body/></html>", "begins with <html>: this is XML but not TMX"),
        ("<tmx>" + "<a>" * 200_000, "more than 100 nested elements"),
        (b"", "line 1 is not XML"),
        (b"\0\x01\x02\x03", "line 1 is not XML"),
        (b"\x89PNG\r\n\x1a\n", "line 1 is not XML"),
        (b"\x1f\x8b\x08\0broken", "is a damaged gzip file"),
        (gzip.compress(memory(unit(en="one", de="eins")).encode(), mtime=0)[:-8], "is a damaged gzip file"),
    ],
)  # fmt: skip
def test_hostile_and_broken_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=rf"^m\.tmx.*{message}"):
        read_parallel([write(tmp_path, content)])


def test_a_gzip_bomb_and_too_many_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.formats.limits.MAX_FILE_BYTES", 2**21)
    monkeypatch.setattr("emu_core.formats.limits.MAX_ROWS", 2)
    bomb = write(tmp_path, gzip.compress(b"<tmx>" + b" " * 2**22, mtime=0), "m.tmx.gz")
    with pytest.raises(DataError, match=r"m\.tmx\.gz is larger than 2 MB, unpacked"):
        read_tmx(bomb)
    long = write(tmp_path, memory(*[unit(en="one", de="eins")] * 3))
    with pytest.raises(DataError, match=r"m\.tmx has more than 2 rows"):
        read_tmx(long)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"m\.tmx: no such file"):
        read_parallel([tmp_path / "m.tmx"])

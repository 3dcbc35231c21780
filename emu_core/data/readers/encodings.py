"""Bytes to text: the file's encoding found by what it holds, and a mix of two encodings refused."""

from emu_core.data.readers.guess_encoding import guess_encoding, is_latin
from emu_core.data.wording import shown
from emu_core.errors import DataError

# UTF-32's little-endian mark begins with UTF-16's, so it is looked for first.
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
# Control characters that no text file holds; tab, line ends, form feed and escape do occur.
_CONTROLS = bytes(set(range(32)) - {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B})
_MEND = "save the whole file as UTF-8"


def decode_text(payload: bytes, name: str) -> tuple[str, str]:
    """Return the text of a file and the name of the encoding it was read in.

    A byte order mark decides; else UTF-8 if every line is UTF-8; else the encoding the lines look like.

    Args:
        payload: the file's bytes.
        name: how messages call the file.

    Raises:
        DataError: the bytes are not text, mix two encodings, or are in an encoding that can't be told.
    """
    for mark, encoding in _MARKS:
        if payload.startswith(mark):
            return _strict(payload, encoding, name), encoding.removesuffix("-sig")
    _check_is_text(payload, name)
    try:
        return payload.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        encoding = _legacy_encoding(payload, name)
        return _strict(payload, encoding, name), encoding


def _check_is_text(payload: bytes, name: str) -> None:
    if (at := payload.find(b"\0")) >= 0:
        raise DataError(
            f"{shown(name)}: line {payload.count(10, 0, at) + 1} holds a NUL byte, so this is not a plain "
            "text file (or UTF-16 without its byte order mark); save it as CSV in UTF-8"
        )
    controls = len(payload) - len(payload.translate(None, _CONTROLS))
    if controls > len(payload) / 200:
        raise DataError(f"{shown(name)} is not a text file but binary data; save the table as CSV in UTF-8")


def _legacy_encoding(payload: bytes, name: str) -> str:
    """Tell the encoding of bytes that are not UTF-8; refuse a file in which only some lines are."""
    valid, bad, first_bad = 0, [], 0
    for number, line in enumerate(payload.splitlines(), start=1):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
            valid += 1
        except UnicodeDecodeError:
            bad.append(line)
            first_bad = first_bad or number
    encoding = guess_encoding(bad)
    # A short line of Chinese, Korean or Thai in its own encoding is UTF-8 by accident now and then; one of
    # accented Latin letters never is.
    if valid and (is_latin(encoding) or valid * 10 >= len(bad)):
        raise DataError(
            f"{shown(name)} mixes encodings: line {first_bad} is not UTF-8 while other lines are; {_MEND}"
        )
    if encoding is None:
        raise DataError(f"{shown(name)}: line {first_bad} is in an encoding that can't be told; {_MEND}")
    return encoding


def _strict(payload: bytes, encoding: str, name: str) -> str:
    try:
        return payload.decode(encoding)
    except UnicodeDecodeError as error:
        line = payload[: error.start].decode(encoding, "ignore").count("\n") + 1
        raise DataError(
            f"{shown(name)}: line {line} is not {encoding} as the rest of the file is; {_MEND}"
        ) from error

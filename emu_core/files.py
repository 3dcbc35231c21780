"""Files and folders that appear whole or not at all, whatever interrupts their writing."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write a file to, which replaces `path` at the end of the block.

    A reader, and whoever finds the folder after a crash, sees the old file or the new one, never half of one. The
    folder has to exist. Where the block raises, `path` is left as it was.

    Yields:
        A path in the same folder, of no other writer, at which the block has to create the file.

    Raises:
        OSError: the file can't be written.
    """
    partial = _partial(path)
    try:
        yield partial
        _flush(partial)
        partial.replace(path)
    finally:
        with suppress(OSError):  # such as a folder that is none, of which the caller hears
            partial.unlink()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which becomes `path` at the end of the block.

    Yields:
        The new folder, beside `path`.

    Raises:
        OSError: the folder can't be written, or there is a `path` already that is not an empty folder.
    """
    partial = _partial(path)
    try:
        partial.mkdir(parents=True)
        yield partial
        mode = (
            partial.stat().st_mode & 0o666
        )  # what the umask leaves; safetensors writes files for the owner alone
        for file in partial.rglob("*"):
            if file.is_file():
                file.chmod(mode)
                _flush(file)
        if path.is_dir():
            path.rmdir()
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text (in UTF-8) or bytes to a file, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def write_json(path: Path, values: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write values to a JSON file, whole or not at all."""
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, text.encode("utf-8", "replace"))


def read_json(path: Path) -> Any:
    """Read a JSON file that may be anybody's.

    Raises:
        OSError: it can't be read.
        ValueError: it is not JSON, is nested too deeply, or holds half a character, which can't be written again.
    """
    try:
        values = json.loads(path.read_text("utf-8"))
        json.dumps(values, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None
    return values


def disk_fault(error: BaseException) -> str:
    """Return why the disk refused to write, in words; "" where an error says something else.

    The writers of torch and safetensors wrap the error of the operating system, or leave its words in theirs.
    """
    wrapped = isinstance(error, RuntimeError) or type(error).__name__ == "SafetensorError"
    found: BaseException | None = error if wrapped or isinstance(error, OSError) else None
    while found is not None:
        if isinstance(found, OSError):
            return found.strerror or str(found) or "it can't be written"
        told = re.search(
            r"(\w[^:]*) \(os error \d+\)|file write failed|iostream error|unexpected pos \d", str(found)
        )
        if told is not None:
            return told[1] or "the disk is full, or can't be written"
        found = found.__cause__ or found.__context__
    return ""


def remove_partial(folder: Path) -> None:
    """Remove what writers that were killed left unfinished in a folder; nobody may be writing there."""
    for left in folder.glob(".*.part"):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{token_hex(4)}.part")


def _flush(file: Path) -> None:
    """Wait until a file's content is on the disk, so that it can't be empty after a power failure."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())

"""Files and folders that are written completely or not at all, whatever interrupts the writing."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from emu_core.errors import RunError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path at which the block must create a file; the file replaces `path` at the end of the block.

    A reader sees the old file or the new one, never a part, even after a crash. The folder has to exist. If the block
    raises, `path` is unchanged.

    Raises:
        OSError: the file can't be written.
    """
    partial = _partial(path)
    try:
        yield partial
        _flush(partial)
        partial.replace(path)
    finally:
        with suppress(OSError):  # such as a missing folder, an error that has been raised already
            partial.unlink()


@contextmanager
def whole_folder(path: Path, *, replaces: bool = False) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which becomes `path` at the end of the block.

    Args:
        path: the folder to write, new or empty.
        replaces: whether `path` may also be a folder with files, which is removed in the end.

    Raises:
        OSError: the folder can't be written, or `path` exists and may not be replaced.
    """
    partial = _partial(path)
    try:
        partial.mkdir(parents=True)
        yield partial
        # Files of safetensors are readable by the owner only; here the umask decides.
        mode = partial.stat().st_mode & 0o666
        for file in partial.rglob("*"):
            if file.is_file():
                file.chmod(mode)
                _flush(file)
        if replaces and path.is_dir():
            _exchange(partial, path)
            return
        if path.is_dir():
            path.rmdir()
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text (in UTF-8) or bytes to a file atomically."""
    with whole_file(path) as partial:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def write_named(path: str | Path, content: str) -> Path:
    """Write a file that a user named, in a folder that is created if necessary, and return its path.

    Raises:
        RunError: the file can't be written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(path), content)
    except OSError as error:
        raise RunError(f"can't write {path}: {disk_fault(error)}; choose another file") from None
    return Path(path)


def write_json(path: Path, values: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write values to a JSON file atomically."""
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, text.encode("utf-8", "replace"))


def read_json(path: Path) -> Any:
    """Read an untrusted JSON file.

    Raises:
        OSError: it can't be read.
        ValueError: it is not JSON, is nested too deeply, or contains a lone surrogate, which can't be written.
    """
    try:
        values = json.loads(path.read_text("utf-8"))
        json.dumps(values, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None
    return values


def other_format(folder: Path, number: object, writer: object, reads: int) -> str:
    """Return why a folder in another format can't be opened, and which version can open it.

    Args:
        folder: the folder of a run or an encoder.
        number: the number of its format; not a number if it has none.
        writer: the version of emu_core that wrote it; not a text if that is unknown.
        reads: the number of the format that this version reads.
    """
    shown = f"format {number}"[:40] if isinstance(number, int) else "a format without a number"
    by, opener = "another version", "the version that wrote it"
    if isinstance(writer, str):
        by = opener = f"emu_core {writer}"[:60]
    return (
        f"{folder} was written by {by} in {shown}, and this version reads format {reads}: open it with {opener}, or "
        "train it again"
    )


def disk_fault(error: BaseException) -> str:
    """Return in words why the disk could not be written; "" for any other error.

    The writers of torch and safetensors wrap the operating system's error, or quote its message in theirs.
    """
    wrapped = isinstance(error, RuntimeError) or type(error).__name__ == "SafetensorError"
    cause: BaseException | None = error if wrapped or isinstance(error, OSError) else None
    while cause is not None:
        if isinstance(cause, OSError):
            return cause.strerror or str(cause) or "it can't be written"
        message = re.search(
            r"(\w[^:]*) \(os error \d+\)|file write failed|iostream error|unexpected pos \d", str(cause)
        )
        if message is not None:
            return message[1] or "the disk is full, or can't be written"
        cause = cause.__cause__ or cause.__context__
    return ""


def remove_partial(folder: Path) -> None:
    """Remove the partial files of killed writers from a folder, in which no process may be writing."""
    for left in folder.glob(".*.part"):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{token_hex(4)}.part")


def _exchange(new: Path, path: Path) -> None:
    """Put a new folder in the place of one with files. A process killed between both renamings leaves no `path`."""
    former = _partial(path)
    path.rename(former)
    try:
        new.rename(path)
    except BaseException:
        former.rename(path)
        raise
    shutil.rmtree(former, ignore_errors=True)


def _flush(file: Path) -> None:
    """Flush a file to the disk, so that it is not empty after a power failure."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())

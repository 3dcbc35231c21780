"""Files read piece by piece, gzipped or not, whose faults are told as a person can mend them."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from emu_core.data.wording import shown
from emu_core.errors import DataError

_GZIP = b"\x1f\x8b"


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading; one that is gzipped gives what is packed in it. Who reads limits how much.

    Raises:
        DataError: the file is missing, can't be opened, or is a damaged gzip file, while it is read, too.
    """
    try:
        if not path.is_file():
            raise DataError(f"{shown(path.name)}: no such file; check the path")
        with path.open("rb") as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            if is_packed:
                with gzip.GzipFile(fileobj=file) as stream:
                    yield cast(BinaryIO, stream)
            else:
                yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{shown(path.name)} is a damaged gzip file; pack it anew") from error
    except OSError as error:
        raise DataError(
            f"{shown(path.name)} can't be opened; check the path and that you may read it"
        ) from error

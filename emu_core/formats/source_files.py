"""The files that a user names: themselves, or those within a folder or a zip archive."""

import io
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.limits import MAX_FILE_BYTES, check_size, opened
from emu_core.formats.tables.cells import Cells

MAX_FILES = 10_000
MAX_DEPTH = 20
_ZIP = b"PK\x03\x04"
_WORKBOOK = "xl/workbook.xml"
_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f]')  # in the names of files, on some systems
# Hidden files, those of an open spreadsheet program, and macOS's copies of attributes in an archive.
_HIDDEN = (".", "~$", "__MACOSX")


@dataclass(frozen=True, eq=False)
class SourceFile:
    """A file to read, or a table that Python holds.

    Attributes:
        path: as users know it, with `/`: the name of a file that was named, or the path within the folder or archive.
        source: where its bytes are; of a table that Python holds, its cells.
        around: the folder that holds a file that was named, "" if it is unknown; its name may state a language.
        is_named: whether the user named this file, and not a folder or archive around it.
        tree: the files of the same folder or archive by path, this one included; or those that were named with it.
    """

    path: str
    source: Path | bytes | Cells
    around: str = ""
    is_named: bool = True
    tree: Mapping[str, "SourceFile"] = field(default_factory=dict)

    @property
    def is_held(self) -> bool:
        """Whether Python holds it as a table, and it is no file."""
        return isinstance(self.source, Cells)

    @property
    def name(self) -> str:
        """The name without folders."""
        return PurePosixPath(self.path).name

    @property
    def folders(self) -> tuple[str, ...]:
        """The names of the folders around the file, the outermost first, as far as they are known."""
        if self.is_named:
            return self.source.absolute().parts[1:-1] if isinstance(self.source, Path) else ()
        return (self.around, *PurePosixPath(self.path).parts[:-1])

    def beside(self, name: str) -> "SourceFile | None":
        """Return the file of a name in the same folder or the nearest one above, if the tree has one."""
        for folder in PurePosixPath(self.path).parents:
            if other := self.tree.get(str(folder / name)):
                return other
        return None

    def payload(self) -> bytes:
        """Return the bytes of a file, unpacked if they are gzipped. Raises DataError if they can't be read."""
        if isinstance(self.source, Cells):
            raise TypeError(f"{self.path} is held as a table and has no bytes")
        with opened(self.source, self.path) as file:
            return file.read()


def source_files(
    sources: Sequence[Path | tuple[str, bytes] | SourceFile], *, as_folder: bool = False
) -> list[SourceFile]:
    """Return the files that are named by paths, or as names and bytes; folders and archives are opened.

    Args:
        sources: one or more; tables that Python holds are returned as they are.
        as_folder: whether they are as the files of a folder, of which some may hold no data.

    Raises:
        DataError: a path does not exist, or a folder or an archive is empty, damaged or too large.
    """
    named: dict[str, SourceFile] = {}
    return [
        file
        for source in sources
        for file in ([source] if isinstance(source, SourceFile) else _files_of(source, named, as_folder))
    ]


@dataclass(frozen=True)
class UnpackedFile:
    """A file on disk, or a table that Python holds, and whether it was named, and not a folder or archive around it."""

    source: Path | SourceFile
    is_named: bool


@contextmanager
def unpacked(sources: Sequence[Path | SourceFile]) -> Iterator[list[UnpackedFile]]:
    """Yield the files that are named by paths; those of archives are unpacked into a folder for the time being.

    Args:
        sources: one or more; tables that Python holds are yielded as they are.

    Raises:
        DataError: as `source_files`, or a file can't be unpacked.
    """
    with TemporaryDirectory() as folder:
        files = []
        for number, source in enumerate(sources):
            for file in source_files([source]):
                content: Path | SourceFile
                if isinstance(file.source, Cells):
                    content = file
                elif isinstance(file.source, bytes):
                    content = _written(file.source, Path(folder, str(number)), file.path)
                else:
                    content = file.source
                files.append(UnpackedFile(content, file.is_named))
        yield files


def _written(content: bytes, folder: Path, name: str) -> Path:
    """Write a file of an archive into a folder, under a name that every system takes."""
    path = folder.joinpath(*(_FORBIDDEN.sub("_", piece) for piece in name.split("/")))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:  # not over another one whose name is the same but for such characters
            file.write(content)
    except OSError as error:
        raise DataError(
            f"{shown(name)} can't be unpacked ({error.strerror}); unpack the archive yourself, and name its files"
        ) from error
    return path


def _files_of(
    source: Path | tuple[str, bytes], named: dict[str, SourceFile], as_folder: bool
) -> list[SourceFile]:
    """Return a named file, or the files in a folder or archive; `named` has the files that are named, by path."""
    if isinstance(source, Path) and source.is_dir():
        return _tree(_in_folder(source), source.name or str(source), "the folder")
    name, content = (source.name, source) if isinstance(source, Path) else source
    if (archive := _archive(content, name)) is not None:
        with archive:
            return _tree(_in_archive(archive, name), name, "the archive")
    around = source.absolute().parent.name if isinstance(source, Path) else ""
    path = name
    if as_folder and (number := sum(PurePosixPath(other).name == name for other in named)):
        path = f"{number + 1}/{name}"  # a folder has no two files of one name
    named[path] = SourceFile(path, content, around, not as_folder, named)
    return [named[path]]


def _tree(contents: Iterator[tuple[str, Path | bytes]], name: str, kind: str) -> list[SourceFile]:
    tree: dict[str, SourceFile] = {}
    for path, content in contents:
        tree[path] = SourceFile(path, content, name, is_named=False, tree=tree)
        if len(tree) > MAX_FILES:
            raise DataError(f"{kind} {shown(name)} holds more than {MAX_FILES:,} files; name those to read")
    if not tree:
        raise DataError(f"{kind} {shown(name)} holds no file; check its name")
    return [tree[path] for path in sorted(tree)]


def _in_folder(folder: Path) -> Iterator[tuple[str, Path]]:
    # Links to folders are not followed: they may lead out, or in a circle.
    for parent, folders, files in os.walk(folder):
        inner = Path(parent).relative_to(folder)
        folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
        if len(inner.parts) >= MAX_DEPTH:
            folders.clear()
        for name in files:
            path = Path(parent, name)
            if not name.startswith(_HIDDEN) and path.is_file():
                yield (inner / name).as_posix(), path


def _archive(content: Path | bytes, name: str) -> zipfile.ZipFile | None:
    """Return a zip archive opened, unless the file is something else; workbooks are zip archives, too."""
    try:
        if isinstance(content, Path):
            if not content.is_file():
                return None
            with content.open("rb") as file:
                if file.read(len(_ZIP)) != _ZIP:
                    return None
            check_size(content.stat().st_size, name, MAX_FILE_BYTES)
        elif not content.startswith(_ZIP):
            return None
        archive = zipfile.ZipFile(content if isinstance(content, Path) else io.BytesIO(content))
    except OSError:
        return None  # the reader says why it can't be opened
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DataError(f"{shown(name)} is a damaged zip archive or workbook; save it again") from error
    if _WORKBOOK in archive.namelist():
        archive.close()
        return None
    return archive


def _in_archive(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[str, bytes]]:
    parts = [part for part in archive.infolist() if not part.is_dir()]
    if len(parts) > MAX_FILES:
        raise DataError(
            f"the archive {shown(name)} holds more than {MAX_FILES:,} files; unpack those to read"
        )
    size = 0
    for part in parts:
        path = PurePosixPath(part.filename.replace("\\", "/"))
        # A name only, since nothing is written: it can't lead out of a folder.
        inner = [piece for piece in path.parts if piece not in ("/", "..", ".")]
        if not inner or any(piece.startswith(_HIDDEN) for piece in inner):
            continue
        try:
            with archive.open(part) as file:
                content = file.read(MAX_FILE_BYTES + 1 - size)
        except Exception as error:  # each way of compressing has errors of its own
            reason = "has a password" if part.flag_bits & 1 else "is damaged"
            raise DataError(f"the archive {shown(name)} {reason}; unpack it and name the folder") from error
        size += len(content)
        check_size(size, f"the archive {name}", MAX_FILE_BYTES, ", unpacked")
        yield "/".join(inner), content

"""The folder of a saved estimator: its files, which are not trusted, and the encoders in it, without scikit-learn.

`emu_core.sklearn.stored` says what lies where.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

from emu_core.encoders.base import Encoder
from emu_core.encoders.registry import load_encoder, open_encoder
from emu_core.encoders.saved import CHECKSUMS, DAMAGE, changed_file
from emu_core.encoders.specs import RUN_SPEC, is_run, joined_spec, parts_of
from emu_core.encoders.transformer.hf import as_folder
from emu_core.errors import DataError, EncoderError, InputError, RunError
from emu_core.files import other_format, read_json

ESTIMATOR_FORMAT = 2  # raised by a version that can't read the folders before it
ABOUT, ARRAYS = "estimator.json", "arrays.safetensors"
ENCODER = "encoder"  # the folder of the specialised encoder, as in a run
TRANSFORMER = "transformer"  # the folder of the fitted transformer that gives a classifier its vectors
MAX_JSON_BYTES = 64 * 2**20
MAX_ARRAY_BYTES = 16 * 2**30
MAX_FILES = 1_000
_ENCODERS = "encoders"
_COPIED = re.compile(rf"{_ENCODERS}/\w[\w.-]{{0,100}}")
_ENDING = "copy the folder again, or fit and save the estimator again"


@runtime_checkable
class HoldsEncoder(Protocol):
    """A fitted estimator that computes its vectors by an encoder."""

    def held_encoder(self) -> str | Encoder:
        """Return the spec of the encoder, or the encoder itself if it was trained with the estimator.

        Raises:
            NotFittedError: the estimator is not fitted.
            InputError: it has another transformer than one of Emu.
        """


def open_held(estimator: HoldsEncoder, device: str) -> Encoder:
    """Open the encoder of a fitted estimator on a device, apart from the estimator's own.

    Raises:
        NotFittedError: the estimator is not fitted.
        InputError: it has another transformer than one of Emu.
        EncoderError: as `load_encoder`.
    """
    held = estimator.held_encoder()
    if isinstance(held, str):
        return load_encoder(held, device=device)
    with TemporaryDirectory(prefix="emu-") as folder:
        held.save(Path(folder))
        return open_encoder(Path(folder)).placed(device)


def is_estimator(folder: Path) -> bool:
    """Return whether there is a saved estimator in a folder."""
    return (folder / ABOUT).is_file()


def estimator_spec(folder: Path) -> str:
    """Return the spec of the encoder of a saved estimator: of a classifier, of what gives it its vectors.

    Raises:
        InputError: the folder is damaged or of another version.
    """
    with reading(folder):
        check_files(folder)
        return _spec_of(folder)


def _spec_of(folder: Path) -> str:
    about = about_estimator(folder)
    if (folder / ENCODER).is_dir():
        return f"{RUN_SPEC}{folder}"  # it lies there as in the folder of a run
    spec = about["parameters"]["encoder"]
    return _spec_of(folder / TRANSFORMER) if spec is None else spec_in(spec, folder)


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turn any error in reading an estimator, whose files are not trusted, into an InputError with the fix."""
    try:
        yield
    except (InputError, EncoderError):
        raise
    except (DataError, RunError, *DAMAGE):
        raise InputError(f"{folder} does not hold a whole estimator; {_ENDING}") from None


def about_estimator(folder: Path) -> dict[str, Any]:
    """Return the content of estimator.json. Raises InputError if it is of another version."""
    about: dict[str, Any] = read_json(folder / ABOUT)
    if about["format"] != ESTIMATOR_FORMAT:
        text = other_format(folder, about["format"], about.get("emu_core"), ESTIMATOR_FORMAT)
        raise InputError(text.replace("train it again", "fit and save it again"))
    return about


def check_files(folder: Path) -> None:
    """Raise an InputError if files are missing, too large, links, or others than those that were saved."""
    files = list(folder.rglob("*"))
    if any(path.is_symlink() for path in files):
        link = next(path for path in files if path.is_symlink())
        raise InputError(f"{link} is a link, and save writes none; {_ENDING}")
    if len(files) > MAX_FILES:
        raise InputError(f"{folder} has {len(files):,} files; name a folder that save wrote")
    for path in files:
        limit = MAX_JSON_BYTES if path.name in (ABOUT, CHECKSUMS) else MAX_ARRAY_BYTES
        if path.stat().st_size > limit:
            raise InputError(
                f"{path} is larger than {limit // 2**20:,} MB, which no estimator needs; {_ENDING}"
            )
    if changed := changed_file(folder):
        raise InputError(f"{folder / changed} differs from what was saved; {_ENDING}")


def copied_spec(spec: str, folder: Path) -> str:
    """Copy the encoders of runs, and models in folders, that a spec names into a folder, and return a spec of these."""
    return joined_spec(_copied_part(part, folder) for part in parts_of(spec))


def _copied_part(part: str, folder: Path) -> str:
    source = _folder_of(part)
    if source is None:
        return part
    name = re.sub(r"[^\w.-]+", "-", source.resolve().name).strip(".-")[:50] or "run"
    taken = sum(1 for _ in folder.glob(f"{_ENCODERS}/*"))
    copy = (
        f"{_ENCODERS}/{name}" if not (folder / _ENCODERS / name).exists() else f"{_ENCODERS}/{name}-{taken}"
    )
    target = folder / copy
    encoder = load_encoder(part)  # which checks the files
    if not is_run(part):
        encoder.save(target / "encoder")
    else:
        shutil.copytree(source / "encoder", target / "encoder")
        for about in ("config.json", "data.json"):  # the languages it knows, and the data it was trained on
            if (source / about).is_file():
                shutil.copy(source / about, target / about)
    return RUN_SPEC + copy


def _folder_of(part: str) -> Path | None:
    """Return the folder of a run, or of a model in a folder; None for an encoder that is known by its name."""
    name = part.partition(":")[2]
    return Path(name) if is_run(part) else as_folder(name) if name else None


def spec_in(spec: str, folder: Path) -> str:
    """Return a spec that `copied_spec` returned, with the copies in a folder.

    Raises:
        ValueError: it names anything else that is in a folder.
    """
    parts = []
    for part in spec.split("+"):
        kind, _, name = part.partition(":")
        if kind == RUN_SPEC.removesuffix(":"):
            if not _COPIED.fullmatch(name):
                raise ValueError("the encoder of a run that is not in the folder")
            parts.append(f"{RUN_SPEC}{folder / name}")
        elif _folder_of(part) is not None:
            raise ValueError("a model that is not in the folder")
        else:
            parts.append(part)
    return joined_spec(parts)

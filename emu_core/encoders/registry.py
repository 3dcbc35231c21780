"""The registry of encoders: whether they can be used here, and how they are opened; `specs` has their names."""

import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from emu_core.devices import Precision, encoding_precision, has_bf16, split_device
from emu_core.encoders.base import Encoder, EncoderInfo, Tokens
from emu_core.encoders.saved import CONFIG, check_files, read_config
from emu_core.encoders.specs import RUN_SPEC, distinct_parts, encoder_kinds, is_run, parts_of
from emu_core.errors import EncoderError, in_words

BASE = "base"  # the folder of the encoder under a saved encoder's own layers
JOINED = "joined"  # the kind of several encoders
PARTS = "parts"  # the folder of the encoders, by number, of a joined one


def encoder_class(kind: str) -> type[Encoder]:
    """Import the class of a kind of encoder. Raises EncoderError if the kind is unknown or its package unusable."""
    location = encoder_kinds().get(kind)
    if location is None:
        raise EncoderError(
            f"there is no kind of encoder '{kind}' here; update emu_core, or install its package"
        )
    module, _, name = location.partition(":")
    try:
        kind_class: type[Encoder] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise EncoderError(
            f"the kind of encoder '{kind}' can't be imported from {location} ({error}); install its package again"
        ) from error
    return kind_class


def available_encoders() -> tuple[EncoderInfo, ...]:
    """Return all published encoders, the default first, whether they can be used here or not.

    Examples:
        >>> import emu_core
        >>> emu_core.available_encoders()[0].spec
        'use'
    """
    infos = []
    for kind in encoder_kinds():
        try:
            info = encoder_class(kind).info()
        except EncoderError as error:  # another package's, which must not hide the others
            info = EncoderInfo(kind, kind, 0, (), 0, "", False, error.message.worded(in_words))
        if info is not None:
            infos.append(info)
    return tuple(infos)


def load_encoder(spec: str, *, device: str = "cpu") -> Encoder:
    """Open an encoder.

    Args:
        spec: `use`, `e5-small`, `laser`, `hf:NAME_OR_PATH` for a transformer by its name on the hub or its folder,
            `run:DIR` for the specialised encoder of a finished run, or several of these joined by "+", such as
            `use+e5-small`: their unit vectors side by side, so that a cosine is the mean of theirs.
        device: for its weights, such as "cpu" or "cuda:0". After it may stand the precision in which vectors are
            computed, "cpu:fp32" or "cpu:bf16"; see `emu_core.devices.encoding_precision` for which it is otherwise.

    Raises:
        EncoderError: the name is unknown, a package is missing, or the files are no encoder.

    Examples:
        >>> import emu_core
        >>> emu_core.load_encoder("use").encode(["Where is the pool?", "Wo ist der Pool?"]).shape
        (2, 512)
    """
    encoder = _opened(spec).placed(device)
    if encoder.precision is Precision.BF16 and not has_bf16(split_device(device)[0]):
        emulated = (
            f"{split_device(device)[0]} has no instructions for bf16, and emulating them is slower than fp32"
        )
        warnings.warn(emulated, stacklevel=2)
    return encoder


def _opened(spec: str) -> Encoder:
    if len(parts_of(spec)) > 1:
        return encoder_class(JOINED).load(spec)
    kind, colon, name = spec.partition(":")
    if is_run(spec):
        folder = Path(name) / "encoder"
        check_files(folder)
        return open_encoder(folder)
    if kind in encoder_kinds():
        kind_class = encoder_class(kind)
        info = kind_class.info()
        if info is not None and info.spec == kind + colon:
            return kind_class.load(name)
    specs = [info.spec for info in available_encoders() if len(parts_of(info.spec)) == 1]
    names = [f"{name}NAME_OR_PATH" if name.endswith(":") else name for name in specs]
    raise EncoderError(
        f"no encoder '{spec}'; there are: {', '.join(names)}, run:DIR (a finished run's folder), and any of them "
        "joined by +"
    )


def encoder_kind(spec: str) -> str:
    """Return the kind of an encoder, of a run the one under all layers; "joined" for several, and `hf:NAME` whole.

    Raises:
        EncoderError: the run's folder has no encoder.
    """
    if len(parts_of(spec)) > 1:
        return JOINED
    return str(read_config(_bare_folder(_folder(spec)))["encoder"]) if is_run(spec) else spec


def kinds_of(spec: str) -> tuple[str, ...]:
    """Return the kind of each part of an encoder, as `encoder_kind` does; a single one where it isn't joined.

    Raises:
        EncoderError: a run's folder has no encoder.
    """
    return tuple(kind for kind, _ in _leaves(spec))


def precision_notes(spec: str, device: str) -> tuple[str, ...]:
    """Return a note if an encoder, which is not loaded, computes vectors on a device in bfloat16.

    Raises:
        EncoderError: a run's folder has no encoder.
    """
    if encoding_precision(device) is Precision.FP32:
        return ()
    classes = (encoder_class(kind.partition(":")[0]) for kind in kinds_of(spec))
    return ("The vectors are computed in bfloat16.",) if any(c.computes_in_bf16 for c in classes) else ()


def open_tokens(spec: str) -> tuple[Tokens, ...]:
    """Open the tokenizer of each part of an encoder, without the weights if they are separate.

    Raises:
        EncoderError: as `load_encoder`.
    """
    return tuple(encoder_class(kind.partition(":")[0]).open_tokens(source) for kind, source in _leaves(spec))


def _leaves(spec: str) -> Iterator[tuple[str, str | Path]]:
    """Yield the kind of each encoder that has no encoders under it, and what its `open_tokens` takes."""
    for part in distinct_parts(spec):
        if is_run(part):
            for folder in _leaf_folders(_folder(part)):
                yield str(read_config(folder)["encoder"]), folder
        else:
            yield part, part.partition(":")[2]


def _folder(run: str) -> Path:
    return Path(run.removeprefix(RUN_SPEC)) / "encoder"


def _bare_folder(folder: Path) -> Path:
    """Return the folder of the encoder under all layers of a saved one."""
    while (folder / BASE / CONFIG).is_file():
        folder /= BASE
    return folder


def _leaf_folders(folder: Path) -> Iterator[Path]:
    """Yield the folder of each encoder under all layers of a saved one, of whose parts none is joined itself."""
    bare = _bare_folder(folder)
    parts = sorted(
        (bare / PARTS).glob(f"*/{CONFIG}"), key=lambda path: (len(path.parent.name), path.parent.name)
    )
    yield from [_bare_folder(path.parent) for path in parts] or [bare]


def has_word_vectors(spec: str) -> bool:
    """Return whether an encoder has word vectors, without loading it. Raises EncoderError as `encoder_kind` does."""
    return encoder_class(encoder_kind(spec).partition(":")[0]).has_word_vectors


def open_encoder(folder: Path) -> Encoder:
    """Open what `Encoder.save` wrote to a folder. Raises EncoderError if it is incomplete."""
    return encoder_class(read_config(folder)["encoder"]).open(folder)

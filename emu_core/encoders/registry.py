"""The registry of encoders: their kinds, whether they can be used here, and how they are opened.

A published encoder is a row of `_PUBLISHED`. Those that methods make, and those of other packages, are entry points of
the group `emu.encoders`, such as

    [project.entry-points."emu.encoders"]
    letters = "letters.encoder:LettersEncoder"

The name is the kind: the class's `spec`, which is also in the config.json of its saved folders.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from emu_core.encoders.base import Encoder, EncoderInfo, Tokens
from emu_core.encoders.saved import CONFIG, check_files, read_config
from emu_core.errors import EncoderError, in_words

_ENTRY_POINTS = "emu.encoders"
BASE = "base"  # the folder of the encoder under a saved encoder's own layers
_PUBLISHED = {  # in the order of lists, those with published weights first
    "use": "emu_core.encoders.use.encoder:UseEncoder",
    "e5-small": "emu_core.encoders.e5:E5SmallEncoder",
    "laser": "emu_core.encoders.laser.encoder:LaserEncoder",
    "hf": "emu_core.encoders.transformer.hf:HfEncoder",
}


@cache  # reading the entry points of all installed packages is slow
def encoder_kinds() -> Mapping[str, str]:
    """Return the class of each kind of encoder as "module:Class", the published ones first."""
    declared = {point.name: point.value for point in entry_points(group=_ENTRY_POINTS)}
    return _PUBLISHED | {kind: value for kind, value in declared.items() if kind not in _PUBLISHED}


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
    """Return all published encoders, the default first, whether they can be used here or not."""
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
        spec: `use`, `e5-small`, `laser`, `hf:NAME_OR_PATH` for a transformer by its name on the hub or its folder, or
            `run:DIR` for the specialised encoder of a finished run.
        device: for its weights, such as "cpu" or "cuda:0".

    Raises:
        EncoderError: the name is unknown, a package is missing, or the files are no encoder.
    """
    kind, colon, name = spec.partition(":")
    if kind + colon == "run:":
        folder = Path(name) / "encoder"
        check_files(folder)
        return open_encoder(folder).to(device)
    if kind in encoder_kinds():
        kind_class = encoder_class(kind)
        info = kind_class.info()
        if info is not None and info.spec == kind + colon:
            return kind_class.load(name).to(device)
    names = [
        f"{info.spec}NAME_OR_PATH" if info.spec.endswith(":") else info.spec for info in available_encoders()
    ]
    raise EncoderError(
        f"no encoder '{spec}'; there are: {', '.join(names)}, run:DIR (a finished run's folder)"
    )


def encoder_kind(spec: str) -> str:
    """Return the kind of encoder under all layers: the spec itself, or for `run:DIR` the kind that was specialised.

    Raises:
        EncoderError: the run's folder has no encoder.
    """
    name, colon, where = spec.partition(":")
    return spec if name + colon != "run:" else str(read_config(_bare_folder(where))["encoder"])


def open_tokens(spec: str) -> Tokens:
    """Open the tokenizer of an encoder, as `load_encoder` takes it, without the weights if they are separate.

    Raises:
        EncoderError: as `load_encoder`.
    """
    kind, colon, name = spec.partition(":")
    if kind + colon == "run:":
        folder = _bare_folder(name)
        return encoder_class(read_config(folder)["encoder"]).open_tokens(folder)
    return encoder_class(kind).open_tokens(name)


def _bare_folder(run: str) -> Path:
    """Return the folder of the encoder under all layers of a run's."""
    folder = Path(run) / "encoder"
    while (folder / BASE / CONFIG).is_file():
        folder /= BASE
    return folder


def has_word_vectors(spec: str) -> bool:
    """Return whether an encoder has word vectors, without loading it. Raises EncoderError as `encoder_kind` does."""
    return encoder_class(encoder_kind(spec).partition(":")[0]).has_word_vectors


def open_encoder(folder: Path) -> Encoder:
    """Open what `Encoder.save` wrote to a folder. Raises EncoderError if it is incomplete."""
    return encoder_class(read_config(folder)["encoder"]).open(folder)

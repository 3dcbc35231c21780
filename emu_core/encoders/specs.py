"""The names of encoders: their kinds, and the parts of a joined encoder's name. Importing it takes no torch.

A published encoder is a row of `_PUBLISHED`. Those that methods make, and those of other packages, are entry points of
the group `emu.encoders`, such as

    [project.entry-points."emu.encoders"]
    letters = "letters.encoder:LettersEncoder"

The name is the kind: the class's `spec`, which is also in the config.json of its saved folders.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from emu_core.data.wording import kind_of, shown
from emu_core.errors import EncoderError

RUN_SPEC = "run:"  # begins the spec of a run's encoder
JOIN = "+"  # between the parts of a joined encoder
BOTH = ("use", "e5-small")  # the published encoders that are offered joined
_ENTRY_POINTS = "emu.encoders"
_PUBLISHED = {  # in the order of lists, those with published weights first
    "use": "emu_core.encoders.use.encoder:UseEncoder",
    "e5-small": "emu_core.encoders.e5:E5SmallEncoder",
    "joined": "emu_core.encoders.joined:JoinedEncoder",
    "laser": "emu_core.encoders.laser.encoder:LaserEncoder",
    "hf": "emu_core.encoders.transformer.hf:HfEncoder",
}


@cache  # reading the entry points of all installed packages is slow
def encoder_kinds() -> Mapping[str, str]:
    """Return the class of each kind of encoder as "module:Class", the published ones first."""
    declared = {point.name: point.value for point in entry_points(group=_ENTRY_POINTS)}
    return _PUBLISHED | {kind: value for kind, value in declared.items() if kind not in _PUBLISHED}


def parts_of(spec: str) -> tuple[str, ...]:
    """Return the parts of a joined encoder's spec, such as `use` and `run:A` of `use+run:A`; of another, itself.

    A "+" separates two parts only where the name of a kind follows, and where it isn't part of the name of a folder
    that exists.

    Raises:
        EncoderError: it is no text.
    """
    if not isinstance(spec, str):
        raise EncoderError(f"{kind_of(spec)} names no encoder; give a text, such as 'use'")
    if JOIN not in spec:
        return (spec,)
    kinds = "|".join(map(re.escape, (RUN_SPEC.removesuffix(":"), *encoder_kinds())))
    parts: list[str] = []
    for part in re.split(rf"\{JOIN}(?=(?:{kinds})(?:[{JOIN}:]|$))", spec):
        folder = parts[-1].partition(":")[2] if parts else ""
        if folder and Path(f"{folder}{JOIN}{part}").is_dir():
            parts[-1] += f"{JOIN}{part}"
        else:
            parts.append(part)
    return tuple(parts)


def distinct_parts(spec: str) -> tuple[str, ...]:
    """Return `parts_of` a spec. Raises EncoderError if one of them is named twice."""
    parts = parts_of(spec)
    encoders = [Path(part.removeprefix(RUN_SPEC)).absolute() if is_run(part) else part for part in parts]
    if len(set(encoders)) < len(parts):
        raise EncoderError(f"'{shown(spec)}' joins an encoder with itself; name different ones")
    return parts


def is_run(spec: str) -> bool:
    """Return whether a spec names the encoder of one run."""
    return spec.startswith(RUN_SPEC) and len(parts_of(spec)) == 1


def joined_spec(parts: Iterable[str]) -> str:
    """Return the spec of a joined encoder with these parts; of one part, itself."""
    return JOIN.join(parts)

"""A setting is described once: the description checks values, and is complete for every field of every method."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import pytest

from emu_core.errors import TrainingError
from emu_core.methods.bicvm.settings import BicvmConfig
from emu_core.methods.distil.settings import DistilConfig
from emu_core.methods.dual_encoder.settings import DualEncoderConfig
from emu_core.methods.emu.settings import EmuConfig
from emu_core.methods.fmda.settings import FmdaConfig, MeaningLanguageConfig
from emu_core.methods.head.settings import HeadConfig
from emu_core.settings import SettingInfo, Settings, infos, setting

KINDS = (
    EmuConfig,
    HeadConfig,
    DistilConfig,
    FmdaConfig,
    MeaningLanguageConfig,
    DualEncoderConfig,
    BicvmConfig,
)
FIELDS = [(kind, info) for kind in KINDS for info in infos(kind)]


class Shade(StrEnum):
    DARK = "dark"
    LIGHT = "light"
    NONE = "none"


@dataclass(frozen=True)
class Example(Settings):
    """One field of each kind."""

    share: float = setting(0.5, "A share.", label="Share", low=0, high=1)
    rate: float = setting(0.1, "A rate.", label="Rate", above=0)
    dropout: float = setting(0.2, "A dropout.", label="Dropout", low=0, below=1)
    size: int = setting(3, "A size.", label="Size", low=1)
    limit: int | None = setting(None, "A limit.", label="Limit", low=1)
    seeds: tuple[int, ...] = setting((0,), "Seeds.", label="Seeds", low=0)
    shade: Shade = setting(
        Shade.DARK, "A shade.", label="Shade", choices={Shade.DARK: "Dark", Shade.LIGHT: "Light"}
    )
    on: bool = setting(False, "A switch.", label="On")
    name: str = setting("x", "A name.", label="Name", matters=lambda settings: settings.on)

    def check_together(self) -> None:
        if self.on and self.size > 5:
            raise TrainingError("size must be 5 at most where on is on")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share": -0.1}, "share must be a number from 0 to 1, not -0.1"),
        ({"share": 1.1}, "share must be a number from 0 to 1, not 1.1"),
        ({"share": float("nan")}, "share must be a number from 0 to 1, not nan"),
        ({"share": True}, "share must be a number from 0 to 1, not True"),
        ({"share": "0.5"}, "share must be a number from 0 to 1, not 0.5"),
        ({"rate": 0}, "rate must be a number above 0, not 0"),
        ({"rate": float("inf")}, "rate must be a number above 0, not inf"),
        ({"rate": None}, "rate must be a number above 0, not None"),
        ({"rate": 10**400}, "rate must be a number above 0, not 1000"),
        ({"dropout": 1.0}, "dropout must be a number, 0 or more and below 1, not 1.0"),
        ({"size": 0}, "size must be a whole number, 1 or more, not 0"),
        ({"size": 2.0}, "size must be a whole number, 1 or more, not 2.0"),
        ({"size": True}, "size must be a whole number, 1 or more, not True"),
        ({"limit": 0}, "limit must be a whole number, 1 or more, or none, not 0"),
        ({"seeds": (1, -1)}, r"seeds must be a list, each item a whole number, 0 or more, not \(1, -1\)"),
        ({"seeds": 1}, "seeds must be a list, each item a whole number, 0 or more, not 1"),
        ({"shade": "red"}, "shade must be one of dark, light, none, not red"),
        ({"shade": []}, r"shade must be one of dark, light, none, not \[\]"),
        ({"on": 1}, "on must be true or false, not 1"),
        ({"name": 1}, "name must be text, not 1"),
        ({"on": True, "size": 6}, "size must be 5 at most where on is on"),
    ],
)
def test_a_value_outside_is_an_error_that_names_field_range_and_value(changes: Any, message: str) -> None:
    with pytest.raises(TrainingError, match=f"^{message}"):
        Example(**changes)


def test_values_become_their_fields_types() -> None:
    example = Example(share=1, seeds=[1, 2], shade="light", rate=np.float32(0.5), limit=4)  # type: ignore[arg-type]
    assert (example.share, example.seeds, example.limit) == (1.0, (1, 2), 4)
    assert type(example.share) is type(example.rate) is float
    assert example.shade is Shade.LIGHT
    assert Example(**asdict(example)) == example


def test_a_field_is_described() -> None:
    found = {info.name: info for info in infos(Example)}
    assert list(found) == list(asdict(Example()))
    assert {name: info.kind for name, info in found.items()} == {
        "share": float, "rate": float, "dropout": float, "size": int, "limit": int, "seeds": int, "shade": Shade,
        "on": bool, "name": str,
    }  # fmt: skip
    assert [name for name, info in found.items() if info.optional] == ["limit"]
    assert [name for name, info in found.items() if info.many] == ["seeds"]
    assert found["shade"].choices == {Shade.DARK: "Dark", Shade.LIGHT: "Light"}  # those that a form offers
    assert found["share"].choices == {}
    assert found["size"].flag == "--size" and found["size"].range == "1 or more"
    assert found["name"].matters(Example(on=True)) and not found["name"].matters(Example())
    assert found["name"].source == "ours"


def test_a_field_that_is_not_described_is_a_programmers_error() -> None:
    @dataclass(frozen=True)
    class Bare(Settings):
        epochs: int = 3

    @dataclass(frozen=True)
    class Odd(Settings):
        words: Mapping[str, int] = setting((), "Words.", label="Words")

    @dataclass(frozen=True)
    class Other(Settings):
        epochs: int = field(default=3, metadata={"unit": "epochs"})

    for kind in (Bare, Odd, Other):
        with pytest.raises(TypeError, match=kind.__name__):
            infos(kind)


@pytest.mark.parametrize(
    ("kind", "info"), FIELDS, ids=[f"{kind.__name__}.{info.name}" for kind, info in FIELDS]
)
def test_every_field_of_every_method_is_described_in_full(kind: type[Settings], info: SettingInfo) -> None:
    assert info.help.endswith(".") and info.help[0].isupper() and 10 < len(info.help) < 300
    assert info.label and not info.label.endswith(".") and len(info.label) < 40
    assert info.source and not info.source.endswith(".")
    assert bool(info.choices) == issubclass(info.kind, StrEnum)
    assert bool(info.range) == (info.kind in (int, float))
    assert info.common or info.group or info.fixed
    assert isinstance(info.matters(kind()), bool)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_unique_and_defaults_are_in_their_range(kind: type[Settings]) -> None:
    labels = [info.label for info in infos(kind)]
    assert len(labels) == len(set(labels))
    assert kind(**asdict(kind())) == kind()
    assert {info.name: info.default for info in infos(kind)} == {**asdict(kind())}


@pytest.mark.parametrize(
    ("kind", "info"), FIELDS, ids=[f"{kind.__name__}.{info.name}" for kind, info in FIELDS]
)
def test_every_range_is_held(kind: type[Settings], info: SettingInfo) -> None:
    step = 1 if info.kind is int else 1e-9
    outside = [
        limit
        for limit in (
            None if info.low is None else info.low - step,
            None if info.high is None else info.high + step,
            info.above,
            info.below,
        )
        if limit is not None
    ]
    outside += [float("nan"), 3 if info.kind is str else "abc"]
    for value in outside:
        with pytest.raises(TrainingError, match=f"^{info.name} must be {info.expected}, not "):
            kind(**{info.name: value})

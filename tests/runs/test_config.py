"""Defaults are the paper's, a method is what Table 2 says it is, and nonsense raises."""

from contextlib import suppress
from dataclasses import FrozenInstanceError, asdict
from typing import Any

import pytest

from emu_core.errors import TrainingError
from emu_core.methods.emu.settings import Adversary, EmuConfig, Objective
from emu_core.methods.head.settings import HeadConfig
from emu_core.methods.registry import configure, method_named, methods
from tests.support.raises import raises

PAPER = {
    "objective": Objective.L2_SOFTMAX,
    "alpha": 50.0,
    "center_weight": 1e-4,
    "adversary": Adversary.WASSERSTEIN,
    "adversary_weight": 1e-4,
    "parallel": False,
    "critic_steps": 5,
    "critic_clip": 0.01,
    "critic_learning_rate": 5e-4,
    "critic_hidden": 900,
    "critic_dropout": 0.2,
    "learning_rate": 1e-3,
    "classifier_learning_rate": 1e-3,
    "batch_size": 16,
    "epochs": 3,
    "contrastive_margin": 2.0,
    "interpolation": 1.0,
    "decay": False,
    "linear_probe": 0.0,
}
METHODS: dict[Any, dict[str, Any]] = {
    "emu": {"objective": Objective.L2_SOFTMAX, "parallel": False},
    "emu-without-ld": {"objective": Objective.L2_SOFTMAX, "adversary": Adversary.NONE},
    "emu-without-ld-cl": {
        "objective": Objective.L2_SOFTMAX,
        "adversary": Adversary.NONE,
        "center_weight": 0.0,
    },
    "emu-parallel": {"objective": Objective.L2_SOFTMAX, "parallel": True},
    "emu-anchored": {
        "objective": Objective.L2_SOFTMAX,
        "parallel": False,
        "interpolation": 0.5,
        "linear_probe": 1.0,
    },
    "softmax": {"objective": Objective.SOFTMAX, "adversary": Adversary.NONE, "center_weight": 0.0},
    "contrastive": {
        "objective": Objective.CONTRASTIVE,
        "adversary": Adversary.NONE,
        "center_weight": 0.0,
    },
    "n-pair": {"objective": Objective.N_PAIR, "adversary": Adversary.NONE, "center_weight": 0.0},
}


@pytest.mark.parametrize("name", PAPER)
def test_defaults_are_the_papers(name: str) -> None:
    assert getattr(EmuConfig(), name) == PAPER[name]
    assert getattr(configure("emu"), name) == PAPER[name]


def test_every_method_is_described() -> None:
    assert set(METHODS) == {name for name, method in methods().items() if method.settings is EmuConfig}


@pytest.mark.parametrize("encoder", [None, "use"])
@pytest.mark.parametrize("method", list(METHODS))
def test_a_method_switches_its_parts_whatever_was_tuned(method: str, encoder: str | None) -> None:
    config = configure(method, encoder)
    assert {name: getattr(config, name) for name in METHODS[method]} == METHODS[method]
    has_critic = method in ("emu", "emu-anchored", "emu-parallel")
    assert (config.adversary is not Adversary.NONE) == has_critic
    if has_critic:
        assert config.adversary_weight > 0
        assert config.center_weight > 0


def test_changes_win_over_the_method() -> None:
    config = configure("emu", "use", epochs=7, adversary=Adversary.CROSS_ENTROPY)
    assert (config.epochs, config.adversary) == (7, Adversary.CROSS_ENTROPY)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("alpha", [0, -1.0]),
        ("learning_rate", [0, -1e-3]),
        ("classifier_learning_rate", [0]),
        ("critic_learning_rate", [0]),
        ("critic_clip", [0, -0.01]),
        ("critic_steps", [0, -5]),
        ("critic_hidden", [0]),
        ("batch_size", [-16, 0, 1]),
        ("epochs", [0]),
        ("n_pair_scale", [0]),
        ("center_weight", [-1e-4]),
        ("adversary_weight", [-1e-4]),
        ("center_rate", [-0.5]),
        ("contrastive_margin", [-2.0]),
        ("critic_dropout", [-0.1, 1.0]),
    ],
)
def test_a_value_outside_its_range_raises_and_names_itself(name: str, values: list[Any]) -> None:
    for value in [*values, float("nan")]:
        change: dict[str, Any] = {name: value}
        with raises(TrainingError, fix=name):
            EmuConfig(**change)
        with raises(TrainingError, fix=name):
            configure("emu", None, **change)


@pytest.mark.parametrize(
    ("name", "member"), [("objective", Objective.SOFTMAX), ("adversary", Adversary.NONE)]
)
def test_a_name_read_from_json_is_its_member_or_an_error(name: str, member: Objective | Adversary) -> None:
    """A step compares members by identity: a bare string would silently train something else."""
    change: dict[str, Any] = {name: member.value}
    with suppress(TrainingError):
        assert getattr(EmuConfig(**change), name) is member


def test_a_config_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        EmuConfig().alpha = 1.0  # type: ignore[misc]


def test_the_head_has_settings_of_its_own() -> None:
    for_use, for_others = configure("head", "use"), configure("head", "e5-small")
    assert (for_use.language_directions, for_others.language_directions) == (0, 5)
    assert configure("head") == configure("head", "hf:some") == HeadConfig()
    changed = configure("head", "use", share=0.1)
    assert (changed.share, changed.gate_temperature) == (0.1, 0.1)
    assert method_named("head").settings_from(asdict(changed)) == changed
    assert method_named("emu").settings_from(asdict(EmuConfig(epochs=2))) == EmuConfig(epochs=2)
    settings = asdict(EmuConfig(epochs=2))
    del settings["decay"]
    with raises(TrainingError, fix=None, match=r"emu .*\(decay "):
        method_named("emu").settings_from(settings)
    with raises(TrainingError, fix=None, match=r"head .*\(centering, "):
        method_named("head").settings_from({"neighbours": 5})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("share", 1.5),
        ("share", float("nan")),
        ("kernel_temperature", 0.0),
        ("gate_width", float("inf")),
        ("softening", -1.0),
        ("gate_temperature", 0.0),
        ("language_directions", -1),
        ("language_directions", 2.5),
    ],
)
def test_a_value_that_the_head_can_not_have_is_said(name: str, value: float) -> None:
    change: dict[str, Any] = {name: value}
    with raises(TrainingError, fix=name):
        configure("head", **change)


@pytest.mark.parametrize(("method", "change"), [("head", {"epochs": 3}), ("emu", {"share": 0.3})])
def test_a_setting_that_the_method_has_not_is_said(method: str, change: dict[str, Any]) -> None:
    with raises(TrainingError, fix="method", match=f"{method} .* {next(iter(change))}[,;]"):
        configure(method, **change)

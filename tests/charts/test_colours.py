"""The palette is told apart by readers of every colour vision, on a light page and on a dark one."""

import itertools
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.charts.style import DARK, GREY, LIGHT, PALETTE, TOLD_APART, Theme

# Machado, Oliveira and Fernandes 2009: what a reader without cones of one kind sees, in linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
D65 = np.array([0.95047, 1.0, 1.08883])
THEME = Path(__file__).parents[2] / "app/emu_app/shell/.streamlit/config.toml"
EIGHTS = [
    theme.palette[first : first + TOLD_APART]
    for theme in (LIGHT, DARK)
    for first in range(0, len(theme.palette), TOLD_APART)
]
FIRST = (PALETTE, EIGHTS[0], EIGHTS[3])  # what most sets need
LATER_APART = 6
Lab = tuple[float, float, float]


def linear(colour: str) -> NDArray[np.float64]:
    """Return a colour (#RRGGBB) in linear sRGB."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str) -> Lab:
    """Return a colour in CIELAB, as a reader sees it."""
    ratios = XYZ @ np.clip(VISIONS[vision] @ linear(colour), 0, 1) / D65
    x, y, z = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(first: Lab, second: Lab) -> float:
    """Return the difference of two colours in CIELAB: Sharma, Wu and Dalal 2005."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean_chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * math.sqrt(mean_chroma**7 / (mean_chroma**7 + 25**7))
    c1, c2 = math.hypot(stretch * a1, b1), math.hypot(stretch * a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    waves = ((1, -30, -0.17), (2, 0, 0.24), (3, 6, 0.32), (4, -63, -0.20))
    t = 1 + sum(weight * math.cos(math.radians(times * hue + shift)) for times, shift, weight in waves)
    light = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2))
    colourful = (c2 - c1) / (1 + 0.045 * chroma)
    around = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    rotation *= math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    return math.sqrt(light**2 + colourful**2 + around**2 + rotation * colourful * around)


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1.3802, -84.2814), (50, 0, -82.7485), 1.0),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((50, -0.001, 2.49), (50, 0.0009, -2.49), 4.8045),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (56, -27, -3), 31.9030),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((63.0109, -31.0961, -5.8663), (62.8187, -29.7946, -4.0864), 1.2630),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_of_colours_is_that_of_the_published_pairs(
    first: Lab, second: Lab, difference: float
) -> None:
    assert ciede2000(first, second) == pytest.approx(difference, abs=1e-4)
    assert ciede2000(second, first) == pytest.approx(difference, abs=1e-4)


def test_without_red_or_green_cones_these_are_alike() -> None:
    red, green = "#A05000", "#5F7300"
    assert ciede2000(lab(red, "normal"), lab(green, "normal")) > 25
    assert ciede2000(lab(red, "deuteranopia"), lab(green, "deuteranopia")) < 8


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("colours", [PALETTE, *EIGHTS], ids=str)
def test_every_two_of_eight_colours_are_told_apart_and_from_the_grey_of_the_rest(
    colours: tuple[str, ...], vision: str
) -> None:
    seen = {colour: lab(colour, vision) for colour in (*colours, GREY)}
    assert len(seen) == 9
    distances = {pair: ciede2000(seen[pair[0]], seen[pair[1]]) for pair in itertools.combinations(seen, 2)}
    least = 12 if colours in FIRST else LATER_APART
    assert min(distances.values()) > least, min(distances.items(), key=lambda item: item[1])


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_no_two_colours_of_a_theme_are_alike(theme: Theme) -> None:
    seen = [lab(colour, "normal") for colour in theme.palette]
    assert min(itertools.starmap(ciede2000, itertools.combinations(seen, 2))) > 8


def contrast(colour: str, page: str) -> float:
    low, high = sorted(float(XYZ[1] @ linear(each)) for each in (colour, page))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_stands_out_from_the_page(theme: str) -> None:
    page = tomllib.loads(THEME.read_text("utf-8"))["theme"][theme]["backgroundColor"]
    for colour in (*PALETTE, GREY):
        assert contrast(colour, page) > 2, colour
    for colour in (DARK if theme == "dark" else LIGHT).palette:
        assert contrast(colour, page) > 3, colour

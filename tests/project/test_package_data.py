"""What the packages hold beside code, which a wheel lacks unless pyproject.toml names it."""

import tomllib

from tests.support.paths import ROOT

PLACES = {"emu_core": ROOT / "emu_core", "emu_app": ROOT / "app" / "emu_app"}


def test_what_is_no_code_is_named_as_data_of_its_package() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    found = {
        path
        for place in PLACES.values()
        for path in place.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    packed = set()
    for package, patterns in named.items():
        first, *rest = package.split(".")
        packed |= {path for pattern in patterns for path in PLACES[first].joinpath(*rest).glob(pattern)}
    assert len(found) > 30 and found - packed == set()

"""Installs the folder `app` as the package `emu_app`, since `app` is a likely name in a user's own folder.

Everything else is in pyproject.toml.
"""

from setuptools import find_namespace_packages, setup

setup(
    packages=[
        *find_namespace_packages(include=["emu_core", "emu_core.*"]),
        *(f"emu_{name}" for name in find_namespace_packages(include=["app", "app.*"])),
    ],
    package_dir={"emu_app": "app"},
)

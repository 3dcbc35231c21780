"""The version of the package, without an import."""

__version__ = "0.2.0"

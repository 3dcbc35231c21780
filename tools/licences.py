"""Write the packages that requirements.txt brings into THIRD_PARTY_NOTICES.md: python -m tools.licences."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import ROOT

PAGE = ROOT / "THIRD_PARTY_NOTICES.md"
BEGIN, END = "<!-- packages: python -m tools.licences -->\n", "<!-- end of packages -->"
# Whose content is under another licence than the metadata name.
READ = {"home-assistant-intents": "Apache-2.0; the sentences CC BY 4.0"}
CUDA = re.compile(r"nvidia-|cuda-|triton$")


def installed() -> dict[str, Distribution]:
    """Return what requirements.txt brings, itself included, in this environment; without torch's CUDA libraries."""
    found: dict[str, Distribution] = {}
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    waiting = [Requirement(line.partition(" #")[0]) for line in lines if line[:1] not in ("", "#")]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        environments = [{"extra": extra} for extra in wanted.extras] or [{"extra": ""}]
        if name in found or CUDA.match(name) or not _applies(wanted, environments):
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # of another extra, or for a platform that is not this one
        found[name] = package
        mine = [Requirement(line) for line in package.requires or []]
        waiting += [requirement for requirement in mine if _applies(requirement, environments)]
    return dict(sorted(found.items()))


def _applies(requirement: Requirement, environments: list[dict[str, str]]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate(each) for each in environments)


def licence(name: str, package: Distribution) -> str:
    """Return the licence that a package's metadata name: an expression, a line, or the classifiers."""
    if name in READ:
        return READ[name]
    facts = package.metadata
    said = facts.get("License-Expression") or facts.get("License") or ""
    classified = [
        line.split(" :: ")[-1] for line in facts.get_all("Classifier", []) if line.startswith("License ::")
    ]
    if not said or "\n" in said or len(said) > 120 or said.upper() == "UNKNOWN":
        said = ", ".join(dict.fromkeys(classified))
    return said.replace("|", "/").strip()


def _rows() -> Iterator[str]:
    yield "| package | licence, according to its metadata |"
    yield "| --- | --- |"
    for name, package in installed().items():
        yield f"| `{name}` | {licence(name, package)} |"


def main() -> None:
    """Rewrite the table."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + "\n".join(_rows()) + "\n" + END + after, "utf-8")


if __name__ == "__main__":
    main()

"""Write docs/reference/settings.md from the fields of the methods' settings: python -m tools.settings_page."""

from collections.abc import Iterator, Sequence
from typing import Any

from emu_core.methods.registry import methods
from emu_core.settings import OURS, SettingInfo, Settings, infos, value_text
from emu_core.training.method import Method
from tools import DOCS

PAGE = DOCS / "reference/settings.md"
HEAD = """# Hyper-parameters

All settings of each method, with their defaults, ranges and sources. `emu train --method NAME --help`,
`emu pretrain --method NAME --help` and the app's forms show the same descriptions. The column "paper" has the values of
`--preset paper`; the other columns have the defaults of `--preset tuned`, for each encoder if they differ.
"""


def page() -> str:
    """Return the page."""
    by_kind: dict[type[Settings], list[Method]] = {}
    for method in methods().values():
        by_kind.setdefault(method.settings, []).append(method)
    return HEAD + "".join(f"\n{line}\n" for sharing in by_kind.values() for line in _section(sharing))


def _section(sharing: Sequence[Method]) -> Iterator[str]:
    """Yield the paragraphs on a class of settings, given the methods that share it."""
    first, *others = sharing
    yield f"## {first.title}: `--method {first.name}`"
    yield f"{first.summary} In Python: `{first.settings.__module__}.{first.settings.__name__}`."
    if others:
        variants = [f"`{method.name}` sets {_listed(method.variant)}" for method in others]
        yield f"Its variants and baselines have the same settings: {'; '.join(variants)}."
    starts = _starts(first)
    rows = [("option", "meaning", *starts, "range", "source"), ("---",) * (len(starts) + 4)]
    for info in infos(first.settings):
        if not info.fixed:
            values = (value_text(getattr(start, info.name)) for start in starts.values())
            rows.append((f"`{info.flag}`", info.help, *values, _allowed(info), info.source))
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _allowed(info: SettingInfo) -> str:
    if info.range or info.is_encoder:
        return info.range or "an encoder"
    return "on or off" if info.kind is bool else ", ".join(info.kind)


def _starts(method: Method) -> dict[str, Settings]:
    """Return the settings that a run may start from, by the heading of their column."""
    if not method.encoder:
        return {"paper": method.configure(), "tuned": method.configure("")}
    encoders = ("e5-small",) if method.reads_tokens else ("use", "e5-small")
    ours = all(info.source.startswith(OURS) for info in infos(method.settings))
    papers = {} if ours else {"paper": method.configure()}
    return papers | {f"`{name}`": method.configure(name) for name in encoders}


def _listed(variant: Any) -> str:
    return " and ".join(f"`{name}` to {value_text(value)}" for name, value in variant.items())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

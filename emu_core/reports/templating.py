"""The templates of everything that people read; every value in them is escaped unless it is `Markup` already."""

import html
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:  # a card needs no plotly
    import plotly.graph_objects as go

PLOTLY = "'unsafe-inline'"  # sources of scripts, for a page with charts
WEBGL = "'unsafe-inline' 'unsafe-eval'"  # with maps, for which plotly compiles functions of its own
_OPTIONS: dict[str, Any] = {
    "undefined": StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
}


def render_html(template: str, **values: object) -> str:
    """Return a template of HTML with its values; texts among them are escaped."""
    return _html().get_template(template).render(values)


def render_markdown(template: str, **values: object) -> str:
    """Return a template of Markdown with its values; texts among them are escaped and on one line each."""
    text = _markdown().get_template(template).render(values)
    # Blank lines are joined, but not in a block of code.
    return (
        re.sub(r"(```.*?```)|\n{3,}", lambda part: part[1] or "\n\n", text, flags=re.DOTALL).strip("\n")
        + "\n"
    )


def markdown_text(text: str) -> str:
    """Return a text on one line, escaped for Markdown."""
    line = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*{}\[\]|#!~$]|\b_|_\b)", r"\\\1", line)


def figure_html(figure: "go.Figure", **config: bool) -> Markup:
    """Return a figure for a page that has plotly's script; plotly writes no `<` of a text into it."""
    drawn: str = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        auto_play=False,
        config={"responsive": True, **config},
    )
    return Markup(drawn)  # noqa: S704


def _code(text: object) -> Markup:
    """Return a text in Markdown's marks of code, in which nothing else is markup."""
    return Markup(f"`{_verbatim(text)}`")  # noqa: S704


def _verbatim(text: object) -> Markup:
    """Return a text for a block of code in Markdown: on one line, and without the mark that ends the block."""
    return Markup(" ".join(str(text).replace("`", "'").split()))  # noqa: S704


def _python(lines: str) -> Markup:
    """Return lines of Python for a block of code in Markdown, which they can't end."""
    return Markup(lines.rstrip().replace("`" * 3, "'" * 3))  # noqa: S704


def _plotly_script() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())  # noqa: S704


@cache
def _html() -> Environment:
    environment = Environment(loader=PackageLoader("emu_core.reports"), autoescape=True, **_OPTIONS)
    environment.globals["plotly_script"] = _plotly_script
    environment.filters["figure"] = figure_html
    return environment


@cache
def _markdown() -> Environment:
    environment = Environment(
        loader=PackageLoader("emu_core.reports"),
        autoescape=True,
        # Markdown's own marks are escaped as well as HTML's.
        finalize=lambda value: value if isinstance(value, Markup) else Markup(markdown_text(str(value))),  # noqa: S704
        **_OPTIONS,
    )
    environment.filters |= {"code": _code, "python": _python, "verbatim": _verbatim}
    return environment

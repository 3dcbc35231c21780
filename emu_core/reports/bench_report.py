"""The report of a benchmark for people: report.md, report.html and its pictures."""

from collections.abc import Mapping

from markupsafe import Markup

from emu_core.bench.report import MARKDOWN, PAGE, BenchReport, lists_of
from emu_core.files import write_whole
from emu_core.reports.bench_pictures import svg_of
from emu_core.reports.templating import render_html, render_markdown


def write_report(report: BenchReport) -> None:
    """Write report.md, report.html and a file for each picture into the report's folder, each atomically."""
    drawn = {picture.name: svg_of(picture.drawing) for picture in report.pictures if picture.drawing}
    for name, svg in drawn.items():
        write_whole(report.folder / f"{name}.svg", svg)
    write_whole(report.folder / MARKDOWN, as_markdown(report).encode("utf-8", "replace"))
    write_whole(report.folder / PAGE, as_html(report, drawn).encode("utf-8", "replace"))


def as_markdown(report: BenchReport) -> str:
    """Return the report in Markdown, with links to the files of its pictures."""
    return render_markdown("bench_report.md.j2", report=report, lists=lists_of(report))


def as_html(report: BenchReport, drawn: Mapping[str, str]) -> str:
    """Return the report as one HTML page that loads nothing and runs no script; `drawn` are its pictures as SVG."""
    pictures = {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704 - matplotlib's, which escapes texts
    return render_html(
        "bench_report.html.j2", title=report.title, report=report, lists=lists_of(report), pictures=pictures
    )

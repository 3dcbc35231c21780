"""The README.md of an exported encoder."""

from pathlib import Path

from markupsafe import Markup

from emu_core.exporting.writers import Export, OnnxExport
from emu_core.reports.templating import render_markdown


def write_readme(folder: Path, title: str, export: Export, card: str) -> None:
    """Write how to open an exported folder, followed by the card of the run that it comes from, or "" for none."""
    readme = render_markdown(
        "export.md.j2",
        title=title,
        export=export,
        is_onnx=isinstance(export, OnnxExport),
        card=Markup(card.removeprefix(f"# {title}\n")),  # noqa: S704 - Markdown already
    )
    (folder / "README.md").write_text(readme, "utf-8")

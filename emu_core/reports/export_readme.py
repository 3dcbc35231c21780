"""The README.md of an exported encoder."""

from pathlib import Path

from markupsafe import Markup

from emu_core.exporting.writers import Export, OnnxExport
from emu_core.reports.card_header import encoder_header, onnx_header, split_header
from emu_core.reports.templating import render_markdown


def write_readme(folder: Path, title: str, export: Export, spec: str, card: str = "") -> None:
    """Write how to open an exported folder, followed by the card of the run that it comes from, or "" for none.

    The header is that of the card. Without one, it is that of the encoder that `spec` names.
    """
    header, text = split_header(card)
    header = header or encoder_header(spec)
    readme = render_markdown(
        "export.md.j2",
        title=title,
        export=export,
        is_onnx=isinstance(export, OnnxExport),
        card=Markup(text.removeprefix(f"# {title}\n")),  # noqa: S704 - Markdown already
    )
    (folder / "README.md").write_text(
        (onnx_header(header) if isinstance(export, OnnxExport) else header) + readme, "utf-8"
    )

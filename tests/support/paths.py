"""Where the repository and its parts are."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MAIN = ROOT / "app" / "emu_app" / "main.py"  # what Streamlit runs

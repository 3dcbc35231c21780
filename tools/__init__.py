"""Commands that keep the repository: pictures, pages, notebooks and notices that are generated."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

"""A folder whose files have the names of modules, as a person's own project may have."""

from pathlib import Path

NAMES = (
    "accelerate", "app", "data", "emu_app", "main", "numpy", "random", "served", "shell", "signal", "socket",
    "streamlit", "tempfile", "torch", "users", "work",
)  # fmt: skip


def shadowing_folder(folder: Path) -> Path:
    """Write the files into a new folder, which it returns; each ends the process that imports it."""
    (folder / "app").mkdir(parents=True)
    for path in (*(folder / f"{name}.py" for name in NAMES), folder / "app" / "__init__.py"):
        path.write_text("import os\nos.write(2, f'imported {__file__}\\n'.encode())\nos._exit(9)\n")
    return folder

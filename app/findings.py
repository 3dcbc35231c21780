"""What an audit found, in a newcomer's words."""

from dataclasses import dataclass

import pandas as pd

from emu_core.data.labelled.audit import Audit
from emu_core.data.labelled.audit_checks import LONG_TEXT


@dataclass(frozen=True, eq=False)
class Finding:
    """One kind of thing found.

    Attributes:
        key: names it in file names.
        title: what was found.
        meaning: what it does to training, and the mend.
        table: the rows.
    """

    key: str
    title: str
    meaning: str
    table: pd.DataFrame


def findings_of(audit: Audit) -> list[Finding]:
    """Return what the audit found, the gravest first; kinds of which nothing was found are left out."""
    kinds = (
        (
            "dropped",
            "Rows left out",
            "These rows can't be used. Mend them in the file and upload it again.",
            audit.dropped,
        ),
        (
            "conflicts",
            "The same sentence with different intents",
            "No encoder can tell them apart. Decide for one intent, or make the sentences say more.",
            audit.conflicts,
        ),
        (
            "leaks",
            "The same sentence or id in two splits",
            "What is measured on test is too good if train has it too. Keep all translations in one split.",
            audit.leaks,
        ),
        (
            "scripts",
            "Letters that do not fit the language",
            "Often the language column is wrong, or the text was damaged on its way.",
            audit.script_misfits,
        ),
        (
            "thin",
            "An intent's only sentence in a language",
            "Nothing can be learnt about what its sentences share, and no neighbour can be found. Add a second.",
            audit.thin,
        ),
        (
            "duplicates",
            "Near repeats",
            "They differ only in case, spacing, id or split. They are kept, and count twice.",
            audit.duplicates,
        ),
        (
            "long",
            "Very long texts",
            f"Of texts over {LONG_TEXT:,} characters an encoder reads the beginning only.",
            audit.long_texts,
        ),
    )
    return [Finding(*kind) for kind in kinds if len(kind[-1])]

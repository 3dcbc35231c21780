"""Try: sentences of one's own, by encoders A and B."""

from functools import partial

from emu_app.panels.context import context
from emu_app.shell.address import draw_tabs
from emu_app.workbench.compare_sentences import draw_compare_sentences
from emu_app.workbench.predict import draw_predictions

ALIKE, INTENTS = "Compare sentences", "Name intents"


def page() -> None:
    """Ask for sentences, and draw how alike they are by each encoder, or their intents."""
    now = context()
    draw_tabs(
        {ALIKE: partial(draw_compare_sentences, now), INTENTS: partial(draw_predictions, now)}, "try", "try"
    )


page()

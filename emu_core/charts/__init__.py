"""Plotly figures of data or of a comparison, independent of Streamlit, encoders and runs."""

from emu_core.charts.animation import animation, animation_page
from emu_core.charts.attention import attention_bars
from emu_core.charts.comparison import (
    accuracy,
    changes,
    confusion,
    forgetting,
    gains,
    similarity,
    triple,
    triple_picture,
)
from emu_core.charts.comparison_page import comparison_page
from emu_core.charts.curves import (
    held_out_curves,
    labelling_curve,
    loss_curves,
    psi_distributions,
    spectrum_lines,
)
from emu_core.charts.heat_maps import (
    accuracy_difference,
    accuracy_matrix,
    class_balance,
    confusion_matrix,
    similarity_matrix,
)
from emu_core.charts.intervals import forgetting_intervals, guard_intervals, system_gains
from emu_core.charts.scatter import maps_page, sentence_maps, word_map

__all__ = [
    "accuracy",
    "accuracy_difference",
    "accuracy_matrix",
    "animation",
    "animation_page",
    "attention_bars",
    "changes",
    "class_balance",
    "comparison_page",
    "confusion",
    "confusion_matrix",
    "forgetting",
    "forgetting_intervals",
    "gains",
    "guard_intervals",
    "held_out_curves",
    "labelling_curve",
    "loss_curves",
    "maps_page",
    "psi_distributions",
    "sentence_maps",
    "similarity",
    "similarity_matrix",
    "spectrum_lines",
    "system_gains",
    "triple",
    "triple_picture",
    "word_map",
]

"""Pictures: data in, a plotly figure out; nothing here knows Streamlit, an encoder or a file."""

from emu_core.charts.accuracy import accuracy_difference, accuracy_matrix
from emu_core.charts.attention import attention_bars
from emu_core.charts.balance import class_balance
from emu_core.charts.curves import loss_curves
from emu_core.charts.forgetting import kept_intervals
from emu_core.charts.guard import guard_intervals
from emu_core.charts.held_out import held_out_curve
from emu_core.charts.scatter import sentence_maps
from emu_core.charts.similarity import similarity_matrix
from emu_core.charts.spectra import psi_distributions, spectrum_lines
from emu_core.charts.triangle import triple_picture
from emu_core.charts.word_map import word_map

__all__ = [
    "accuracy_difference",
    "accuracy_matrix",
    "attention_bars",
    "class_balance",
    "guard_intervals",
    "held_out_curve",
    "kept_intervals",
    "loss_curves",
    "psi_distributions",
    "sentence_maps",
    "similarity_matrix",
    "spectrum_lines",
    "triple_picture",
    "word_map",
]

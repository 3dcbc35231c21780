"""Pictures: data in, a plotly figure out; nothing here knows Streamlit, an encoder or a file."""

from app.charts.accuracy import accuracy_difference, accuracy_matrix
from app.charts.attention import attention_bars
from app.charts.balance import class_balance
from app.charts.curves import loss_curves
from app.charts.forgetting import kept_intervals
from app.charts.guard import guard_intervals
from app.charts.held_out import held_out_curve
from app.charts.scatter import sentence_maps
from app.charts.similarity import similarity_matrix
from app.charts.spectra import psi_distributions, spectrum_lines
from app.charts.triangle import triple_picture
from app.charts.word_map import word_map

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

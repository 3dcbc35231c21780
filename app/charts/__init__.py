"""Pictures: data in, a plotly figure out; nothing here knows Streamlit, an encoder or a file."""

from app.charts.accuracy import accuracy_difference, accuracy_matrix
from app.charts.attention import attention_bars
from app.charts.balance import class_balance
from app.charts.curves import loss_curves
from app.charts.forgetting import kept_intervals
from app.charts.guard import guard_intervals
from app.charts.scatter import sentence_maps
from app.charts.similarity import similarity_matrix
from app.charts.triangle import triple_picture

__all__ = [
    "accuracy_difference",
    "accuracy_matrix",
    "attention_bars",
    "class_balance",
    "guard_intervals",
    "kept_intervals",
    "loss_curves",
    "sentence_maps",
    "similarity_matrix",
    "triple_picture",
]

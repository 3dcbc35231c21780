"""Plotly figures of data or of a comparison, independent of Streamlit, encoders and runs."""

from emu_core.charts.animation import animation as animation
from emu_core.charts.attention import attention_bars as attention_bars
from emu_core.charts.comparison import accuracy as accuracy
from emu_core.charts.comparison import changes as changes
from emu_core.charts.comparison import confusion as confusion
from emu_core.charts.comparison import forgetting as forgetting
from emu_core.charts.comparison import gains as gains
from emu_core.charts.comparison import similarity as similarity
from emu_core.charts.comparison import triple as triple
from emu_core.charts.comparison import triple_picture as triple_picture
from emu_core.charts.curves import held_out_curves as held_out_curves
from emu_core.charts.curves import labelling_curve as labelling_curve
from emu_core.charts.curves import loss_curves as loss_curves
from emu_core.charts.curves import psi_distributions as psi_distributions
from emu_core.charts.curves import spectrum_lines as spectrum_lines
from emu_core.charts.heat_maps import accuracy_difference as accuracy_difference
from emu_core.charts.heat_maps import accuracy_matrix as accuracy_matrix
from emu_core.charts.heat_maps import class_balance as class_balance
from emu_core.charts.heat_maps import confusion_matrix as confusion_matrix
from emu_core.charts.heat_maps import similarity_matrix as similarity_matrix
from emu_core.charts.intervals import forgetting_intervals as forgetting_intervals
from emu_core.charts.intervals import guard_intervals as guard_intervals
from emu_core.charts.intervals import system_gains as system_gains
from emu_core.charts.morph import morph as morph
from emu_core.charts.scatter import sentence_maps as sentence_maps
from emu_core.charts.scatter import word_map as word_map

"""Eigen-similarity as pictures: two languages' spectra, and how the samples differ."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from emu_core.charts.style import PALETTE, legend_above, on_page, plain, short

SYMBOLS = ("circle", "diamond-open")
BINS = 40


def spectrum_lines(
    panels: Mapping[str, Mapping[str, NDArray[np.floating]]],
) -> go.Figure:
    """Return the sorted Laplacian eigenvalues of one sample in two languages, a panel an encoder.

    The first is 0 whatever the sentences, and left out.

    Args:
        panels: by the encoder's name, and in it by the language's name, the (K,) eigenvalues, rising.
    """
    figure = make_subplots(
        rows=1, cols=len(panels), subplot_titles=[plain(short(name, 40)) for name in panels], shared_yaxes=True,
        horizontal_spacing=0.04,
    )  # fmt: skip
    for column, spectra in enumerate(panels.values(), start=1):
        for place, (language, values) in enumerate(spectra.items()):
            figure.add_trace(
                go.Scatter(
                    x=list(range(2, len(values) + 1)),
                    y=values[1:].tolist(),
                    mode="lines+markers",
                    name=plain(language),
                    legendgroup=language,
                    showlegend=column == 1,
                    line={"color": PALETTE[place], "width": 2, "dash": ("solid", "dot")[place % 2]},
                    marker={"symbol": SYMBOLS[place % 2], "size": 9},
                    hovertemplate=f"{plain(language)}, eigenvalue %{{x}}: %{{y:.3f}}<extra></extra>",
                ),
                row=1,
                col=column,
            )
        figure.update_xaxes(title="eigenvalue, in order", dtick=1, row=1, col=column)
    figure.update_yaxes(title="size", row=1, col=1)
    legend_above(figure, 1.14)
    on_page(figure, height=380)
    figure.update_layout(margin={"t": 72})
    return figure


def psi_distributions(samples: Mapping[str, NDArray[np.floating]]) -> go.Figure:
    """Return how Psi is distributed over samples, with its mean and the mean's 95 % interval, for each encoder.

    Args:
        samples: by the encoder's name its (N,) values; all with the same bins, for they are compared.
    """
    figure = go.Figure()
    high = max(float(np.quantile(values, 0.995)) for values in samples.values()) or 1.0
    edges = np.linspace(0.0, high, BINS + 1)
    for place, (name, values) in enumerate(samples.items()):
        colour, label = PALETTE[place], plain(short(name, 40))
        counts = np.histogram(np.minimum(values, high), edges)[0]
        mean = float(values.mean())
        reach = 1.96 * float(values.std(ddof=1)) / np.sqrt(len(values))
        figure.add_trace(
            go.Bar(
                x=[(low + top) / 2 for low, top in pairwise(edges.tolist())],
                y=(100 * counts / len(values)).tolist(),
                width=float(edges[1] - edges[0]),
                name=f"{label}: {mean:.3f} ± {reach:.3f}",
                marker={"color": colour, "opacity": 0.55, "line": {"width": 0}},
                hovertemplate=f"{label}<br>Psi about %{{x:.3f}}: %{{y:.1f}} % of samples<extra></extra>",
            )
        )
        figure.add_vrect(x0=mean - reach, x1=mean + reach, fillcolor=colour, opacity=0.35, line_width=0)
        figure.add_vline(x=mean, line={"color": colour, "width": 2})
    figure.update_xaxes(title="Psi of a sample; the smaller, the more alike", rangemode="tozero")
    figure.update_yaxes(title="% of samples")
    legend_above(figure, 1.04)
    figure.update_layout(barmode="overlay")
    return on_page(figure, height=380)

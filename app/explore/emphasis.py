"""The picked points told to the maps as they stand: maps drawn anew would lose their zoom and what the legend hides."""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

Drag = Literal["pan", "lasso", "select"]
# Streamlit draws a chart anew whenever its figure differs, so the figure stays the same and this changes it in place:
# plotly's own list of selected points, in every map at once, and what dragging does. The chart takes over what it
# finds in data and layout when it hears that a trace was restyled.
_SCRIPT = """
export default function ({ data, parentElement }) {
  const rows = new Set(data.rows)
  const told = JSON.stringify(data)
  const tell = () => {
    const graph = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`)
    if (!graph?._fullData?.length || !graph._fullLayout?.xaxis || graph.emuTold === told) return
    const before = graph.emuTold
    graph.emuTold = told
    // Told each time: a layout of before a redraw may be without it, and then a click picks nothing.
    const clickmode = data.drag === 'pan' ? 'event+select' : 'event'
    const { dragmode, clickmode: clicks } = graph._fullLayout
    // A fresh figure that has all this already is not drawn a second time: a click just then would be lost.
    if (!before && !rows.size && dragmode === data.drag && clicks === clickmode) return
    graph.data = graph.data.map((trace, index) => {
      const drawn = graph._fullData.find(full => full.index === index)?.customdata
      if (!drawn) return trace
      const picked = Array.from(drawn, Number).flatMap((row, place) => (rows.has(row) ? [place] : []))
      return { ...trace, selectedpoints: rows.size ? picked : null }
    })
    graph.layout = { ...graph.layout, dragmode: data.drag, clickmode, selections: [] }
    graph.emit('plotly_restyle', [])
    // So that the same points can be picked again: the chart reports no selection twice.
    if (before && !rows.size) graph.emit('plotly_deselect')
  }
  clearInterval(parentElement.emuTimer)
  parentElement.emuTimer = setInterval(tell, 100) // a new figure comes some time after this
  return () => clearInterval(parentElement.emuTimer)
}
"""


def draw_emphasis(chart: str, rows: Sequence[int], drag: Drag) -> None:
    """Have the picked points stand out on a chart of `sentence_maps`, and set what dragging does there.

    Args:
        chart: the chart's key.
        rows: the picked points, by their `customdata`; none: all stand alike.
        drag: what dragging does.
    """
    component = st.components.v2.component("emu_emphasis", js=_SCRIPT)
    component(key=f"{chart}-emphasis", data={"chart": chart, "rows": list(rows), "drag": drag}, height=1)

// The wheel scrolls the page, over a chart, too. A chart that was clicked, or reached with the keyboard, has the wheel
// for itself, to zoom, until the focus leaves it.
(() => {
  if (window.emuWheel) return
  window.emuWheel = true
  const chartOf = ({ target }) => (target instanceof Element ? target.closest('.js-plotly-plot') : null)
  document.addEventListener('wheel', event => {
    const chart = chartOf(event)
    if (chart && !chart.contains(document.activeElement)) event.stopImmediatePropagation()
  }, { capture: true, passive: true })
  document.addEventListener('pointerdown', event => {
    const chart = chartOf(event)
    if (!chart) return
    if (!chart.hasAttribute('tabindex')) chart.tabIndex = -1
    chart.focus({ preventScroll: true })
  }, true)
})()

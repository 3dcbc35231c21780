// Streamlit remounts a chart whenever its figure changes, and two new WebGL contexts take a browser up to a second.
// So the chart's own figure stays the same, and this script changes the drawn one in place: another figure of the same
// places, the selected points in all maps at once, what dragging does and, on a narrow page, the maps one above the
// other. The chart adopts changes of data and layout when a trace is restyled.
const NARROW = 640 // pixels
const FEW_NAMES = 6 // on a narrow map
const [LETTER, LINE] = [7.5, 16] // pixels of a name
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

const MARK = 'emu mark'
// What of a trace can be picked. The marks of sentences can be clicked, too, but stand on points that are drawn already.
const rowsOf = trace => (trace && trace.name !== MARK ? trace.customdata : undefined)

// What a trace says of a point: of each, or of all alike.
const of = (said, place) => (typeof said === 'object' && said ? said[place] : said)

// Every visible point that can be picked, with its pixels in the graph.
const pointsOf = graph => graph._fullData.flatMap(trace => {
  if (!rowsOf(trace) || trace.visible !== true) return []
  const [across, up] = ['x', 'y'].map(axis => graph._fullLayout[`${axis}axis${trace[`${axis}axis`].slice(1)}`])
  return Array.from(trace.customdata, (row, place) => ({
    row: Number(row), text: trace.text?.[place] ?? trace.name, group: of(trace.meta, place),
    x: across._offset + across.l2p(trace.x[place]), y: up._offset + up.l2p(trace.y[place]),
    seen: Math.abs(across.l2p(trace.x[place]) / across._length - 0.5) <= 0.5 &&
      Math.abs(up.l2p(trace.y[place]) / up._length - 0.5) <= 0.5,
  }))
}).filter(point => point.seen)

const nearest = (points, far) => points.reduce((best, point) => (far(point) < far(best) ? point : best), points[0])

// The nearest point within 45 degrees of a direction; the first one is near the middle.
const step = (points, at, [right, down]) => {
  if (!at) {
    const middle = ['x', 'y'].map(axis => points.reduce((sum, point) => sum + point[axis], 0) / points.length)
    return nearest(points, point => Math.hypot(point.x - middle[0], point.y - middle[1]))
  }
  const ahead = points.filter(({ x, y }) => {
    const [on, aside] = [(x - at.x) * right + (y - at.y) * down, (x - at.x) * down + (y - at.y) * right]
    return on > 1 && Math.abs(aside) <= on
  })
  return ahead.length ? nearest(ahead, point => Math.hypot(point.x - at.x, point.y - at.y)) : at
}

// On the keyboard, arrows move from point to point and Enter picks one.
const walkable = (graph, pick) => {
  graph.emuPick = pick
  if (graph.emuWalks) return
  graph.emuWalks = true
  graph.tabIndex = 0
  graph.setAttribute('role', 'application')
  graph.setAttribute('aria-label', 'Map of sentences: arrow keys go from point to point, Enter picks one')
  const [ring, said] = [document.createElement('div'), document.createElement('div')]
  ring.style.cssText = 'position:absolute;width:18px;height:18px;border:3px solid #D55E00;border-radius:50%;' +
    'pointer-events:none;transform:translate(-50%,-50%);z-index:2'
  said.style.cssText = 'position:absolute;left:8px;top:4px;max-width:90%;padding:2px 8px;border-radius:4px;' +
    'background:#31333F;color:#FAFAFA;font-size:14px;pointer-events:none;z-index:2'
  said.setAttribute('aria-live', 'polite')
  let at = null
  const show = point => {
    at = point
    light(graph, at ? { names: new Set([graph.layout.meta.groups[at.group]?.[0]]), row: at.row } : null)
    ring.remove()
    const html = new DOMParser().parseFromString((at?.text ?? '').replaceAll('<br>', ' - '), 'text/html')
    said.textContent = html.body.textContent
    said.style.display = at ? '' : 'none'
    if (!at) return
    graph.style.position = 'relative'
    graph.append(ring, said)
    Object.assign(ring.style, { left: `${at.x}px`, top: `${at.y}px` })
  }
  graph.addEventListener('keydown', event => {
    const way = WAYS[event.key]
    if (way) {
      const points = pointsOf(graph)
      if (points.length) show(step(points, at, way))
    } else if (event.key === 'Enter' && at) graph.emuPick(at.row)
    else if (event.key === 'Escape') show(null)
    else return
    event.preventDefault()
  })
  graph.addEventListener('blur', () => show(null))
}

// The corners of Plotly's shapes in a circle of radius 1, by their numbers; all others are circles.
const turned = (count, from, far = () => 1) => Array.from({ length: count }, (_, corner) => {
  const angle = (from + (360 / count) * corner) * Math.PI / 180
  return [Math.cos(angle) * far(corner), Math.sin(angle) * far(corner)]
})
const plus = from => turned(12, from, corner => (corner % 3 === 2 ? 0.45 : 1))
const CORNERS = {
  1: turned(4, 45), 2: turned(4, 0), 3: plus(-15), 4: plus(30), 5: turned(3, -90), 6: turned(3, 90), 7: turned(3, 180),
  8: turned(3, 0), 13: turned(5, -90), 14: turned(6, 0), 17: turned(10, -90, corner => (corner % 2 ? 0.45 : 1)),
}

// What is lit on the maps, in the browser alone, while all else is grey: the groups that were pressed in the legend and,
// before these, what the mouse or the keyboard points at, or was just selected.
const litOn = graph => (graph.emuLit ??= { held: new Set(), over: null })
const numbersOf = (graph, names) => {
  const groups = graph.layout.meta?.groups ?? []
  return new Set(groups.flatMap(([name], number) => (names.has(name) ? [number] : [])))
}

// Draw what is lit on a canvas above the points, so that no chart is drawn anew.
const shade = graph => {
  const layers = graph.querySelector('.gl-container')
  if (!layers) return
  const { held, over } = litOn(graph)
  const rows = over?.rows
  const groups = over?.names ? numbersOf(graph, over.names) : rows ? new Set() : numbersOf(graph, held)
  const any = groups.size || rows?.size
  layers.style.filter = any ? 'grayscale(1) opacity(0.35)' : ''
  let canvas = graph.querySelector('.emu-lit')
  if (!any) return canvas?.remove()
  if (!canvas) {
    canvas = document.createElement('canvas')
    canvas.className = 'emu-lit'
    canvas.style.cssText = 'position:absolute;left:0;top:0;pointer-events:none'
  }
  if (layers.nextSibling !== canvas) layers.after(canvas)
  const { width, height } = graph._fullLayout
  const ratio = devicePixelRatio || 1
  Object.assign(canvas, { width: width * ratio, height: height * ratio })
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` })
  const pen = canvas.getContext('2d')
  pen.scale(ratio, ratio)
  for (const trace of graph._fullData) {
    const [drawn, numbers] = [rowsOf(trace), trace.meta]
    if (!drawn || trace.visible !== true || trace.name === FOCUS) continue
    const [across, up] = ['x', 'y'].map(axis => graph._fullLayout[`${axis}axis${trace[`${axis}axis`].slice(1)}`])
    const placed = ({ range: [low, high], _length: length }, value) => (value - low) / (high - low) * length
    pen.save()
    pen.beginPath()
    pen.rect(across._offset, up._offset, across._length, up._length)
    pen.clip()
    pen.fillStyle = trace.marker.color
    for (let place = 0; place < drawn.length; place += 1) {
      const [row, group] = [Number(drawn[place]), of(numbers, place)]
      if (!groups.has(group) && !rows?.has(row)) continue
      const [x, y] = [across._offset + placed(across, trace.x[place]),
        up._offset + up._length - placed(up, trace.y[place])]
      const [corners, radius] = [CORNERS[of(trace.marker.symbol, place)], of(trace.marker.size, place) / 2 + 0.5]
      pen.beginPath()
      if (corners) corners.forEach(([right, down]) => pen.lineTo(x + 1.2 * radius * right, y + 1.2 * radius * down))
      else pen.arc(x, y, radius, 0, 2 * Math.PI)
      pen.fill()
      if (row !== over?.row) continue
      pen.beginPath() // the same sentence on each map
      pen.arc(x, y, radius + 5, 0, 2 * Math.PI)
      Object.assign(pen, { lineWidth: 2.5, strokeStyle: graph.emuInk })
      pen.stroke()
    }
    pen.restore()
  }
}
const light = (graph, over) => {
  litOn(graph).over = over
  shade(graph)
}

// Light the group of a point that the mouse is on, and at once, before the server knows, what was selected.
const shades = graph => {
  if (graph.emuShades) return
  graph.emuShades = true
  const pointAt = ({ points: [point] = [] }) => (rowsOf(point?.fullData) ? point : null)
  graph.on('plotly_hover', event => {
    const point = pointAt(event)
    if (!point) return
    const group = graph.layout.meta.groups[of(point.fullData.meta, point.pointNumber)]
    light(graph, { names: new Set([group?.[0]]), row: Number(point.fullData.customdata[point.pointNumber]) })
  })
  graph.on('plotly_unhover', () => light(graph, null))
  graph.on('plotly_selected', event => {
    const rows = (event?.points ?? []).filter(({ fullData }) => rowsOf(fullData)).map(({ customdata }) => Number(customdata))
    light(graph, rows.length ? { rows: new Set(rows) } : null)
  })
  for (const drawn of ['plotly_afterplot', 'plotly_relayouting']) graph.on(drawn, () => shade(graph))
}

// The legend: a button for each group, the largest first, with the number of its sentences.
const LEGEND = `
  [role=group] { display: flex; flex-wrap: wrap; gap: 2px 4px; max-height: 7.8rem; overflow-y: auto; } /* a last row is cut */
  button {
    display: flex; align-items: center; gap: 5px; padding: 2px 7px; border: 1px solid transparent; border-radius: 6px;
    background: none; color: inherit; font: inherit; font-size: 0.8rem; cursor: pointer;
  }
  button:hover, button[aria-pressed=true] { border-color: currentColor; }
  button[hidden] { display: none; }
  button:focus-visible { outline: 2px solid currentColor; }
  svg { width: 12px; height: 12px; flex: none; }
`
const swatch = (colour, mark) => {
  const [svg, shape] = ['svg', 'polygon'].map(name => document.createElementNS('http://www.w3.org/2000/svg', name))
  svg.setAttribute('viewBox', '-1 -1 2 2')
  svg.setAttribute('aria-hidden', 'true')
  shape.setAttribute('points', (CORNERS[mark] ?? turned(24, 0, () => 0.85)).join(' '))
  shape.setAttribute('fill', colour)
  svg.append(shape)
  return svg
}
const button = (label, act, graph, names) => {
  const made = document.createElement('button')
  made.type = 'button'
  made.append(...label)
  made.addEventListener('click', act)
  if (names) {
    for (const on of ['mouseenter', 'focus']) made.addEventListener(on, () => light(graph, { names }))
    for (const off of ['mouseleave', 'blur']) made.addEventListener(off, () => light(graph, null))
  }
  return made
}
const drawLegend = (graph, root) => {
  const [{ held }, groups] = [litOn(graph), graph.layout.meta?.groups ?? []]
  const names = new Set(groups.map(([name]) => name))
  for (const name of held) if (!names.has(name)) held.delete(name)
  const drawn = JSON.stringify(groups)
  if (root.emuDrawn === drawn && root.emuGraph === graph) return
  Object.assign(root, { emuDrawn: drawn, emuGraph: graph })
  const style = document.createElement('style')
  style.textContent = LEGEND
  const list = document.createElement('div')
  list.setAttribute('role', 'group')
  list.setAttribute('aria-label', 'Legend: press groups to see them alone')
  const show = () => {
    for (const made of list.children) made.ariaPressed = String(held.has(made.emuName))
    all.hidden = !held.size
    shade(graph)
  }
  const all = button(['Show all'], () => { held.clear(); show() }, graph, null)
  for (const [name, colour, mark, count] of groups) {
    const said = new DOMParser().parseFromString(name, 'text/html').body.textContent
    const made = button([swatch(colour, mark), `${said} ${count.toLocaleString('en')}`], () => {
      if (!held.delete(name)) held.add(name)
      show()
    }, graph, new Set([name]))
    made.emuName = name
    list.append(made)
  }
  list.append(all)
  root.replaceChildren(style, list)
  show()
}

// On a phone, two maps are one above the other, without legends, since the maps have names. A hidden chart has no width.
const isNarrow = graph => graph.clientWidth > 0 && graph.clientWidth < NARROW
const STACKED = { xaxis: [0, 1], xaxis2: [0, 1], yaxis: [0.53, 1], yaxis2: [0, 0.47] }

const span = ({ range } = {}) => (range ? Math.abs(range[1] - range[0]) : 1)

// The first few names that are on none before them, given the pixels of a unit across and up.
const roomy = (notes, { across, up }) => notes.reduce((kept, note) => {
  const wide = ({ text }) => LETTER * text.replace(/<[^>]*>/g, '').length
  const middle = of => of.ax * across + wide(of) * { left: 0.5, center: 0, right: -0.5 }[of.xanchor]
  const isOn = of => Math.abs(of.ay - note.ay) * up < LINE &&
    Math.abs(middle(of) - middle(note)) < (wide(of) + wide(note)) / 2
  return kept.length < FEW_NAMES && !kept.some(isOn) ? [...kept, note] : kept
}, [])

// The layout of a figure in the graph's space; frame, zoom and theme stay.
const arranged = (graph, { id, layout: { annotations: notes = [], legend, legend2, meta: { groups } } }) => {
  const [layout, narrow] = [graph.layout, isNarrow(graph)]
  const axes = !layout.xaxis2 ? {} : Object.fromEntries(Object.keys(STACKED).map(axis => (
    [axis, { ...layout[axis], domain: narrow ? STACKED[axis] : graph.emuOwn.layout[axis].domain }]
  )))
  const meta = { groups, figure: id, narrow }
  if (!narrow) return { ...layout, ...axes, annotations: notes, legend, legend2, meta }
  // The titles, then the names on each map, the largest intents first: those that are on no other here.
  const names = place => roomy(notes.filter(note => note.xref === `x${place}`), {
    across: graph.clientWidth / span(layout[`xaxis${place}`]),
    up: layout.height * (layout.xaxis2 ? 0.47 : 1) / span(layout[`yaxis${place}`]),
  })
  const titles = notes.filter(note => note.xref === 'paper')
  const above = (title, place) => (layout.xaxis2 ? { ...title, x: 0.5, y: place ? 0.47 : 1 } : title)
  return {
    ...layout, ...axes, annotations: [...titles.map(above), ...names(''), ...names(2)],
    legend: { ...legend, visible: false }, legend2: { ...legend2, visible: false }, meta,
  }
}

// Draw another figure of the same places.
const paint = (graph, figure) => {
  graph.data = figure.data.map(trace => ({ ...trace, selectedpoints: null }))
  graph.layout = { ...arranged(graph, figure), selections: [] }
  graph.emit('plotly_restyle', [])
}

// The sentences that are pointed at, each with lines to its neighbours: a trace for each kind, which `unmarked` removes.
const RIGHT = { colour: '#009E73', symbol: 'circle-open' }
const WRONG = { colour: '#D55E00', symbol: 'square-open' }
const FOCUS = 'emu focus'
const unmarked = traces => traces.filter(trace => trace.name !== MARK && trace.name !== FOCUS)
const markTraces = (marks, ink) => marks.flatMap((mark, panel) => {
  if (!mark) return []
  const axis = panel ? panel + 1 : ''
  const trace = (x, y, look) => ({
    type: 'scattergl', name: MARK, xaxis: `x${axis}`, yaxis: `y${axis}`, x, y, hoverinfo: 'skip', showlegend: false,
    unselected: { marker: { opacity: 1 } }, ...look,
  })
  const traces = [[true, RIGHT], [false, WRONG]].flatMap(([kind, { colour, symbol }]) => {
    const near = mark.near.filter(([, , isRight]) => isRight === kind)
    if (!near.length) return []
    return [
      trace(near.flatMap(([x]) => [mark.x, x, null]), near.flatMap(([, y]) => [mark.y, y, null]),
        { mode: 'lines', line: { width: 1.5, color: colour } }),
      trace(near.map(([x]) => x), near.map(([, y]) => y),
        { mode: 'markers', marker: { symbol, size: 15, color: colour, line: { width: 3, color: colour } } }),
    ]
  })
  if (!mark.spoken.length) {
    const look = mark.typed
      ? { symbol: 'star', size: 20, color: '#D55E00', line: { width: 2, color: ink } }
      : { symbol: 'circle-open', size: 24, color: ink, line: { width: 3, color: ink } }
    return [...traces, trace([mark.x], [mark.y], { mode: 'markers', marker: look })]
  }
  // The same sentence in several languages: right ones are diamonds, wrong ones crosses.
  return [[true, RIGHT, 'solid', 'diamond'], [false, WRONG, 'dot', 'x']].flatMap(
    ([kind, { colour }, dash, symbol]) => {
      const spoken = mark.spoken.filter(({ right }) => right === kind)
      const ends = spoken.filter(({ near }) => near)
      return spoken.length ? [
        trace(ends.flatMap(({ x, near }) => [x, near[0], null]), ends.flatMap(({ y, near }) => [y, near[1], null]),
          { mode: 'lines', line: { width: 2, color: colour, dash } }),
        trace(spoken.map(({ x }) => x), spoken.map(({ y }) => y), {
          mode: 'markers', customdata: spoken.map(({ row }) => row),
          hoverinfo: 'text', hovertext: spoken.map(({ hover }) => hover),
          marker: { symbol, size: 14, color: colour, line: { width: 1.5, color: ink } },
        }),
      ] : []
    },
  )
})

// Their languages, which `unmarked` removes, too: notes stand above all points.
const markNotes = (marks, ink) => marks.flatMap((mark, panel) => (mark?.spoken ?? []).filter(({ label }) => label).map(
  ({ x, y, label, is_left: isLeft }) => ({
    name: MARK, xref: `x${panel ? panel + 1 : ''}`, yref: `y${panel ? panel + 1 : ''}`, x, y, showarrow: false,
    text: `<b>${label}</b>`, xanchor: isLeft ? 'right' : 'left', xshift: isLeft ? -12 : 12, borderpad: 0,
    font: { size: 14, color: ink }, bgcolor: getComputedStyle(document.querySelector('.stApp')).backgroundColor,
  }),
))

// The points of the rows in focus, over their grey ones.
const focusTraces = (drawn, focus) => drawn.flatMap(({ customdata, x, y, xaxis, yaxis, marker, name }) => {
  if (!customdata || name === MARK || name === FOCUS) return []
  const places = Array.from(customdata, Number).flatMap((row, place) => (focus.has(row) ? [place] : []))
  if (!places.length) return []
  const { size, symbol, color } = marker
  return [{
    type: 'scattergl', name: FOCUS, mode: 'markers', xaxis, yaxis, hoverinfo: 'skip', showlegend: false,
    x: places.map(place => x[place]), y: places.map(place => y[place]),
    marker: { size, color, opacity: 0.9, symbol: places.map(place => of(symbol, place)) },
    unselected: { marker: { opacity: 0.9 } },
  }]
})

const paintedOn = layout => layout.meta?.figure ?? ''
// The figures to draw instead of the charts' own, by key; on the window, which both mounts of the component share.
const figures = (window.emuFigures ??= {})

export default function ({ data, parentElement, setTriggerValue }) {
  if ('figure' in data) {
    if (figures[data.chart]?.id !== data.figure) {
      figures[data.chart] = data.figure ? { id: data.figure, ...JSON.parse(data.figure) } : null
    }
    return () => delete figures[data.chart]
  }
  const [rows, focus] = [new Set(data.rows), new Set(data.focus)]
  const tell = () => {
    // Streamlit keeps a replaced chart for a while, hidden.
    const graph = document.querySelector(`.st-key-${data.chart}:not([data-retained]) .js-plotly-plot`)
    if (!graph?._fullData?.length || !graph._fullLayout?.xaxis) return
    walkable(graph, row => setTriggerValue('picked', row))
    graph.emuInk = data.ink
    shades(graph)
    graph.emuOwn ??= { id: '', data: graph.data, layout: graph.layout }
    const painted = paintedOn(graph.layout)
    if (paintedOn(graph._fullLayout) !== painted) return // it is being drawn
    const wanted = figures[data.chart] ?? graph.emuOwn
    if (wanted.id !== painted) {
      if (rows.size || data.marks.length) graph.emuTold = null // emphasise its points, too
      return paint(graph, wanted)
    }
    drawLegend(graph, parentElement)
    const told = JSON.stringify([data, graph._fullLayout.xaxis.uirevision])
    const room = isNarrow(graph) === Boolean(graph.layout.meta?.narrow) ? null : arranged(graph, wanted)
    if (!room && graph.emuTold === told) return
    const before = graph.emuTold
    graph.emuTold = told
    litOn(graph).over = null
    // Set each time: an earlier layout may lack it, and then a click picks nothing.
    const clickmode = data.drag === 'pan' ? 'event+select' : 'event'
    const { dragmode, clickmode: clicks } = graph._fullLayout
    // A new figure that has all this already is not redrawn, since a click at that moment would be lost.
    if (!room && !before && !rows.size && !data.marks.length && dragmode === data.drag && clicks === clickmode) return
    const picked = graph.data.map((_, index) => {
      const drawn = rowsOf(graph._fullData.find(full => full.index === index))
      return drawn && Array.from(drawn, Number).flatMap((row, place) => (rows.has(row) ? [place] : []))
    })
    const any = picked.some(places => places?.length) // if a filter hides all picked points, none fades
    const traces = graph.data.map((trace, index) => (
      picked[index] ? { ...trace, selectedpoints: any ? picked[index] : null } : trace
    ))
    const focused = any ? focusTraces(graph._fullData, focus) : []
    graph.data = [...unmarked(traces), ...focused, ...markTraces(data.marks, data.ink)]
    const layout = room ?? graph.layout
    const annotations = [...unmarked(layout.annotations ?? []), ...markNotes(data.marks, data.ink)]
    graph.layout = { ...layout, annotations, dragmode: data.drag, clickmode, selections: [] }
    graph.emit('plotly_restyle', [])
    // So that the same points can be picked again: the chart never reports a selection twice.
    if (before && !rows.size) graph.emit('plotly_deselect')
  }
  clearInterval(parentElement.emuTimer)
  parentElement.emuTimer = setInterval(tell, 100) // a new figure arrives some time later
  tell()
  return () => clearInterval(parentElement.emuTimer)
}

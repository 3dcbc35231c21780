// Held-out sentences that move to their new places after each epoch, and each language's accuracy beside them. Streamlit
// remounts a chart of Plotly whenever its figure changes, so nothing would move: this script draws on one canvas, which
// stays, and goes from the frame that is drawn to those that arrive. Words come from files, and are set as text.
const STEP_MS = [250, 900] // of a frame, the more there are the less
const PLAY_MS = 7000 // of all frames together, within these
const SIZE = 3.4 // pixels, of a point's radius
const NEAR = 12 // pixels from the pointer

const ease = share => share * share * (3 - 2 * share)
const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches

const frameOf = ({ xy }) => {
  const box = [Infinity, -Infinity, Infinity, -Infinity]
  for (let at = 0; at < xy.length; at += 2) {
    box[0] = Math.min(box[0], xy[at])
    box[1] = Math.max(box[1], xy[at])
    box[2] = Math.min(box[2], xy[at + 1])
    box[3] = Math.max(box[3], xy[at + 1])
  }
  return box
}

const bar = (name, onTrack) => {
  const [row, label, track, fill, start, number] = ['li', 'span', 'span', 'i', 'b', 'span'].map(tag =>
    document.createElement(tag))
  row.append(label, track, number)
  track.append(fill, start)
  track.className = 'track'
  number.className = 'number'
  label.textContent = name
  onTrack.append(row)
  return { fill, start, number }
}

class LiveMap {
  constructor (root) {
    const find = name => root.querySelector(name)
    this.canvas = find('canvas')
    this.tip = find('.tip')
    this.bars = find('.bars')
    this.button = find('button')
    this.slider = find('input')
    this.shown = find('output')
    this.at = null // the frame that is drawn, between two of them while it moves
    this.goal = 0
    this.box = null
    this.button.onclick = () => (this.isPlaying ? this.pause() : this.play())
    this.slider.oninput = () => {
      const wanted = Number(this.slider.value) // before `pause` moves it back
      this.pause()
      this.at = this.goal = wanted
      this.draw()
    }
    this.canvas.onpointermove = event => this.point(event)
    this.canvas.onpointerleave = () => { this.tip.hidden = true }
    this.seen = new ResizeObserver(() => this.data && this.draw())
    this.seen.observe(this.canvas)
  }

  get last () { return this.data.frames.length - 1 }

  update (data) {
    // While they are laid out anew, after a run's end, what is drawn stays.
    if (!data.frames || !(data.live || data.whole || !this.data)) return
    const before = this.data
    const isOther = before?.run !== data.run
    if (before && !isOther && before.frames.length === data.frames.length && before.live === data.live &&
      before.colours.join() === data.colours.join()) return
    const followed = isOther || this.goal === before.frames.length - 1
    this.data = data
    if (isOther) {
      this.at = null
      this.box = null
      this.bars.replaceChildren()
      this.rows = data.languages.map(name => bar(name, this.bars))
      this.bars.hidden = this.bars.previousElementSibling.hidden = !data.languages.length
      this.bars.previousElementSibling.textContent = data.measure
    }
    this.slider.max = this.last
    this.slider.disabled = this.button.disabled = !this.last
    if (this.at === null) {
      this.at = this.goal = this.last
      this.draw()
    } else if (before.live && !data.live && !calm()) this.play() // the whole way, once it is known
    else if (followed) this.go(this.last)
    else this.draw()
  }

  play () {
    this.at = 0
    this.go(this.last)
  }

  pause () {
    cancelAnimationFrame(this.timer)
    this.isPlaying = false
    this.say()
  }

  go (goal) {
    cancelAnimationFrame(this.timer)
    this.goal = goal
    if (calm()) {
      this.at = goal
      return this.draw()
    }
    const ms = Math.min(STEP_MS[1], Math.max(STEP_MS[0], PLAY_MS / Math.max(1, this.last)))
    let then = null
    this.isPlaying = true
    const step = now => {
      this.at = Math.min(this.goal, this.at + (then === null ? 0 : (now - then) / ms))
      then = now
      this.draw()
      if (this.at >= this.goal) return this.pause()
      this.timer = requestAnimationFrame(step)
    }
    this.timer = requestAnimationFrame(step)
  }

  stop () {
    cancelAnimationFrame(this.timer)
    this.seen.disconnect()
  }

  // What is in view: all frames so far, to which it zooms out while they come.
  frame () {
    const boxes = this.data.frames.map(frameOf)
    const whole = [0, 1, 2, 3].map(side => Math[side % 2 ? 'max' : 'min'](...boxes.map(box => box[side])))
    this.box = this.box && this.isPlaying ? this.box.map((edge, side) => edge + (whole[side] - edge) * 0.12) : whole
    const [width, height, edge] = [this.canvas.clientWidth, this.canvas.clientHeight, 14]
    const [left, right, low, high] = this.box
    const scale = Math.min((width - 2 * edge) / Math.max(right - left, 1), (height - 2 * edge) / Math.max(high - low, 1))
    return (x, y) => [width / 2 + (x - (left + right) / 2) * scale, height / 2 - (y - (low + high) / 2) * scale]
  }

  draw () {
    const { canvas, data } = this
    const [width, height, ratio] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1]
    if (!width) return
    canvas.width = width * ratio
    canvas.height = height * ratio
    const from = Math.min(this.last, Math.floor(this.at))
    const to = Math.min(this.last, from + 1)
    const share = ease(this.at - from)
    const between = (start, end) => start + (end - start) * share
    const onPage = this.frame()
    const [start, end] = [data.frames[from], data.frames[to]]
    const drawn = canvas.getContext('2d')
    drawn.scale(ratio, ratio)
    drawn.globalAlpha = 0.85
    this.places = data.colour.map((colour, row) => {
      const place = onPage(between(start.xy[2 * row], end.xy[2 * row]), between(start.xy[2 * row + 1], end.xy[2 * row + 1]))
      drawn.fillStyle = data.colours[colour]
      drawn.beginPath()
      drawn.arc(...place, SIZE, 0, 7)
      drawn.fill()
      return place
    })
    const style = getComputedStyle(canvas)
    drawn.font = `600 12px ${style.fontFamily}`
    drawn.textAlign = 'center'
    drawn.textBaseline = 'middle'
    drawn.lineWidth = 4
    drawn.lineJoin = 'round'
    drawn.strokeStyle = style.getPropertyValue('--st-background-color') || '#fff'
    drawn.fillStyle = style.color
    for (const [names, alpha] of [[start.names, 1 - share], [end.names, share]]) {
      drawn.globalAlpha = alpha
      for (const [name, x, y] of names) {
        const half = drawn.measureText(name).width / 2 + 4
        const [across, down] = onPage(x, y)
        const inside = [Math.min(Math.max(across, half), width - half), Math.min(Math.max(down, 10), height - 10)]
        drawn.strokeText(name, ...inside)
        drawn.fillText(name, ...inside)
      }
    }
    this.rows.forEach((row, place) => {
      const percent = between(data.accuracy[from][place], data.accuracy[to][place])
      row.fill.style.width = `${percent}%`
      row.start.style.left = `${data.accuracy[0][place]}%`
      row.number.textContent = percent.toFixed(1)
    })
    this.say()
  }

  say () {
    const now = Math.round(this.at ?? 0)
    this.slider.value = now
    const text = this.data.titles[now]
    if (this.shown.textContent !== text) this.shown.textContent = text
    this.slider.setAttribute('aria-valuetext', text)
    this.canvas.setAttribute('aria-label', `Map of ${this.data.colour.length} sentences: ${text}`)
    this.button.textContent = this.isPlaying ? '❚❚ Pause' : '▶ Play'
  }

  point (event) {
    const box = this.canvas.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    let [best, least] = [-1, NEAR]
    this.places?.forEach(([across, down], row) => {
      const far = Math.hypot(across - x, down - y)
      if (far < least) [best, least] = [row, far]
    })
    this.tip.hidden = best < 0
    if (best < 0) return
    this.tip.textContent = this.data.texts[best]
    const isRight = x > box.width / 2
    Object.assign(this.tip.style, {
      top: `${y + 14}px`, left: isRight ? 'auto' : `${x}px`, right: isRight ? `${box.width - x}px` : 'auto',
    })
  }
}

export default function ({ data, parentElement }) {
  const canvas = parentElement.querySelector('canvas')
  if (parentElement.emuLive?.canvas !== canvas) {
    parentElement.emuLive?.stop()
    parentElement.emuLive = new LiveMap(parentElement)
  }
  parentElement.emuLive.update(data)
}

// Starts the map that turns from one encoder's into the other's once it is drawn, unless somebody wants no movement.
(() => {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
  const end = performance.now() + 10_000
  const start = () => {
    const play = document.querySelector('.st-key-explore-morphing .updatemenu-button')
    if (play) play.dispatchEvent(new MouseEvent('click', { bubbles: true }))
    else if (performance.now() < end) requestAnimationFrame(start)
  }
  start()
})()

// What is changed in Streamlit's own parts of the page: its dialog about a server that has stopped names a command of its
// own and not the app's, and it says of the box for files that it is nothing, and what it is called.
(() => {
  if (window.emuStopped) return
  const words = [
    [/^Is Streamlit still running\?.*/s, 'The app has stopped. Start it again in a terminal, and this page goes on:'],
    [/^Streamlit server is not responding\..*/s, 'The server of the app does not answer. Are you connected to it?'],
    [/^streamlit run yourscript\.py$/, 'emu app'],
  ]
  const reword = () => {
    document.querySelectorAll('section[role="presentation"][aria-label]').forEach(box => box.setAttribute('role', 'group'))
    const dialog = document.querySelector('[role="dialog"]')
    if (!dialog) return
    const texts = document.createTreeWalker(dialog, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const said = words.find(([old]) => old.test(texts.currentNode.nodeValue))
      if (said) texts.currentNode.nodeValue = said[1]
    }
  }
  reword()
  window.emuStopped = new MutationObserver(reword)
  window.emuStopped.observe(document.body, { childList: true, subtree: true })
})()

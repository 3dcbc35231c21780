// A default that a page writes into its address is no step of Back: what a person picks or plays is one.
if (!window.emuSteps) {
    window.emuSteps = new Set(['picked', 'explore-morph'])
    const push = history.pushState
    history.pushState = function (state, title, url) {
        const now = new URL(location.href), next = new URL(url ?? '', location.href)
        const added = [...next.searchParams.keys()].filter(name => !now.searchParams.has(name))
        const keepsAll = [...now.searchParams].every(([name, value]) => next.searchParams.get(name) === value)
        const isDefault = next.pathname === now.pathname && keepsAll && !added.some(name => emuSteps.has(name))
        return (isDefault ? history.replaceState : push).call(this, state, title, url)
    }
}

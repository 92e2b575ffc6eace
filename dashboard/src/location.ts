import { signal, type ReadonlySignal } from '@preact/signals'
import { parseHash, type Route } from './router.ts'

export interface Location {
  readonly route: ReadonlySignal<Route>
  navigate(href: string): void
  /** Changes the query of this page in place; undefined or '' removes a member. */
  setQuery(changes: Readonly<Record<string, string | undefined>>): void
  /** Calls `ask` before this page is left for another one. Returns a function that removes the guard. */
  guard(ask: (leave: () => void) => void): () => void
  /** Scroll position of this history entry when it was left; 0 for a new one. */
  scrollTop(): number
}

/** Tracks the route in the address bar and the scroll position of each history entry. */
export function createLocation(): Location {
  const route = signal(parseHash(location.hash))
  const scrolled = new Map<string, number>()
  let key = ''
  let asking: ((leave: () => void) => void) | undefined
  let shown = location.hash

  /** Returns true if a guard asks first and the page stays. Adds a history entry that restores the address. */
  const isBlocked = (wanted: string): boolean => {
    const [from, to] = [parseHash(shown), parseHash(wanted)]
    if (!asking || (from.page === to.page && from.name === to.name)) return false
    const ask = asking
    history.pushState({ key }, '', shown)
    ask(() => {
      asking = undefined
      location.hash = wanted
    })
    return true
  }
  const enter = () => {
    if (isBlocked(location.hash)) return
    shown = location.hash
    const known = (history.state as { key?: string } | null)?.key
    key = known ?? String(performance.now())
    if (known === undefined) history.replaceState({ key }, '')
    route.value = parseHash(location.hash)
  }
  history.scrollRestoration = 'manual'
  enter()
  addEventListener('popstate', enter)
  addEventListener('scroll', () => scrolled.set(key, scrollY), { passive: true })

  const setQuery = (changes: Readonly<Record<string, string | undefined>>) => {
    const [path = ''] = location.hash.split('?', 1)
    const query = Object.entries({ ...route.value.query, ...changes }).filter(([, value]) => value)
    const search = new URLSearchParams(query as [string, string][]).toString()
    history.replaceState({ key }, '', `${path || '#/servers'}${search ? `?${search}` : ''}`)
    shown = location.hash
    route.value = parseHash(shown)
  }
  return {
    route,
    navigate(href) {
      location.hash = href
    },
    setQuery,
    guard(ask) {
      asking = ask
      return () => {
        if (asking === ask) asking = undefined
      }
    },
    scrollTop: () => scrolled.get(key) ?? 0
  }
}

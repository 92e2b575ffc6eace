import { signal, type ReadonlySignal } from '@preact/signals'
import { parseHash, type Route } from './router.ts'

export interface Location {
  readonly route: ReadonlySignal<Route>
  navigate(href: string): void
  /** Changes the query of this page in place; undefined or '' removes a member. */
  setQuery(changes: Readonly<Record<string, string | undefined>>): void
  /** Asks before this page is left for another one, until the function that it returns is called. */
  guard(ask: (leave: () => void) => void): () => void
  /** Where this entry of the history was scrolled to when it was left; 0 for a new one. */
  scrollTop(): number
}

/** The route that the address bar shows, and how far each entry of its history was scrolled. */
export function createLocation(): Location {
  const route = signal(parseHash(location.hash))
  const scrolled = new Map<string, number>()
  let key = ''
  let asking: ((leave: () => void) => void) | undefined
  let shown = location.hash

  /** Whether the page stays: somebody is asked first. The history gets one more entry for it. */
  const isHeld = (wanted: string): boolean => {
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
    if (isHeld(location.hash)) return
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

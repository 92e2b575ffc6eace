import { signal, type ReadonlySignal } from '@preact/signals'
import { AppContext, type App } from './app-context.ts'
import { Root } from './app.tsx'
import { createLive } from './live.ts'
import { createLocation } from './location.ts'
import { createPreferences } from './preferences.ts'
import type { Viewer } from './session.ts'
import { createStore } from './store.ts'

/** Creates the services of the pages for a viewer. */
export function createApp(viewer: ReadonlySignal<Viewer>): App {
  const store = createStore()
  const live = createLive({
    onChange: (kinds) => void store.refresh(kinds),
    onOpen: () => void store.catchUp(),
    isReachable: store.reachable
  })
  const now = signal(Date.now())
  setInterval(() => (now.value = Date.now()), 5_000)
  return {
    store,
    live,
    location: createLocation(),
    preferences: createPreferences(),
    viewer,
    now,
    notice: signal('')
  }
}

/** Starts to follow changes, and returns all pages with what is shown around them. */
export function startPages(viewer: Viewer, around?: preact.ComponentChildren): preact.VNode {
  const app = createApp(signal(viewer))
  app.live.start()
  return (
    <AppContext.Provider value={app}>
      <Root />
      {around}
    </AppContext.Provider>
  )
}

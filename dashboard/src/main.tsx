import { signal } from '@preact/signals'
import { render } from 'preact'
import { AppContext, type App } from './app-context.ts'
import { Root } from './app.tsx'
import { createLive } from './live.ts'
import { createLocation } from './location.ts'
import { createPreferences } from './preferences.ts'
import { createStore } from './store.ts'

const store = createStore()
const live = createLive({
  onChange: (kinds) => void store.refresh(kinds),
  onOpen: () => void store.catchUp(),
  isReachable: store.reachable
})
const now = signal(Date.now())
setInterval(() => (now.value = Date.now()), 5_000)

const app: App = {
  store,
  live,
  location: createLocation(),
  preferences: createPreferences(),
  now,
  notice: signal('')
}
render(
  <AppContext.Provider value={app}>
    <Root />
  </AppContext.Provider>,
  document.body
)
live.start()

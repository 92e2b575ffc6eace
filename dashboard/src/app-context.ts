import type { ReadonlySignal, Signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks'
import type { Live } from './live.ts'
import type { Location } from './location.ts'
import type { Preferences } from './preferences.ts'
import type { Viewer } from './session.ts'
import { nothing, type Resource, type Source, type Store } from './store.ts'

/** Services shared by all pages and components; created once in main.tsx. */
export interface App {
  readonly store: Store
  readonly live: Live
  readonly location: Location
  readonly preferences: Preferences
  /** Who looks at the pages, and what they may do. */
  readonly viewer: ReadonlySignal<Viewer>
  /** Current time in milliseconds since the epoch, updated every few seconds; base of relative times. */
  readonly now: ReadonlySignal<number>
  /** Result of the user's last action, announced by screen readers. */
  readonly notice: Signal<string>
}

export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('there is no app around this component')
  return app
}

/** Returns what the viewer may do: controls for anything else are left out, since the gateway would refuse it. */
export const useRights = (): Viewer['may'] => useApp().viewer.value.may

/**
 * Returns the resource of a source and keeps it up to date while the component is mounted. Without a source, as for data
 * that the viewer may not read, nothing is requested.
 */
export function useSource<T>(source: Source<T> | undefined): Resource<T> {
  const { store } = useApp()
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- sources with the same path are equal
  const same = useMemo(() => source, [source?.path])
  useEffect(() => (same ? store.watch(same) : undefined), [store, same])
  return useMemo(() => (same ? store.open(same) : nothing), [store, same])
}

/** Like `useSource`, for a source that depends on a filter: the previous answer stays until the new one has loaded. */
export function useSteadySource<T>(source: Source<T> | undefined): Resource<T> {
  const wanted = useSource(source)
  const shown = useRef(wanted)
  if (wanted.data.value !== undefined || wanted.error.value !== undefined) shown.current = wanted
  return shown.current.data.value === undefined ? wanted : shown.current
}

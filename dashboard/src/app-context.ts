import type { ReadonlySignal, Signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks'
import type { Live } from './live.ts'
import type { Location } from './location.ts'
import type { Preferences } from './preferences.ts'
import type { Resource, Source, Store } from './store.ts'

/** What every page and component can reach; made once in main.tsx. */
export interface App {
  readonly store: Store
  readonly live: Live
  readonly location: Location
  readonly preferences: Preferences
  /** Milliseconds of the epoch, newer every few seconds: what relative times are told from. */
  readonly now: ReadonlySignal<number>
  /** Read out by screen readers: results of what somebody did. */
  readonly notice: Signal<string>
}

export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('there is no app around this component')
  return app
}

/** The answer of a source, kept up to date while the component is shown. */
export function useSource<T>(source: Source<T>): Resource<T> {
  const { store } = useApp()
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- sources of one path are the same
  const same = useMemo(() => source, [source.path])
  useEffect(() => store.watch(same), [store, same])
  return useMemo(() => store.open(same), [store, same])
}

/** The same where the source follows a filter: the answer to the last one stays until the next one is there. */
export function useSteadySource<T>(source: Source<T>): Resource<T> {
  const wanted = useSource(source)
  const shown = useRef(wanted)
  if (wanted.data.value !== undefined || wanted.error.value !== undefined) shown.current = wanted
  return shown.current.data.value === undefined ? wanted : shown.current
}

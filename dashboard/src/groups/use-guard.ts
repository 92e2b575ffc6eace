import { useLayoutEffect, useRef } from 'preact/hooks'
import { useApp } from '../app-context.ts'

/** Asks before the page is left while it holds changes. Returns what ends that at once: what was saved is not asked about. */
export function useGuard(hasChanges: boolean, ask: (go: () => void) => void): () => void {
  const { location } = useApp()
  const release = useRef(() => {})
  const asking = useRef(ask)
  asking.current = ask
  // with the very frame that says so
  useLayoutEffect(() => {
    if (!hasChanges) return
    release.current = location.guard((go) => asking.current(go))
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', onUnload)
    return () => {
      release.current()
      removeEventListener('beforeunload', onUnload)
    }
  }, [location, hasChanges])
  return () => release.current()
}

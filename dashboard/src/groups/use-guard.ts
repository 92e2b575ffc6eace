import { useLayoutEffect, useRef } from 'preact/hooks'
import { useApp } from '../app-context.ts'

/**
 * Confirms before leaving a page with unsaved changes. Returns a function that releases the guard at once, for use
 * after saving.
 */
export function useGuard(hasChanges: boolean, ask: (go: () => void) => void): () => void {
  const { location } = useApp()
  const release = useRef(() => {})
  const asking = useRef(ask)
  asking.current = ask
  // in the same frame that shows the changes
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

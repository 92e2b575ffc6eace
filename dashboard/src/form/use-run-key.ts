import { useLayoutEffect, useRef } from 'preact/hooks'

/** Runs on Ctrl+Enter anywhere on the page. */
export function useRunKey(run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isRun = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
      if (!isRun || document.querySelector('dialog[open]')) return
      event.preventDefault()
      // leaving a tag field adds the typed text
      const focused = document.activeElement as HTMLElement | null
      focused?.blur()
      focused?.focus()
      latest.current()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

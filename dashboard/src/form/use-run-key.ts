import { useLayoutEffect, useRef } from 'preact/hooks'

/** Ctrl+Enter runs, wherever on the page the focus is. */
export function useRunKey(run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isRun = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
      if (!isRun || document.querySelector('dialog[open]')) return
      event.preventDefault()
      // tags take what is typed when they are left
      const focused = document.activeElement as HTMLElement | null
      focused?.blur()
      focused?.focus()
      latest.current()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

import { useLayoutEffect, useRef } from 'preact/hooks'

/** List with its own scroll position that keeps the open item in view. */
export function ListPane({ current, children }: { current: string; children: preact.ComponentChildren }) {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const pane = list.current!
    const row = pane.querySelector('[data-row][aria-current]')
    if (!row) return
    const [view, own] = [pane.getBoundingClientRect(), row.getBoundingClientRect()]
    // the section heading stays above its rows
    const above = view.top + 40 - own.top
    if (above > 0) pane.scrollTop -= above
    else if (own.bottom > view.bottom) pane.scrollTop += own.bottom - view.bottom
  }, [current])
  return (
    <div class="list" ref={list}>
      {children}
    </div>
  )
}

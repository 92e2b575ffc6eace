import { useId, useRef } from 'preact/hooks'

export interface Tab<Id extends string = string> {
  readonly id: Id
  readonly label: preact.ComponentChildren
}

interface TabsProps<Id extends string> {
  /** Label of the tab row for screen readers. */
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly current: Id
  readonly onSelect: (id: Id) => void
  /** Content of the current tab. */
  readonly children: preact.ComponentChildren
}

const moves: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at - 1 + count) % count,
  Home: () => 0,
  End: (_at, count) => count - 1
}

/** Tabs with roving tabindex: arrows, Home and End move and select. */
export function Tabs<Id extends string>({ label, tabs, current, onSelect, children }: TabsProps<Id>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent) => {
    const move = moves[event.key]
    if (!move) return
    event.preventDefault()
    const at = move(
      tabs.findIndex((tab) => tab.id === current),
      tabs.length
    )
    onSelect(tabs[at]!.id)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[at]?.focus()
  }
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab.id === current}
            aria-controls={tab.id === current ? `${id}-panel` : undefined}
            tabIndex={tab.id === current ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`}>
        {children}
      </div>
    </>
  )
}

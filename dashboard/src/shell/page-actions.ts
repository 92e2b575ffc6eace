import type { Action } from './key-reader.ts'

/** Returns the row of an element. Rows mark their link or button with `data-row`. */
const findRow = (element: Element | null) =>
  element?.closest('[data-row]')?.closest('tr, li') ?? element?.closest('tr, li')

function move(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((row) => row.offsetParent !== null)
  const current = findRow(document.activeElement)
  const focused = rows.findIndex((row) => row === document.activeElement || (current && findRow(row) === current))
  // without a focused row, continue from the open item
  const at = focused < 0 ? rows.findIndex((row) => row.hasAttribute('aria-current')) : focused
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)
  rows[next]?.focus()
}

const click = (element: HTMLElement | null | undefined): boolean => {
  element?.click()
  return Boolean(element)
}

const inRow = (selector: string) => {
  const isInPage = document.activeElement?.closest('main')
  return isInPage ? findRow(document.activeElement)?.querySelector<HTMLElement>(selector) : undefined
}

/** Runs a key's action on the current page; returns false if the page has no such element. */
export function actOnPage(act: Extract<Action, { act: string }>['act']): boolean {
  if (act === 'next' || act === 'previous') {
    move(act === 'next' ? 1 : -1)
    return true
  }
  if (act === 'filter') {
    const filter = document.querySelector<HTMLInputElement>('main input[type=search]')
    filter?.select()
    filter?.focus()
    return Boolean(filter)
  }
  if (act === 'new') return click(document.querySelector<HTMLElement>('main [data-new]'))
  if (act === 'toggle') return click(inRow('[role=switch]'))
  if (act === 'select') return click(inRow('input[type=checkbox]:not([role=switch])'))
  return false
}

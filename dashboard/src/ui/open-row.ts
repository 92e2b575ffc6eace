/** Elements of a row that react to clicks themselves. */
const INTERACTIVE = 'a, button, input, label, select, summary'

/** Handles a click anywhere in a table row like one on the row's link or button, which has `data-row`. */
export function openRow(event: MouseEvent & { readonly currentTarget: HTMLElement }): void {
  const { target, currentTarget, ctrlKey, metaKey, shiftKey } = event
  if (!(target instanceof Element) || target.closest(INTERACTIVE)) return
  // the end of a text selection is not a click
  if (getSelection()?.isCollapsed === false) return
  const click = new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey })
  currentTarget.querySelector('[data-row]')?.dispatchEvent(click)
}

import type { Signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { useApp } from '../app-context.ts'
import { createKeyReader } from './key-reader.ts'
import { mayOpen } from './page-access.ts'
import { actOnPage } from './page-actions.ts'
import { link } from '../router.ts'
import { CommandMenu } from './command-menu.tsx'
import { KeyHelp } from './key-help.tsx'

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(?:TEXTAREA|SELECT)$/.test(target.tagName) || isTextInput(target))

const isTextInput = (target: HTMLElement) =>
  target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type)

/** Space already activates buttons and checkboxes. */
const isPressable = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('button, input, summary')

/** Dialog of the shell that is open. */
export type OpenDialog = Signal<'menu' | 'help' | undefined>

/** Handles the keyboard shortcuts of all pages, and holds the two dialogs that they and the buttons of the shell open. */
export function Keyboard({ open }: { open: OpenDialog }) {
  const { preferences, location, viewer } = useApp()
  // layout effect: a key may be pressed before the first paint
  useLayoutEffect(() => {
    const read = createKeyReader(() => preferences.shortcuts.value)
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, timeStamp: at, target } = event
      const action = read({ key, ctrlKey, metaKey, altKey, at, typing: isTyping(target) })
      if (!action || event.defaultPrevented) return
      if (document.querySelector('dialog[open]')) return
      if ('go' in action) {
        event.preventDefault()
        if (mayOpen(viewer.value, action.go)) location.navigate(link(action.go))
      } else if (action.act === 'menu' || action.act === 'help') {
        event.preventDefault()
        open.value = action.act
      } else if (action.act === 'select' && isPressable(target)) {
        return
      } else if (actOnPage(action.act)) event.preventDefault()
      else if (action.act === 'new' && mayOpen(viewer.value, 'new-server')) location.navigate(link('new-server'))
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [preferences, location, viewer, open])
  const close = () => {
    open.value = undefined
  }
  if (open.value === 'menu') return <CommandMenu onClose={close} />
  return open.value === 'help' ? <KeyHelp onClose={close} /> : null
}

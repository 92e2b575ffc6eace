import { useSignal } from '@preact/signals'
import { useApp } from '../app-context.ts'

interface CopyButtonProps {
  /** Text to copy, or a function if it takes time to build; undefined, and the button off, while it is not known. */
  readonly text: string | (() => string) | undefined
  /** Button label: `Copy URL`. */
  readonly children: string
  readonly kind?: 'quiet' | 'primary' | 'quiet sm' | 'sm'
}

/** Copies with `execCommand`: without TLS the clipboard API exists only on localhost. */
function copyWithExecCommand(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'vh'
  const before = document.activeElement as HTMLElement | null
  // inside an open dialog nothing else can take the focus
  ;(document.querySelector('dialog[open]') ?? document.body).append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  before?.focus()
  return done
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyWithExecCommand(text)
  }
}

export function CopyButton({ text, children, kind }: CopyButtonProps) {
  const { notice } = useApp()
  const said = useSignal('')
  const onClick = async () => {
    if (text === undefined) return
    const done = await copy(typeof text === 'string' ? text : text())
    said.value = done ? 'Copied' : 'Could not copy'
    notice.value = said.value
    setTimeout(() => (said.value = ''), 2_000)
  }
  return (
    <button type="button" class={`btn ${kind ?? ''}`} disabled={text === undefined} onClick={() => void onClick()}>
      {said.value || children}
    </button>
  )
}

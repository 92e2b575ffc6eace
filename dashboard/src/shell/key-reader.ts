import type { Page } from '../router.ts'

/** Action of a key. `go` opens a page; the others act on the current page. */
export type Action =
  | { readonly go: Page }
  | { readonly act: 'menu' | 'filter' | 'new' | 'help' | 'next' | 'previous' | 'toggle' | 'select' }

export interface KeyPress {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
  /** True if the focus is in a text input. */
  readonly typing: boolean
  /** Time in milliseconds of any clock. */
  readonly at: number
}

/** Time that `g` waits for a page letter. */
const WAIT_MS = 1_500

const pageKeys: Readonly<Record<string, Page>> = {
  o: 'overview',
  s: 'servers',
  t: 'tools',
  p: 'prompts',
  r: 'resources',
  g: 'groups',
  c: 'calls',
  d: 'diagnostics'
}

const letters: Readonly<Record<string, Action>> = {
  '/': { act: 'filter' },
  n: { act: 'new' },
  j: { act: 'next' },
  k: { act: 'previous' },
  e: { act: 'toggle' },
  ' ': { act: 'select' },
  '?': { act: 'help' }
}

/**
 * Interprets key presses in sequence, since `g` starts a two-key command. `enabled`: returns true if single letters are
 * on.
 */
export function createKeyReader(enabled: () => boolean): (press: KeyPress) => Action | undefined {
  let pressedG = -Infinity
  return ({ key, ctrlKey, metaKey, altKey, typing, at }) => {
    if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k') return { act: 'menu' }
    if (ctrlKey || metaKey || altKey || typing || !enabled()) return undefined
    const isSecond = at - pressedG < WAIT_MS
    pressedG = -Infinity
    const page = isSecond ? pageKeys[key] : undefined
    if (page) return { go: page }
    if (key === 'g') {
      pressedG = at
      return undefined
    }
    return letters[key]
  }
}

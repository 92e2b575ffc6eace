import type { Page } from './router.ts'

/** What a key stands for. `go` names a page; the others act on the page that is shown. */
export type Action =
  | { readonly go: Page }
  | { readonly act: 'menu' | 'filter' | 'new' | 'help' | 'next' | 'previous' | 'toggle' | 'select' }

export interface KeyPress {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
  /** Whether the focus is where letters are typed. */
  readonly typing: boolean
  /** Milliseconds of any clock. */
  readonly at: number
}

/** `g` waits so long for the letter of a page. */
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

/** Reads key presses one after the other, since `g` begins a word of two. `enabled`: whether single letters count. */
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

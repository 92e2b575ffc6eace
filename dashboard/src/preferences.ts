import { signal, type Signal } from '@preact/signals'

export type Theme = 'light' | 'dark' | 'system'

/** User preferences of this browser; nothing else is stored in it. */
export interface Preferences {
  readonly theme: Signal<Theme>
  /** True if single-letter shortcuts are on (WCAG 2.1.4). */
  readonly shortcuts: Signal<boolean>
  /** False once the user has dismissed the checklist of the first steps. */
  readonly showFirstSteps: Signal<boolean>
}

const read = (key: string): string | null => {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

const write = (key: string, value: string | undefined) => {
  try {
    if (value === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, value)
  } catch {
    // lasts until the page is left
  }
}

export function createPreferences(): Preferences {
  const saved = read('towpath.theme')
  const theme = signal<Theme>(saved === 'light' || saved === 'dark' ? saved : 'system')
  const shortcuts = signal(read('towpath.shortcuts') !== 'off')
  const showFirstSteps = signal(read('towpath.first-steps') !== 'off')
  theme.subscribe((value) => {
    if (value === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = value
    write('towpath.theme', value === 'system' ? undefined : value)
  })
  shortcuts.subscribe((value) => write('towpath.shortcuts', value ? undefined : 'off'))
  showFirstSteps.subscribe((value) => write('towpath.first-steps', value ? undefined : 'off'))
  return { theme, shortcuts, showFirstSteps }
}

import { parseJson, printJson, type Json } from './json.ts'

const keyOf = (name: string) => `towpath.input.${name}`

/** What a form held when it was last shown in this tab. */
export function lastInput(name: string): Json | undefined {
  try {
    const text = sessionStorage.getItem(keyOf(name))
    return text === null ? undefined : parseJson(text)
  } catch {
    return undefined
  }
}

/** Kept for this tab only: input may be private (dashboard.md#schema-forms). */
export function keepInput(name: string, value: Json | undefined): void {
  try {
    if (value === undefined) sessionStorage.removeItem(keyOf(name))
    else sessionStorage.setItem(keyOf(name), printJson(value, 0))
  } catch {
    // no room, or not allowed: it holds until the page is left
  }
}

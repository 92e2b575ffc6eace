import { parseJson, printJson, type Json } from './json.ts'

const keyOf = (name: string) => `towpath.input.${name}`

/** Returns the last input of a form in this tab. */
export function loadInput(name: string): Json | undefined {
  try {
    const text = sessionStorage.getItem(keyOf(name))
    return text === null ? undefined : parseJson(text)
  } catch {
    return undefined
  }
}

/** Stores input for this tab only, since it may be private (dashboard.md#schema-forms). */
export function storeInput(name: string, value: Json | undefined): void {
  try {
    if (value === undefined) sessionStorage.removeItem(keyOf(name))
    else sessionStorage.setItem(keyOf(name), printJson(value, 0))
  } catch {
    // storage is full or blocked: input lasts until the page is left
  }
}

import assert from 'node:assert/strict'
import { JsonError } from '../src/json/json.ts'

/** Returns the error of our parser for a text; undefined if it accepts the text. Any other error fails the test. */
export function problemOf(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error))
    return error.problem
  }
}

/**
 * Returns true if `JSON.parse` accepts the text. The parsed value is not used: Node 24 and later may confuse an escaped
 * key with another.
 */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

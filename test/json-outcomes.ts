import assert from 'node:assert/strict'
import { JsonError } from '../src/gateway/json.ts'

/** What our reader has against a text; undefined: it took it. Any other error fails the test. */
export function problemOf(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error))
    return error.problem
  }
}

/** A node of 24 or later takes an escaped key for another that it has read before, so only refusal is asked for. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

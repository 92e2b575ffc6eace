import { JsonError } from '../json/json.ts'
import type { Payload } from '../json/payload.ts'

/** Tests if a tool result has `isError: true`. */
export function isErrorResult(result: Payload): boolean {
  try {
    return result.valueOf('isError') === 'true'
  } catch (error) {
    if (error instanceof JsonError) return false
    throw error
  }
}

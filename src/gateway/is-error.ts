import { JsonError } from './json.ts'
import type { Payload } from './payload.ts'

/** Whether a tool's result says that it is an error. */
export function isErrorResult(result: Payload): boolean {
  try {
    return result.valueOf('isError') === 'true'
  } catch (error) {
    if (error instanceof JsonError) return false
    throw error
  }
}

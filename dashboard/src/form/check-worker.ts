import { check } from './check.ts'
import type { CheckTask, ValidationResult } from './validator.ts'

function runCheck({ schema, value }: CheckTask): ValidationResult {
  try {
    return { problems: check(schema, value) }
  } catch (error) {
    return { unsound: (error as Error).message }
  }
}

addEventListener('message', ({ data }: MessageEvent<CheckTask>) => postMessage(runCheck(data)))
postMessage('ready')

import script from './check-worker.ts?worker&url'
import { plainJson, type Json } from './json.ts'
import type { Problem } from './problems.ts'

export interface CheckTask {
  readonly schema: object
  readonly value: Json
}

/** Validation errors of a value; `unsound`: the reason why the schema cannot be used. */
export type ValidationResult = { readonly problems: readonly Problem[] } | { readonly unsound: string }

/** Time limit of a validation: normal schemas take milliseconds, a malicious pattern can take years. */
const MAX_MS = 1_500

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string }
  ): { createScriptURL(url: string): string }
}

/** Starts the worker. Trusted Types requires a policy for script URLs; this one allows only our own. */
function startWorker(): Worker {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const policy = trustedTypes?.createPolicy('check', { createScriptURL: () => script })
  return new Worker(policy?.createScriptURL(script) ?? script, { type: 'module' })
}

/** Validates a value against an untrusted schema in a worker, which is terminated if it takes too long. */
export function validateInWorker(schema: object, value: Json): Promise<ValidationResult> {
  return new Promise((resolve) => {
    const worker = startWorker()
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = (result: ValidationResult) => {
      clearTimeout(timer)
      worker.terminate()
      resolve(result)
    }
    worker.addEventListener('error', () => end({ unsound: 'the check could not be loaded' }))
    worker.addEventListener('message', ({ data }: MessageEvent<ValidationResult | 'ready'>) => {
      if (data !== 'ready') return end(data)
      const task: CheckTask = { schema: plainJson(schema as Json) as object, value: plainJson(value) as Json }
      worker.postMessage(task)
      timer = setTimeout(() => end({ unsound: 'it takes too long' }), MAX_MS)
    })
  })
}

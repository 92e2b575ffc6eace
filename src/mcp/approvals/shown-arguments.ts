import { maskSecrets } from '../../domain/secrets/redaction.ts'

/** Returns the arguments of a call as people may read them. `args`: JSON text of the arguments object. */
export function shownArguments(args: string, redact: (text: string) => string): unknown {
  const masked = redact(JSON.stringify(maskSecrets(JSON.parse(args))))
  try {
    return JSON.parse(masked)
  } catch {
    // a secret was part of the JSON itself
    return masked
  }
}

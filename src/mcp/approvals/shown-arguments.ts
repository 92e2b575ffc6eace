import { hasDuplicateMembers } from '../../json/duplicates.ts'
import { maskArgumentsNamed } from '../../domain/secrets/locked-secrets.ts'
import { maskSecrets } from '../../domain/secrets/redaction.ts'

/**
 * Returns the arguments of a call as people may read them. `args`: JSON text of the arguments object; `secretNames`:
 * those whose values are secret.
 */
export function shownArguments(
  args: string,
  redact: (text: string) => string,
  secretNames: readonly string[] = []
): unknown {
  const masked = redact(JSON.stringify(maskSecrets(maskArgumentsNamed(JSON.parse(args), secretNames))))
  try {
    // members that are called alike after the redaction would hide each other
    return hasDuplicateMembers(masked, (key) => key) ? masked : JSON.parse(masked)
  } catch {
    // a secret was part of the JSON itself
    return masked
  }
}

import { isObject } from '../is-object.ts'
import { createRedactor } from './redaction.ts'
import { MASK } from './secret-parts.ts'

/** Arguments of a tool that a group locks to secrets */
export interface LockedSecrets {
  readonly names: readonly string[]
  /** Removes their values from a text; those under 6 characters stay, which occur in other texts by chance. */
  readonly redact: (text: string) => string
}

/** Creates the secrets of a tool; undefined if there are none. */
export function createLockedSecrets(values: ReadonlyMap<string, string>): LockedSecrets | undefined {
  if (values.size === 0) return undefined
  let redact: LockedSecrets['redact'] | undefined
  return {
    names: [...values.keys()],
    redact: (text) => (redact ??= createRedactor([...values.values()]))(text)
  }
}

/** Returns the arguments of a call with `***` for each of these names. */
export function maskArgumentsNamed(args: unknown, names: readonly string[]): unknown {
  if (names.length === 0 || !isObject(args)) return args
  const hidden = new Set(names)
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, hidden.has(name) ? MASK : value]))
}

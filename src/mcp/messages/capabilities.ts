import { isObject } from '../../domain/is-object.ts'
import { SKILLS_EXTENSION, TASKS_EXTENSION, UI_EXTENSION } from '../../domain/mcp-constants.ts'

const read = (text: string): Record<string, unknown> => {
  const value: unknown = JSON.parse(text)
  return isObject(value) ? value : {}
}

/** Returns true if a capability declares the given part. */
const has = (capability: unknown, part: string) => isObject(capability) && isObject(capability[part])

/** An empty elicitation capability means form mode, as in 2025-06-18, before URL mode existed. */
const supportsForms = (elicitation: unknown) =>
  isObject(elicitation) && (has(elicitation, 'form') || !has(elicitation, 'url'))

/**
 * Returns true if a client declared the capability that an upstream's request needs
 * (mcp-proxy.md#sampling-roots-and-elicitation). `capabilities` and `params` are JSON text.
 */
export function canRequest(capabilities: string, method: string, params: string): boolean {
  const { roots, sampling, elicitation } = read(capabilities)
  const given = read(params)
  if (method === 'roots/list') return isObject(roots)
  if (method === 'sampling/createMessage') {
    return isObject(sampling) && (given['tools'] === undefined || has(sampling, 'tools'))
  }
  if (method !== 'elicitation/create') return false
  return given['mode'] === 'url' ? has(elicitation, 'url') : supportsForms(elicitation)
}

/** A modern caller's capabilities to declare upstream, as JSON text. */
export interface CallerCapabilities {
  /** Without tasks. */
  readonly text: string
  /** With the tasks extension, for modern servers; undefined if the caller does not declare it (mcp-proxy.md#tasks). */
  readonly withTasks: string | undefined
}

export const noCapabilities: CallerCapabilities = { text: '{}', withTasks: undefined }

/**
 * Returns what a modern caller declares. The experimental tasks of 2025-11-25 are always removed: the gateway does not
 * relay them.
 */
export function callerCapabilities(given: unknown): CallerCapabilities {
  if (!isObject(given)) return { text: JSON.stringify(given ?? {}), withTasks: undefined }
  if (Object.keys(given).length === 0) return noCapabilities
  const { extensions } = given
  const others = isObject(extensions) ? { extensions: { ...extensions, [TASKS_EXTENSION]: undefined } } : {}
  return {
    text: JSON.stringify({ ...given, ...others, tasks: undefined }),
    withTasks: has(extensions, TASKS_EXTENSION) ? JSON.stringify({ ...given, tasks: undefined }) : undefined
  }
}

/** Client capabilities that the gateway relays for legacy clients; others are ignored (mcp-proxy.md#capabilities). */
const legacyCapabilities = ['sampling', 'elicitation', 'roots']
/** Extensions of legacy clients that are declared upstream: servers offer more to clients that have them. */
const legacyExtensions = [UI_EXTENSION, SKILLS_EXTENSION]

/** Returns the members with these names whose values are objects. */
const objectsIn = (given: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.filter((name) => isObject(given[name])).map((name) => [name, given[name]]))

/** Returns the capabilities of a legacy client that its session keeps and declares upstream. */
export function sessionCapabilities(given: unknown): Record<string, unknown> {
  if (!isObject(given)) return {}
  const extensions = isObject(given.extensions) ? objectsIn(given.extensions, legacyExtensions) : {}
  const relayed = objectsIn(given, legacyCapabilities)
  return Object.keys(extensions).length === 0 ? relayed : { ...relayed, extensions }
}

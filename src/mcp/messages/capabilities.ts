import { isObject } from '../../domain/is-object.ts'

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

const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/**
 * Returns a modern caller's capabilities for the upstream, as JSON text without tasks: the gateway does not relay
 * tasks, so no upstream may create one (mcp-proxy.md#tasks).
 */
export function upstreamCapabilities(given: unknown): string {
  if (!isObject(given)) return JSON.stringify(given ?? {})
  if (Object.keys(given).length === 0) return '{}'
  const { extensions } = given
  const known = isObject(extensions) ? { extensions: { ...extensions, [TASKS_EXTENSION]: undefined } } : {}
  return JSON.stringify({ ...given, ...known, tasks: undefined })
}

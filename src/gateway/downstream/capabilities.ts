import { isObject } from '../../domain/is-object.ts'

const read = (text: string): Record<string, unknown> => {
  const value: unknown = JSON.parse(text)
  return isObject(value) ? value : {}
}

/** Parts of a capability that a client declares one by one. */
const has = (capability: unknown, part: string) => isObject(capability) && isObject(capability[part])

/** An empty elicitation capability means forms, as before there were URLs (2025-06-18). */
const supportsForms = (elicitation: unknown) =>
  isObject(elicitation) && (has(elicitation, 'form') || !has(elicitation, 'url'))

/**
 * Whether a client declared what a request of an upstream needs (mcp-proxy.md#sampling-roots-and-elicitation).
 * `capabilities`, `params`: JSON text.
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
 * Capabilities of a modern caller as they go upstream, as JSON text: without tasks, which are not carried, so that no
 * upstream answers with one (mcp-proxy.md#tasks).
 */
export function upstreamCapabilities(given: unknown): string {
  if (!isObject(given)) return JSON.stringify(given ?? {})
  if (Object.keys(given).length === 0) return '{}'
  const { extensions } = given
  const known = isObject(extensions) ? { extensions: { ...extensions, [TASKS_EXTENSION]: undefined } } : {}
  return JSON.stringify({ ...given, ...known, tasks: undefined })
}

import { hopKeys } from './jsonrpc.ts'
import { JsonError, members, stringOf, valueOf } from '../json/json.ts'

/** Members of a notification's `params` that are passed on, as JSON text without braces. */
export interface ExtraParams {
  /** Members except `_meta` and the one that the gateway writes itself; may be empty. */
  readonly members: string
  /** Members of `_meta` that are not hop-by-hop; may be empty. */
  readonly meta: string
}

/** Longer `params` are not passed on. */
const MAX_BYTES = 65_536
const hopByHop = new Set(hopKeys)
const noExtraParams: ExtraParams = { members: '', meta: '' }

const joined = (parts: readonly string[]) => parts.filter((part) => part !== '').join(',')

/** Joins fragments of members, some of them empty, to the JSON text of `params`. */
export const joinParams = (fragments: readonly string[], meta: readonly string[]): string => {
  const metaMembers = joined(meta)
  return `{${joined([...fragments, metaMembers && `"_meta":{${metaMembers}}`])}}`
}

/** Parses `params` (JSON text); undefined if it is not an object or too long. `without`: a member to leave out. */
export function parseExtraParams(params: string, without?: string): ExtraParams | undefined {
  if (params.length > MAX_BYTES || !params.startsWith('{')) return undefined
  try {
    const found = members(params)
    if (new Set(found.map(({ key }) => key)).size < found.length) return undefined
    const rest = found.filter(({ key }) => key !== '_meta' && key !== without)
    const meta = valueOf(params, found, '_meta') ?? ''
    const kept = meta.startsWith('{') ? members(meta).filter(({ key }) => !hopByHop.has(key)) : []
    return {
      members: joined(rest.map(({ keyStart, end }) => params.slice(keyStart, end))),
      meta: joined(kept.map(({ keyStart, end }) => meta.slice(keyStart, end)))
    }
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** Updates of longer URIs are dropped: no request could name one. */
const MAX_URI_CHARACTERS = 8_192

/**
 * Parses the `params` of `notifications/resources/updated`; undefined if malformed, or if the URI is too long. If
 * `params` as a whole is too long, only the URI is kept.
 */
export function parseUpdate(params: string): { readonly uri: string; readonly extra: ExtraParams } | undefined {
  try {
    const uri = stringOf(params, members(params), 'uri')
    if (uri === undefined || uri.length > MAX_URI_CHARACTERS) return undefined
    return { uri, extra: parseExtraParams(params, 'uri') ?? noExtraParams }
  } catch {
    return undefined
  }
}

/** Notifications of the specification; each has its own handler or is not passed on. */
const standard =
  /^notifications\/(initialized|cancelled|progress|message|(tools|prompts|resources|roots)\/list_changed|resources\/updated|elicitation\/complete|subscriptions\/.*|tasks(\/.*)?)$/

/** Returns true for notifications that the specification does not define, such as those of extensions. */
export const isCustomNotification = (method: string) => method.length <= 256 && !standard.test(method)

const WINDOW_MS = 1_000
const MAX_IN_WINDOW = 100
const MAX_BYTES_IN_WINDOW = 262_144

/** Rate limit for custom notifications of one server to one client, per second; the rest is dropped. */
export class RateLimiter {
  #since = -Infinity
  #count = 0
  #bytes = 0

  /** Counts a notification of `bytes` bytes; false if it exceeds the limit. */
  take(bytes: number): boolean {
    const now = performance.now()
    if (now - this.#since > WINDOW_MS) {
      this.#since = now
      this.#count = 0
      this.#bytes = 0
    }
    this.#count++
    this.#bytes += bytes
    return this.#count <= MAX_IN_WINDOW && this.#bytes <= MAX_BYTES_IN_WINDOW
  }
}

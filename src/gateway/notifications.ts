import { hopKeys } from './downstream/jsonrpc.ts'
import { JsonError, members, stringOf, valueOf } from './json.ts'

/** What a notification says besides what the gateway says itself: members of `params` as JSON text without braces. */
export interface Said {
  /** Without `_meta`, and without the member that stands for itself; may be empty. */
  readonly members: string
  /** Members of `_meta` that are not of one hop; may be empty. */
  readonly meta: string
}

/** More is not passed on. */
const MAX_BYTES = 65_536
const ofOneHop = new Set(hopKeys)
const nothing: Said = { members: '', meta: '' }

const joined = (parts: readonly string[]) => parts.filter((part) => part !== '').join(',')

/** JSON text of `params`. */
export const paramsText = (said: readonly string[], meta: readonly string[]): string => {
  const ofMeta = joined(meta)
  return `{${joined([...said, ofMeta && `"_meta":{${ofMeta}}`])}}`
}

/** Takes `params` (JSON text) apart; undefined where it is no object, or too long. `without`: a member that is left out. */
export function readSaid(params: string, without?: string): Said | undefined {
  if (params.length > MAX_BYTES || !params.startsWith('{')) return undefined
  try {
    const found = members(params)
    if (new Set(found.map(({ key }) => key)).size < found.length) return undefined
    const rest = found.filter(({ key }) => key !== '_meta' && key !== without)
    const meta = valueOf(params, found, '_meta') ?? ''
    const kept = meta.startsWith('{') ? members(meta).filter(({ key }) => !ofOneHop.has(key)) : []
    return {
      members: joined(rest.map(({ keyStart, end }) => params.slice(keyStart, end))),
      meta: joined(kept.map(({ keyStart, end }) => meta.slice(keyStart, end)))
    }
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** No request could name a longer one. */
const MAX_URI_CHARACTERS = 8_192

/**
 * What `notifications/resources/updated` tells of; undefined where it is malformed, or its URI too long. Of one that is too
 * long in all it is the URI alone.
 */
export function readUpdate(params: string): { readonly uri: string; readonly said: Said } | undefined {
  try {
    const uri = stringOf(params, members(params), 'uri')
    if (uri === undefined || uri.length > MAX_URI_CHARACTERS) return undefined
    return { uri, said: readSaid(params, 'uri') ?? nothing }
  } catch {
    return undefined
  }
}

/** The protocol's own: those that are passed on have a way of their own. */
const standard =
  /^notifications\/(initialized|cancelled|progress|message|(tools|prompts|resources|roots)\/list_changed|resources\/updated|elicitation\/complete|subscriptions\/.*|tasks\/.*)$/

/** A notification that the protocol does not know: of an extension, or of the server's own making. */
export const isCustom = (method: string) => method.length <= 256 && !standard.test(method)

const WINDOW_MS = 1_000
const MAX_IN_WINDOW = 100
const MAX_BYTES_IN_WINDOW = 262_144

/** How much of what the protocol does not know one server may say to one client in a second; the rest is dropped. */
export class Allowance {
  #since = -Infinity
  #count = 0
  #bytes = 0

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

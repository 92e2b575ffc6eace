import { isObject } from '../../domain/is-object.ts'
import { createKept } from '../kept.ts'
import type { Payload } from '../payload.ts'

/**
 * URIs that came to a principal in a result, with the server that they came from: a tool may link to resources that its
 * server lists nowhere (proxy page 8, step 4). Kept by this replica only.
 */
export interface Links {
  /** Notes the links in a result. `body` is its JSON text. */
  note(principal: string, server: string, body: Payload): void
  /**
   * Name of the server that sent the URI. Of several the first keeps it: another one that names it later, by accident or to
   * be asked in its place, does not get its reads.
   */
  find(principal: string, uri: string): string | undefined
}

/** A longer URI could not be asked for either: it is past the limit of identifiers in requests. */
const MAX_URI_CHARACTERS = 8_192
const MAX_BYTES = 8_388_608
const MAX_BYTES_PER_SERVER = 2_097_152
const MAX_AGE_MS = 3_600_000
/** Links that are noted of one result. */
const MAX_PER_RESULT = 1_000
/** Results without these bytes hold no link; most do not, and are not parsed. */
const MARK = '"uri"'

/** Content blocks of a tool's result, and of a prompt's messages. */
function* blocks(result: unknown): Generator<Record<string, unknown>> {
  if (!isObject(result)) return
  const { content, messages } = result
  for (const block of Array.isArray(content) ? content : []) if (isObject(block)) yield block
  for (const message of Array.isArray(messages) ? messages : []) {
    if (isObject(message) && isObject(message['content'])) yield message['content']
  }
}

function uriOf({ type, uri, resource }: Record<string, unknown>): string | undefined {
  const found = type === 'resource_link' ? uri : type === 'resource' && isObject(resource) ? resource['uri'] : undefined
  return typeof found === 'string' ? found : undefined
}

function parse(body: Payload): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

export function createLinks(): Links {
  const kept = createKept<true>({
    maxBytes: MAX_BYTES,
    maxBytesPerOwner: MAX_BYTES_PER_SERVER,
    maxAgeMs: MAX_AGE_MS
  })
  return {
    note(principal, server, body) {
      if (!body.includes(MARK)) return
      let left = MAX_PER_RESULT
      for (const block of blocks(parse(body))) {
        const uri = uriOf(block)
        if (uri === undefined || uri.length > MAX_URI_CHARACTERS) continue
        kept.set(server, principal, uri, true)
        if (--left === 0) return
      }
    },
    find: (principal, uri) => kept.first(uri, { holder: principal })?.owner
  }
}

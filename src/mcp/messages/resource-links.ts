import { readJoined } from '../../json/buffer-list.ts'
import { memberSteps } from '../../json/bytes.ts'
import { OPEN_OBJECT, QUOTE } from '../../json/characters.ts'
import { JsonError, type Member, syntaxError } from '../../json/json.ts'
import { createFairShareCache } from '../../lib/fair-share-cache.ts'
import type { Payload } from '../../json/payload.ts'
import { readBlocks } from './content-blocks.ts'
import { complete } from '../../lib/time-slice.ts'

/**
 * URIs that results sent to a principal, with their server: a tool may link to resources that its server does not list
 * (mcp-proxy.md#resource-uris). Local to this replica.
 */
export interface ResourceLinks {
  /** Records the links in a result for which `hasUriKey` is true. `body` is its JSON text. */
  record(principal: string, server: string, body: Payload): void
  /** Does the same in steps, one content block after the other. */
  recordSteps(principal: string, server: string, body: Payload): Generator<void, void>
  /**
   * Returns the server that first sent the URI. A server that sends the same URI later, by accident or to divert reads,
   * does not replace it.
   */
  find(principal: string, uri: string): string | undefined
}

/** Longer URIs exceed the limit for identifiers in requests, so they could not be read anyway. */
const MAX_URI_CHARACTERS = 8_192
const MAX_BYTES = 8_388_608
const MAX_BYTES_PER_SERVER = 2_097_152
const MAX_AGE_MS = 3_600_000
/** Limit of links recorded per result. */
const MAX_PER_RESULT = 1_000
/**
 * Returns true if a result may contain links: most results lack this text, and need no parsing. It is the end of the key
 * `uri`, because the search stops at each first letter, and quotation marks and `\u` are frequent in some results.
 */
export const hasUriKey = (body: Payload): boolean => body.includes('ri"')

/** Returns a string value; undefined if the value is absent or no string. Throws JsonError. */
function stringIn(bytes: Buffer, found: readonly Member[], key: string): string | undefined {
  const value = found.findLast((member) => member.key === key)
  if (!value || bytes[value.start] !== QUOTE) return undefined
  try {
    return JSON.parse(bytes.toString('utf8', value.start, value.end)) as string
  } catch {
    throw syntaxError(value.start)
  }
}

/** Returns the URI of a content block, in steps; undefined if it has none. */
function* uriSteps(bytes: Buffer, block: readonly Member[]): Generator<void, string | undefined> {
  const type = stringIn(bytes, block, 'type')
  if (type === 'resource_link') return stringIn(bytes, block, 'uri')
  const resource = type === 'resource' ? block.findLast(({ key }) => key === 'resource') : undefined
  if (!resource || bytes[resource.start] !== OPEN_OBJECT) return undefined
  return stringIn(bytes, yield* memberSteps(bytes, resource.start), 'uri')
}

/** Passes on the URI of each content block, in steps; stops at malformed JSON. */
function* eachUri(body: Payload, pass: (uri: string) => void): Generator<void, void> {
  try {
    yield* readJoined(body.buffers, (bytes) =>
      readBlocks(bytes, body.ownMembers, function* (block) {
        const uri = yield* uriSteps(bytes, block)
        if (uri !== undefined && uri.length <= MAX_URI_CHARACTERS) pass(uri)
      })
    )
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
}

export function createResourceLinks(): ResourceLinks {
  const kept = createFairShareCache<true>({
    maxBytes: MAX_BYTES,
    maxBytesPerOwner: MAX_BYTES_PER_SERVER,
    maxAgeMs: MAX_AGE_MS
  })
  const recordSteps = (principal: string, server: string, body: Payload): Generator<void, void> => {
    let left = MAX_PER_RESULT
    return eachUri(body, (uri) => {
      if (left-- > 0) kept.set(server, principal, uri, true)
    })
  }
  return {
    record: (principal, server, body) => complete(recordSteps(principal, server, body)),
    recordSteps,
    find: (principal, uri) => kept.oldest(uri, { holder: principal })?.owner
  }
}

import { eachElement, JsonError, type Member, members, syntaxError, valueOf } from '../../json/json.ts'
import { createFairShareCache } from '../../lib/fair-share-cache.ts'
import type { Payload } from '../../json/payload.ts'
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

/** Limit of content blocks scanned per result: each takes about a microsecond of blocking time. */
const MAX_BLOCKS = 10_000

const valueAt = (found: readonly Member[], key: string) => found.findLast((member) => member.key === key)

/** Returns the members of a member's value if it is an object, otherwise undefined. */
const objectAt = (text: string, member: Member | undefined): readonly Member[] | undefined =>
  member && text[member.start] === '{' ? members(text, member.start) : undefined

/** Yields the members of each content block of a tool result or of a prompt's messages. */
function* blocks(text: string, found: readonly Member[]): Generator<readonly Member[]> {
  let left = MAX_BLOCKS
  for (const key of ['content', 'messages']) {
    const list = valueAt(found, key)
    if (!list || text[list.start] !== '[') continue
    for (const { start } of eachElement(text, list.start)) {
      if (left-- === 0) return
      if (text[start] !== '{') continue
      const own = members(text, start)
      const block = key === 'content' ? own : objectAt(text, valueAt(own, 'content'))
      if (block) yield block
    }
  }
}

/** Returns a string value in latin1 text; undefined if the value is absent or no string. Throws JsonError. */
function stringIn(text: string, found: readonly Member[], key: string): string | undefined {
  const value = valueOf(text, found, key)
  if (!value?.startsWith('"')) return undefined
  try {
    return JSON.parse(Buffer.from(value, 'latin1').toString()) as string
  } catch {
    throw syntaxError(0)
  }
}

function uriOf(text: string, block: readonly Member[]): string | undefined {
  const type = stringIn(text, block, 'type')
  if (type === 'resource_link') return stringIn(text, block, 'uri')
  const resource = type === 'resource' ? objectAt(text, valueAt(block, 'resource')) : undefined
  return resource && stringIn(text, resource, 'uri')
}

/**
 * Yields the URI of each content block, if it has one. Scans without building values, because a result may contain
 * millions; stops at malformed JSON.
 */
function* urisIn(body: Payload): Generator<string | undefined> {
  try {
    const text = body.latin1
    for (const block of blocks(text, body.latin1Members)) yield uriOf(text, block)
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
  function* recordSteps(principal: string, server: string, body: Payload): Generator<void, void> {
    let left = MAX_PER_RESULT
    for (const uri of urisIn(body)) {
      yield
      if (uri === undefined || uri.length > MAX_URI_CHARACTERS) continue
      kept.set(server, principal, uri, true)
      if (--left === 0) return
    }
  }
  return {
    record: (principal, server, body) => complete(recordSteps(principal, server, body)),
    recordSteps,
    find: (principal, uri) => kept.oldest(uri, { holder: principal })?.owner
  }
}

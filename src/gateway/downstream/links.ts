import { eachElement, JsonError, type Member, members, stringOf } from '../json.ts'
import { createFairShareCache } from '../kept.ts'
import type { Payload } from '../payload.ts'

/**
 * URIs that came to a principal in a result, with the server that they came from: a tool may link to resources that its
 * server lists nowhere (mcp-proxy.md#resource-uris). Kept by this replica only.
 */
export interface ResourceLinks {
  /** Notes the links in a result. `body` is its JSON text. */
  record(principal: string, server: string, body: Payload): void
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

/** Blocks of one result that are looked at: each costs a microsecond in which nothing else is done. */
const MAX_BLOCKS = 10_000

const valueAt = (found: readonly Member[], key: string) => found.findLast((member) => member.key === key)

/** The members of the object that a member is; undefined where it is something else. */
const objectAt = (text: string, member: Member | undefined): readonly Member[] | undefined =>
  member && text[member.start] === '{' ? members(text, member.start) : undefined

/** Content blocks of a tool's result, and of a prompt's messages, by their members. */
function* blocks(text: string): Generator<readonly Member[]> {
  const found = members(text)
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

function uriOf(text: string, block: readonly Member[]): string | undefined {
  const type = stringOf(text, block, 'type')
  if (type === 'resource_link') return stringOf(text, block, 'uri')
  const resource = type === 'resource' ? objectAt(text, valueAt(block, 'resource')) : undefined
  return resource && stringOf(text, resource, 'uri')
}

/** The URIs in a result, as far as it can be read: values are not built, since a result may hold millions of them. */
function* urisIn(text: string): Generator<string> {
  try {
    for (const block of blocks(text)) {
      const uri = uriOf(text, block)
      if (uri !== undefined) yield uri
    }
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
  return {
    record(principal, server, body) {
      if (!body.includes(MARK)) return
      let left = MAX_PER_RESULT
      for (const uri of urisIn(body.toString())) {
        if (uri.length > MAX_URI_CHARACTERS) continue
        kept.set(server, principal, uri, true)
        if (--left === 0) return
      }
    },
    find: (principal, uri) => kept.oldest(uri, { holder: principal })?.owner
  }
}

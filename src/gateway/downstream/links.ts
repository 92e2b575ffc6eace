import { isObject } from '../../domain/is-object.ts'
import type { Payload } from '../payload.ts'

/**
 * URIs that came to a principal in a result, with the server that they came from: a tool may link to resources that its
 * server lists nowhere (proxy page 8, step 4). Kept by this replica only.
 */
export interface Links {
  /** Notes the links in a result. `body` is its JSON text. */
  note(principal: string, server: string, body: Payload): void
  /** Name of the server that sent the URI. */
  find(principal: string, uri: string): string | undefined
}

interface Link {
  readonly server: string
  readonly at: number
}

const MAX_LINKS = 10_000
const MAX_AGE_MS = 3_600_000
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
  // of each principal, the oldest first
  const principals = new Map<string, Map<string, Link>>()
  let size = 0

  /** Who has most gives way, so that nobody pushes out what others need. */
  const forgetOne = () => {
    const [principal, links] = [...principals].reduce((a, b) => (b[1].size > a[1].size ? b : a))
    links.delete(links.keys().next().value!)
    if (links.size === 0) principals.delete(principal)
    size--
  }
  const keep = (principal: string, uri: string, server: string) => {
    const links = principals.get(principal) ?? new Map<string, Link>()
    principals.set(principal, links)
    if (!links.delete(uri)) size++
    links.set(uri, { server, at: performance.now() })
    if (size > MAX_LINKS) forgetOne()
  }
  return {
    note(principal, server, body) {
      if (!body.includes(MARK)) return
      for (const block of blocks(parse(body))) {
        const uri = uriOf(block)
        if (uri !== undefined) keep(principal, uri, server)
      }
    },
    find(principal, uri) {
      const link = principals.get(principal)?.get(uri)
      return link && performance.now() - link.at < MAX_AGE_MS ? link.server : undefined
    }
  }
}
